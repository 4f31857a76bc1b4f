package consolidate

import "github.com/kenlayer/ken"

// Do is what an action does.
type Do string

// What can be done with a new claim.
const (
	Write     Do = "write"     // it is new
	Reinforce Do = "reinforce" // a known claim says it: that one gets the evidence
	Supersede Do = "supersede" // it is written and replaces known claims
	Dispute   Do = "dispute"   // it is written and disputed, and so are the known claims that it contradicts
	Skip      Do = "skip"      // nothing is to be done
)

// Reasons to skip a claim, as they are counted in session.Outcome.Dropped.
const (
	Known    = "known"    // this very claim, or what this session has to say about it, is in the store
	Rejected = "rejected" // a disputed claim says the same
	Weaker   = "weaker"   // a known claim says it on better grounds, which this evidence would only dilute
	Outdated = "outdated" // a newer known claim replaced it before it was harvested
)

// CloseConfidence is how much less certain a claim may be than one that it
// replaces. Extraction is not exact to a tenth; beyond that a person decides.
const CloseConfidence = 0.1

// Action is what consolidation decided for one new claim.
type Action struct {
	Do       Do
	IDs      []string       // known claims: reinforced, superseded or disputed; when skipped, those that stand in the way
	Against  []string       // Dispute: known claims that stand, and for whose sake the new one alone is disputed
	Reason   string         // for the log and for people; when skipped, one of the reasons above
	Relation Relation       // to the first of IDs
	Evidence []ken.Evidence // Reinforce: what the known claim lacks
	Own      string         // the new claim's id, where the store has it already: a run before this one was cut short
	// Revise says that Own has other words: its source says something else now, and
	// the store keeps that as a new version.
	Revise bool
	// Resume says that Own is disputed already. The rest of the dispute is carried
	// out only if that was its beginning, and not a person's rejection.
	Resume bool
}
