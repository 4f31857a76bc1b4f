package engine

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/store/clean"
	"github.com/kenlayer/ken/store"
)

func filedOf(c *ken.Claim) store.Filed {
	return store.Filed{By: c.AssignedBy, Entities: c.Entities, Aspect: c.Aspect, Constraint: c.Constraint, Candidate: c.RuleCandidate}
}

func setFiled(c *ken.Claim, f store.Filed) {
	c.AssignedBy, c.Entities, c.Aspect, c.Constraint, c.RuleCandidate = f.By, f.Entities, f.Aspect, f.Constraint, f.Candidate
}

// sameFiled reports that both say one thing; a name may be written in two ways.
func sameFiled(f, o store.Filed) bool {
	return f.By == o.By && f.Aspect == o.Aspect && f.Constraint == o.Constraint && f.Candidate == o.Candidate &&
		slices.EqualFunc(f.Entities, o.Entities, func(a, b string) bool { return a == b || spelledAlike(a, b) })
}

func spelledAlike(a, b string) bool {
	a, b = analysis.Entity(a), analysis.Entity(b)
	return a == b && a != ""
}

func assignmentReason(a *store.Assigned) string {
	s := a.String() + "; by " + string(a.By)
	if !a.Was.IsZero() {
		s += "; was " + a.Was.String()
	}
	return s
}

// Assign decides an assignment. Nil and no error: it changes nothing, or a
// stronger assigner has been there. Names are spelled by analysis.Entity, each is
// kept once, and what is no name is left out.
//
// Rules and models add: their entities go behind those that the claim has, but for a
// model's primary one, which goes first where no model has been before; an aspect
// that the claim came with is for a model to change, and a rule stays a rule. So
// assignments of one assigner may come twice and in any order. An operator replaces
// what is there; entities that are nil leave those of the claim as they are, and
// empty ones take them away.
//
// What was said in a session becomes a rule only by an operator, and a candidate by
// others; what an external source says is not even that. The rest of the assignment
// is taken. Errors: ErrNotFound; ErrInvalid; ErrRefused for a
// claim of a structural kind, which says itself what it is about.
func Assign(get Lookup, a ken.Assignment, env store.Env) (*store.Event, error) {
	c, err := must(get, a.ID, "id")
	if err != nil {
		return nil, err
	}
	if err := a.Validate(); err != nil {
		return nil, err
	}
	if c.Kind.Structural() {
		return nil, &ken.Error{Code: ken.CodeRefused, Field: "kind", Msg: "a claim of kind " + string(c.Kind) + " is part of the structure itself",
			Try: "Write it again under its key, or dispute it."}
	}
	if c.AssignedBy.Rank() > a.By.Rank() {
		return nil, nil
	}
	was := filedOf(c)
	now := store.Filed{By: a.By, Entities: was.Entities, Aspect: clean.Text(strings.TrimSpace(a.Aspect)), Constraint: a.Constraint}
	given := analysis.Entities(clean.All(a.Entities))
	if now.Aspect == "" || a.By == ken.AssignedByRules && was.By == "" && was.Aspect != "" {
		now.Aspect = was.Aspect
	}
	switch {
	case a.By == ken.AssignedByOperator:
		now.Candidate = a.RuleCandidate && !a.Constraint
		if a.Entities != nil {
			now.Entities = given
		}
	case a.By == ken.AssignedByModel && was.By != ken.AssignedByModel && len(given) > 0:
		now.Entities = addNames(addNames(given[:1], was.Entities), given)
	default:
		now.Entities = addNames(was.Entities, given)
	}
	if a.By != ken.AssignedByOperator {
		now.Constraint, now.Candidate = was.Constraint, was.Candidate
		markRule(&now, c, a.Constraint, a.RuleCandidate)
	}
	if sameFiled(now, was) {
		return nil, nil
	}
	return newEvent(ken.EventAssigned, c, store.Payload{Assignment: &store.Assigned{Filed: now, Was: was}, Actor: a.Actor}, env)
}

// addNames returns have, followed by those of more that it has in no spelling.
func addNames(have, more []string) []string {
	out := slices.Clone(have)
	for _, n := range more {
		if !slices.ContainsFunc(out, func(o string) bool { return o == n || spelledAlike(o, n) }) {
			out = append(out, n)
		}
	}
	return out
}

// external reports a claim that rests on what somebody outside says.
func external(c *ken.Claim) bool { return c.Support(nil).Trust <= ken.TrustExternal }

// markRule makes a claim that reads like a rule one if an operator vouches for it, and a
// candidate otherwise: in a session nobody is asked who says it. What an external source
// says is neither, nor does a candidate outlive its becoming a rule.
func markRule(f *store.Filed, c *ken.Claim, rule, candidate bool) {
	vouched := slices.ContainsFunc(c.Evidence, func(e ken.Evidence) bool {
		return e.Kind != ken.EvidenceUserStatement && e.Kind != ken.EvidenceMessage && e.Speaker() == ken.TrustOperator
	})
	outside := external(c)
	f.Constraint = f.Constraint || rule && vouched && !outside
	f.Candidate = !f.Constraint && !outside && (f.Candidate || rule || candidate)
}

// tame takes the rule out of what an external source says, unless an operator made
// it one. What a claim gathered in its life elsewhere made no rule void there, and
// makes none here.
func tame(c *ken.Claim, prior []ken.ClaimEvent) {
	if !c.Constraint && !c.RuleCandidate || c.AssignedBy == ken.AssignedByOperator {
		return
	}
	first := *c
	first.Evidence = slices.DeleteFunc(slices.Clone(c.Evidence), func(e ken.Evidence) bool {
		return slices.ContainsFunc(prior, func(ev ken.ClaimEvent) bool {
			later := ev.Type == ken.EventReinforced || ev.Type == ken.EventTransitioned
			return later && slices.ContainsFunc(ev.Evidence, func(o ken.Evidence) bool { return o.Kind == e.Kind && o.Reference() == e.Reference() })
		})
	})
	if external(&first) {
		c.Constraint, c.RuleCandidate = false, false
	}
}

// assign files a claim that is written for the first time, or with other words, by
// env.Assign: given a copy, of which only the four fields come back. What the writer
// said stays, and its entities stay in front.
func assign(c *ken.Claim, env store.Env) {
	if env.Assign == nil || c.AssignedBy != "" || c.Kind.Structural() || c.Kind == ken.KindDocument {
		return
	}
	given, found := filedOf(c), Clone(c)
	if !callAssign(&found, env) {
		return
	}
	if found.AssignedBy.Rank() < 1 {
		return
	}
	now := store.Filed{By: found.AssignedBy, Entities: addNames(given.Entities, analysis.Entities(clean.All(found.Entities))), Aspect: given.Aspect,
		Constraint: given.Constraint, Candidate: given.Candidate}
	markRule(&now, c, found.Constraint, found.RuleCandidate)
	if now.Aspect == "" {
		now.Aspect = clean.Text(strings.TrimSpace(found.Aspect))
	}
	setFiled(c, now)
	tame(c, nil)
}

// callAssign runs Assign. A text that makes it panic must not end the writer, and with it
// the process: the claim stays unfiled, and the log names it.
func callAssign(c *ken.Claim, env store.Env) (ok bool) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		log := env.Log
		if log == nil {
			log = slog.Default()
		}
		log.Error("a claim's text could not be read; the claim is kept unfiled", "claim", c.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	}()
	env.Assign(c)
	return true
}

// keepFiled gives a claim that is written again how the one that is there is filed,
// unless who writes says it at least as strongly.
func keepFiled(have, c *ken.Claim) {
	if have.AssignedBy == "" || c.AssignedBy != "" && c.AssignedBy.Rank() >= have.AssignedBy.Rank() {
		return
	}
	if have.Text != c.Text {
		// Other words are for pass 1 to read again. But what an operator has made of the
		// statement is not lost because its source words it anew: only an external source
		// could then put words into a rule.
		if have.AssignedBy == ken.AssignedByOperator && !external(c) {
			setFiled(c, filedOf(have))
		}
		return
	}
	was, given := filedOf(have), filedOf(c)
	now := was
	if was.By != ken.AssignedByOperator {
		now.Entities = addNames(was.Entities, given.Entities)
		now.Constraint = was.Constraint || given.Constraint
		now.Candidate = !now.Constraint && (was.Candidate || given.Candidate)
		if now.Aspect == "" {
			now.Aspect = given.Aspect
		}
	}
	setFiled(c, now)
}
