package engine

import (
	"cmp"
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

// sameFiled reports whether both are equal, ignoring the spelling of names.
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

// Assign decides an assignment. It returns nil and no error if the assignment changes
// nothing, or if a stronger assigner has filed the claim before. Names are compared as
// analysis.Entity spells them; duplicates and invalid names are left out.
//
// Rules and models only add. Their entities are appended to the claim's. Exception: a
// model's primary entity goes first if no model has filed the claim before. A model may
// change the aspect that the claim came with; a rule stays a rule. So assignments of one
// assigner may be repeated and may come in any order. An operator replaces the existing
// values: nil entities leave the claim's unchanged, empty ones remove them.
//
// Only an operator can turn a statement from a session into a rule; other assigners make
// it a candidate. A statement of an external source becomes neither. The rest of the
// assignment is applied. Errors: ErrNotFound; ErrInvalid; ErrRefused for a claim of a
// structural kind, whose subject is fixed.
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

// addNames returns have, followed by the names of more that it doesn't contain in any
// spelling.
func addNames(have, more []string) []string {
	out := slices.Clone(have)
	for _, n := range more {
		if !slices.ContainsFunc(out, func(o string) bool { return o == n || spelledAlike(o, n) }) {
			out = append(out, n)
		}
	}
	return out
}

// external reports whether a claim has no better evidence than an external source.
func external(c *ken.Claim) bool { return c.Support(nil).Trust <= ken.TrustExternal }

// markRule marks a claim that reads like a rule: as a rule if an operator vouches for it,
// otherwise as a candidate, because the speaker in a session is not verified. A statement
// of an external source becomes neither. A claim that becomes a rule is no longer a
// candidate.
func markRule(f *store.Filed, c *ken.Claim, rule, candidate bool) {
	vouched := slices.ContainsFunc(c.Evidence, func(e ken.Evidence) bool {
		return e.Kind != ken.EvidenceUserStatement && e.Kind != ken.EvidenceMessage && e.Speaker() == ken.TrustOperator
	})
	outside := external(c)
	f.Constraint = f.Constraint || rule && vouched && !outside
	f.Candidate = !f.Constraint && !outside && (f.Candidate || rule || candidate)
}

// unmarkRule removes the rule and candidate marks from a claim of an external source, unless an
// operator set them. Evidence that an imported claim gathered later in its prior history
// does not change this.
func unmarkRule(c *ken.Claim, prior []ken.ClaimEvent) {
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

// assign files a claim that is written for the first time, or with a new text, by calling
// env.Assign on a copy. Only the four fields of Filed are taken from it. What the writer
// set stays, and the writer's entities stay first.
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
	unmarkRule(c, nil)
}

// callAssign calls env.Assign and recovers a panic, so that a text can't end the process.
// The claim then stays unfiled, and the log names it.
func callAssign(c *ken.Claim, env store.Env) (ok bool) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		log := env.Log
		log = cmp.Or(log, slog.Default())
		log.Error("a claim's text could not be read; the claim is kept unfiled", "claim", c.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	}()
	env.Assign(c)
	return true
}

// keepFiled copies the assignment of the existing claim to a claim that is written again,
// unless the new one has an assigner of at least the same rank.
func keepFiled(have, c *ken.Claim) {
	if have.AssignedBy == "" || c.AssignedBy != "" && c.AssignedBy.Rank() >= have.AssignedBy.Rank() {
		return
	}
	if have.Text != c.Text {
		// Pass 1 files the new text again. An operator's assignment is kept when the
		// source changes its wording, except for an external source, which could
		// otherwise put its words into a rule.
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
		now.Aspect = cmp.Or(now.Aspect, given.Aspect)
	}
	setFiled(c, now)
}
