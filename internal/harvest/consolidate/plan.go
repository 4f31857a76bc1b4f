package consolidate

import (
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/draft"
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
//   - A contradiction disputes both. It never deletes.
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
	return p.decide()
}

// candidate is a known claim with what the new one is to it.
type candidate struct {
	claim *ken.Claim
	Verdict
	richer   bool // the known one says more
	late     bool // the known one was said after the new one
	outdated bool // and replaces it
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
	if k.Status == ken.StatusSuperseded && !heard(k, p.new) || k.Scope != p.new.Scope || family(k.Kind) != family(p.new.Kind) {
		return
	}
	known, fresh := statementOf(k), statementOf(p.new)
	a, b := statement(known, fresh), statement(fresh, known)
	n := candidate{claim: k, Verdict: compare(&a, &b, known, fresh), late: !fresh.At.IsZero() && known.At.After(fresh.At)}
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

// isOwn reports whether k is the new claim itself, as an earlier run wrote it.
func isOwn(k, c *ken.Claim) bool { return c.ID != "" && k.ID == c.ID || c.Key != "" && k.Key == c.Key }

// heard reports whether k has the word of the session that c comes from.
func heard(k, c *ken.Claim) bool {
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
	if p.own.Text != p.new.Text && p.own.Status != ken.StatusDisputed {
		a.Revise = true
		return a
	}
	switch {
	case a.Do == Write, p.own.Status == ken.StatusDisputed && (a.Do != Dispute || len(a.IDs) == 0):
		return Action{Do: Skip, Reason: Known, Own: p.own.ID}
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
	return Statement{Text: c.Text, Heading: c.Heading, Entities: c.Entities, At: said(c), Sort: draft.Sort(c.Domain)}
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
