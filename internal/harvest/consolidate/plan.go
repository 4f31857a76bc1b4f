package consolidate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/trained"
)

// Plan decides what a new claim means for what is known. known is what a store
// found near it, in any order; claims of another scope or kind do not count, nor
// do superseded ones, except for what this very session has said of them. It is a pure function: carrying out its action and planning
// again with what is known then gives Skip.
//
// The rules, in this order:
//
//   - What the store holds under the new claim's key is the new claim itself. Only
//     the steps that an earlier run did not get to are left to do.
//   - A standing claim that says the same is reinforced with the evidence that it
//     lacks. A session's word counts once, however often it is harvested, and a
//     piece from a less trusted speaker is left out, because a claim is only as
//     trusted as its least trusted evidence. If the new claim is the better trusted
//     one, it replaces the old.
//   - What was rejected is not learned again: a disputed claim that says the same
//     stands in its way, be it disputed by a person or by another claim.
//   - Time runs forward: a statement that was made before the known one replaces
//     nothing, and is dropped if the known one replaces it.
//   - Of two that contradict each other, the one that was said later by the same or a better
//     trusted speaker replaces the other. At the same time, or at unknown times, both are
//     disputed. Nothing is deleted.
//   - An update or a fuller statement supersedes the old one.
//   - But nothing weaker touches something stronger by itself. What a person
//     verified, a constraint, a hot claim, what a better trusted speaker said and
//     what is more certain by CloseConfidence all stand: the new claim is disputed
//     alone, and people see it in the attention queue; or it is written beside the
//     old one, if it merely says more.
//   - A hypothesis neither replaces nor disputes anything, and gives way to a claim
//     that says the same with better standing.
func Plan(c ken.Claim, known []ken.Claim) Action {
	p := planner{new: &c, trust: c.Support(nil).Trust}
	for i := range known {
		p.weigh(&known[i])
	}
	p.likeliest()
	return p.decide()
}

// candidate is a known claim with what the new one is to it.
type candidate struct {
	claim *ken.Claim
	Verdict
	richer   bool // the known one says more
	late     bool // the known one was said after the new one
	outdated bool // and replaces it
	change   change
	score    float64 // of a change that a trained judgement found
}

type planner struct {
	new   *ken.Claim
	trust ken.Trust
	own   *ken.Claim
	near  []candidate
}

// weigh sorts out one known claim.
func (p *planner) weigh(k *ken.Claim) {
	if isOwn(k, p.new) {
		p.own = k
		return
	}
	if k.Status == ken.StatusSuperseded && !hasSessionEvidence(k, p.new) || k.Scope != p.new.Scope || family(k.Kind) != family(p.new.Kind) {
		return
	}
	known, fresh := statementOf(k), statementOf(p.new)
	a, b := statement(known, fresh), statement(fresh, known)
	n := candidate{claim: k, Verdict: compare(&a, &b, known, fresh), late: !fresh.At.IsZero() && known.At.After(fresh.At)}
	if later := !known.At.IsZero() && fresh.At.After(known.At); later {
		switch n.Relation {
		case Contradicts: // the last word counts
			n.Relation, n.Why = Updates, n.Why+", said later"
		case Distinct:
			if family(k.Kind) == ken.KindFact {
				n.readChange(fresh.Text)
			}
			if n.Relation == Distinct && family(k.Kind) == ken.KindFact && k.Session != "" && !hasSessionEvidence(k, p.new) {
				n.judgeChange(fresh.Text)
			}
		}
	}
	if ends := p.new.ExpiresAt; !ends.IsZero() && (k.ExpiresAt.IsZero() || k.ExpiresAt.After(ends)) && (n.Relation == Updates || n.Relation == Refines) {
		n.Relation = Distinct // what ends sooner replaces nothing for good
	}
	if n.Relation == Restates || n.late {
		back := compare(&b, &a, fresh, known)
		n.richer = back.Relation == Refines
		if n.late && !merely(n.Relation) {
			n.outdated = back.Relation == Updates
			n.Verdict = back
			if n.outdated {
				n.Relation = Distinct
			}
		}
	}
	if n.Relation != Distinct || n.outdated {
		p.near = append(p.near, n)
	}
}

// readChange finds a value that the new statement gives another value.
func (n *candidate) readChange(fresh string) {
	c, ok := replacedValue(n.claim.Text, fresh)
	if !ok {
		return
	}
	n.change, n.Relation = c, Amends
	if c.whole {
		n.Relation = Updates
	}
	n.Why = strconv.Quote(c.is) + " replaces " + strconv.Quote(n.claim.Text[c.was.from:c.was.to])
}

// judgeChange asks the trained model whether the new statement replaces the known one, or one
// clause of it. The known one gets a note and stays, so that nothing is lost where the model is
// wrong. Only what was harvested gets one, not what somebody wrote down; and what was said in one
// session is left to the corrections that a speaker makes.
func (n *candidate) judgeChange(fresh string) {
	text := Plain(n.claim.Text)
	if !sameSpeaker(text, fresh) {
		return
	}
	fresh = spoken(fresh)
	score := trained.Replaces(spoken(text), fresh)
	if score < mayReplace {
		return
	}
	clause := text
	if known := valuesOf(text); !known.single() {
		most := -1.0
		for _, part := range known.clauses {
			if s := trained.Replaces(text[part.from:part.to], fresh); s > most {
				clause, most = text[part.from:part.to], s
			}
		}
	}
	clause = strings.TrimRight(clause, ".!。 ")
	c := change{is: inNote(cmp.Or(differingEnd(fresh, clause), fresh)), judged: true, perhaps: score < surelyReplaces}
	at := strings.Index(n.claim.Text, clause)
	if at < 0 || text != n.claim.Text && !strings.Contains(n.claim.Text, ", now "+c.is+")") {
		return // another note stands in the way
	}
	c.was = span{at, at + len(clause)}
	c.clause = c.was
	n.score, n.change, n.Relation, n.Why = score, c, Amends, fmt.Sprintf("replaces it by all that both say (%.2f)", score)
}

// spoken is a statement as the user said it.
func spoken(text string) string { return strings.TrimPrefix(text, "User: ") }

// Scores of trained.Replaces. docs/decisions/0047 has how many judgements above them are right.
const (
	mayReplace     = 0.2
	surelyReplaces = 0.55
)

// likeliest leaves out the judged changes that are less likely than another one, unless they are
// likely enough by themselves: what somebody says mostly replaces one thing.
func (p *planner) likeliest() {
	most := 0.0
	for i := range p.near {
		most = max(most, p.near[i].score)
	}
	p.near = slices.DeleteFunc(p.near, func(n candidate) bool { return n.score > 0 && n.score < min(most, surelyReplaces) })
}

// isOwn reports whether k is the new claim itself, as an earlier run wrote it.
func isOwn(k, c *ken.Claim) bool { return c.ID != "" && k.ID == c.ID || c.Key != "" && k.Key == c.Key }

// hasSessionEvidence reports whether k has the word of the session that c comes from.
func hasSessionEvidence(k, c *ken.Claim) bool {
	return c.Session != "" && (k.Session == c.Session ||
		slices.ContainsFunc(k.Evidence, func(e ken.Evidence) bool { return e.SessionID == c.Session }))
}

// merely reports relations without a change in time.
func merely(r Relation) bool { return r == Same || r == Restates || r == Refines }

func (p *planner) decide() Action {
	if p.own != nil && (p.own.Status == ken.StatusSuperseded || p.own.Status == ken.StatusVerified) {
		return Action{Do: Skip, Reason: Known, Own: p.own.ID}
	}
	a := p.conflict()
	if p.own == nil {
		if same, ok := p.same(); ok {
			return withConflict(same, a)
		}
		if i := p.find(func(n *candidate) bool {
			return n.claim.Status == ken.StatusSuperseded && (n.Relation == Same || n.Relation == Restates)
		}); i >= 0 {
			return p.skip(i, Known) // said in this session, and replaced since
		}
		if i := p.rejected(); i >= 0 {
			return p.skip(i, Rejected)
		}
		if i := p.find(func(n *candidate) bool { return n.outdated && stands(n.claim) }); i >= 0 {
			return p.skip(i, Outdated)
		}
		return a
	}
	a.Own = p.own.ID
	if Plain(p.own.Text) != Plain(p.new.Text) && p.own.Status != ken.StatusDisputed {
		a.Revise = true
		return a
	}
	switch {
	case a.Do == Write && len(a.Amend) == 0, p.own.Status == ken.StatusDisputed && (a.Do != Dispute || len(a.IDs) == 0):
		return Action{Do: Skip, Reason: Known, Own: p.own.ID, Changed: a.Changed}
	}
	a.Resume = p.own.Status == ken.StatusDisputed
	return a
}

func (p *planner) find(ok func(*candidate) bool) int {
	return slices.IndexFunc(p.near, func(n candidate) bool { return ok(&n) })
}

// rejected finds a disputed claim that the new one says again.
func (p *planner) rejected() int {
	return p.find(func(n *candidate) bool {
		return n.claim.Status == ken.StatusDisputed && merely(n.Relation) && !n.richer
	})
}

func (p *planner) skip(i int, reason string) Action {
	return Action{Do: Skip, IDs: []string{p.near[i].claim.ID}, Reason: reason, Relation: p.near[i].Relation}
}

// stands reports a claim that the layer holds to be true.
func stands(c *ken.Claim) bool { return slices.Contains(ken.RecallStatuses(), c.Status) }

// rank orders claims that say the same: verified ones, then standing ones.
func rank(c *ken.Claim) int {
	r := int(c.Support(nil).Trust)
	if stands(c) {
		r += 10
	}
	if c.Status == ken.StatusVerified {
		r += 10
	}
	return r
}

// family names the kinds that are compared with each other: a hot claim is a fact
// that is always injected.
func family(k ken.Kind) ken.Kind {
	if k == ken.KindHot {
		return ken.KindFact
	}
	return k
}

func statementOf(c *ken.Claim) Statement {
	return Statement{Text: Plain(c.Text), Heading: c.Heading, Entities: c.Entities, At: said(c), Sort: draft.Sort(c.Domain)}
}

// said is when a claim was last said: the time of its newest evidence, or else its
// own. When it was harvested, or reinforced, says nothing: jobs run out of order.
func said(c *ken.Claim) time.Time {
	var at time.Time
	for _, e := range c.Evidence {
		if e.FetchedAt.After(at) {
			at = e.FetchedAt
		}
	}
	if at.IsZero() {
		return c.CreatedAt
	}
	return at
}

// disputes reports whether a reason for a dispute names a claim.
func disputes(reason, id string) bool {
	return strings.HasPrefix(reason, string(Contradicts)) && strings.Contains(reason, id)
}

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
	// Amend lists known claims of which one value among others has changed, with their new texts:
	// the old value stays, with a note on when it changed, and to what.
	Amend []ken.Claim
	// Changed lists the values that the new claim replaces.
	Changed []ValueChange
	// Note is what the new claim's text ends with: what it replaces.
	Note string
	Own  string // the new claim's id, where the store has it already: a run before this one was cut short
	// Revise says that Own has other words: its source says something else now, and
	// the store keeps that as a new version.
	Revise bool
	// Resume says that Own is disputed already. The rest of the dispute is carried
	// out only if that was its beginning, and not a person's rejection.
	Resume bool
}

// ValueChange is a value of a known claim that a new one replaces.
type ValueChange struct {
	Session string // of the known claim
	Clause  string // that the old value stands in
	Was, Is string
	From    time.Time // when the known claim was made
	Perhaps bool      // it is not sure
}

// Store is where claims are consolidated.
type Store interface {
	ken.Store
	// Reinforce records that a claim was seen again, with the evidence for it.
	Reinforce(ctx context.Context, id string, evidence []ken.Evidence, actor ken.Actor) error
}

// Superseder is a store that keeps the reason of a supersession in its log. Of a
// store that is none, the reason is known to Result alone.
type Superseder interface {
	SupersedeFor(ctx context.Context, oldID, newID, reason string, actor ken.Actor) error
}

// Result is what came of one claim. The lists hold ids.
type Result struct {
	Action     Action
	ID         string // of the new claim; when nothing was written, of the known one that stands for it
	Learned    bool   // the claim was not in the store before
	Reinforced []string
	Superseded []string
	Amended    []string // a value in it was noted as changed
	Disputed   []string // the new claim among them
	Dropped    string   // why it was skipped: Known, Rejected, Weaker or Outdated
}

// Record adds the result to a session's outcome.
func (r Result) Record(o *session.Outcome) {
	add := func(list *[]string, ids ...string) {
		for _, id := range ids {
			if !slices.Contains(*list, id) {
				*list = append(*list, id)
			}
		}
	}
	if r.Learned {
		add(&o.Learned, r.ID)
	}
	add(&o.Reinforced, r.Reinforced...)
	add(&o.Superseded, r.Superseded...)
	add(&o.Disputed, r.Disputed...)
	if r.Dropped != "" {
		if o.Dropped == nil {
			o.Dropped = map[string]int{}
		}
		o.Dropped[r.Dropped]++
	}
}

// Learn consolidates c with what the store knows: Similar, then Apply. Calls for
// claims that may be about the same must not run at once: each would find the
// other missing, and both would be written.
func Learn(ctx context.Context, st Store, c ken.Claim) (Result, error) {
	known, err := Similar(ctx, st, c)
	if err != nil {
		return Result{}, err
	}
	return Apply(ctx, st, c, known)
}

// Apply plans what is to become of c and carries it out. It writes the new claim
// before it touches an old one, so that being killed between any two steps loses
// nothing, and running it again, with what is known then, comes to the same end. c
// needs a Key for that. An error may leave some steps undone; the same holds.
// When somebody moved a known claim since it was looked up, the store refuses the
// step with ErrRefused: look it up and apply again.
func Apply(ctx context.Context, st Store, c ken.Claim, known []ken.Claim) (Result, error) {
	a := Plan(c, known)
	if a.Own != "" && a.Do != Skip && !a.Revise {
		var err error
		if a, err = unfinished(ctx, st, a); err != nil {
			return Result{Action: a, ID: a.Own}, err
		}
	}
	r := Result{Action: a, ID: a.Own}
	switch a.Do {
	case Skip:
		r.Dropped = a.Reason
		if r.ID == "" && len(a.IDs) > 0 {
			r.ID = a.IDs[0]
		}
		return r, nil
	case Reinforce:
		if err := st.Reinforce(ctx, a.IDs[0], a.Evidence, c.Actor); err != nil {
			return r, fmt.Errorf("reinforce claim %s: %w", a.IDs[0], err)
		}
		r.ID, r.Reinforced = a.IDs[0], a.IDs
		return r, nil
	}
	if a.Own == "" || a.Revise {
		if c.Text == Plain(c.Text) {
			c.Text += a.Note
		}
		id, err := st.WriteClaim(ctx, c)
		if err != nil {
			return r, fmt.Errorf("write claim: %w", err)
		}
		r.ID, r.Learned = id, a.Own == ""
	}
	for i := range a.Amend {
		if err := amend(ctx, st, &a.Amend[i], c.Actor); err != nil {
			return r, fmt.Errorf("amend claim %s: %w", a.Amend[i].ID, err)
		}
		r.Amended = append(r.Amended, a.Amend[i].ID)
	}
	switch a.Do {
	case Supersede:
		for _, old := range a.IDs {
			if err := supersede(ctx, st, old, r.ID, a.Reason, c.Actor); err != nil {
				return r, fmt.Errorf("supersede claim %s: %w", old, err)
			}
			r.Superseded = append(r.Superseded, old)
		}
	case Dispute:
		return dispute(ctx, st, c, r)
	}
	return r, nil
}

// amend gives a claim another text: as a new version of it, or in its place where it has no key.
func amend(ctx context.Context, st Store, c *ken.Claim, actor ken.Actor) error {
	if c.Key != "" {
		_, err := st.WriteClaim(ctx, *c)
		return err
	}
	k := *c
	k.ID, k.Key = "", "amended:"+c.ID
	id, err := st.WriteClaim(ctx, k)
	if err != nil {
		return err
	}
	return supersede(ctx, st, c.ID, id, "a value in it has changed", actor)
}

// unfinished leaves of an action for a claim that is in the store already what the
// run that wrote it can have meant to do: steps against claims that were there
// before it. What was learned after it was weighed against it then.
func unfinished(ctx context.Context, st Store, a Action) (Action, error) {
	own, err := born(ctx, st, a.Own)
	if err != nil {
		return a, err
	}
	for _, list := range []*[]string{&a.IDs, &a.Against} {
		var older []string
		for _, id := range *list {
			seq, err := born(ctx, st, id)
			if err != nil {
				return a, err
			}
			if seq <= own {
				older = append(older, id)
			}
		}
		*list = older
	}
	var older []ken.Claim
	for i := range a.Amend {
		seq, err := born(ctx, st, a.Amend[i].ID)
		if err != nil {
			return a, err
		}
		if seq <= own {
			older = append(older, a.Amend[i])
		}
	}
	if a.Amend = older; a.Do == Write && len(older) > 0 {
		return a, nil
	}
	if len(a.IDs)+len(a.Against) == 0 {
		return Action{Do: Skip, Reason: Known, Own: a.Own}, nil
	}
	return a, nil
}

// born is where in the log a claim begins; 0 in a store that keeps no numbers.
func born(ctx context.Context, st Store, id string) (uint64, error) {
	events, err := st.History(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("read history of claim %s: %w", id, err)
	}
	if len(events) == 0 {
		return 0, nil
	}
	return events[0].Seq, nil
}

func supersede(ctx context.Context, st Store, oldID, newID, reason string, actor ken.Actor) error {
	if s, ok := st.(Superseder); ok {
		return s.SupersedeFor(ctx, oldID, newID, reason, actor)
	}
	return st.Supersede(ctx, oldID, newID)
}

// dispute disputes the new claim first. Its reason names the others, so that a
// later run knows this dispute from a person's rejection of the claim.
func dispute(ctx context.Context, st Store, c ken.Claim, r Result) (Result, error) {
	a := r.Action
	if a.Resume {
		begun, err := disputeOf(ctx, st, a)
		if err != nil {
			return r, err
		}
		if len(begun) == 0 {
			r.Dropped = Known
			return r, nil
		}
		a.IDs = begun
	} else {
		reason := a.Reason
		if len(a.IDs) > 0 {
			reason = string(Contradicts) + " " + strings.Join(a.IDs, ", ") + ": " + strings.TrimPrefix(a.Reason, string(Contradicts)+": ")
		}
		if err := st.Transition(ctx, ken.Transition{ID: r.ID, To: ken.StatusDisputed, Reason: reason, Actor: c.Actor}); err != nil {
			return r, fmt.Errorf("dispute claim %s: %w", r.ID, err)
		}
		r.Disputed = append(r.Disputed, r.ID)
	}
	for _, id := range a.IDs {
		err := st.Transition(ctx, ken.Transition{ID: id, To: ken.StatusDisputed, Reason: "contradicted by " + r.ID + ": " + strings.TrimPrefix(a.Reason, string(Contradicts)+": "), Actor: c.Actor})
		if err != nil {
			return r, fmt.Errorf("dispute claim %s: %w", id, err)
		}
		r.Disputed = append(r.Disputed, id)
	}
	return r, nil
}

// disputeOf returns those of the action's claims that the new claim's own dispute
// names.
func disputeOf(ctx context.Context, st Store, a Action) ([]string, error) {
	events, err := st.History(ctx, a.Own)
	if err != nil {
		return nil, fmt.Errorf("read history of claim %s: %w", a.Own, err)
	}
	reason := ""
	for _, e := range events {
		if e.Type == ken.EventTransitioned && e.To == ken.StatusDisputed {
			reason = e.Reason
		}
	}
	var begun []string
	for _, id := range a.IDs {
		if disputes(reason, id) {
			begun = append(begun, id)
		}
	}
	return begun, nil
}
