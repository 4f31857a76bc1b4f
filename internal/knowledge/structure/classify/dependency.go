package classify

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/knowledge/structure"
)

// Who derived a dependency: the SourceType of its claim.
const (
	SourceRules = "structure:rules"
	SourceModel = "structure:model"
)

// edge is a dependency that a claim was found to state.
type edge struct {
	source, kind, target string
	strength             float64
	by                   ken.Assigner
}

// key is the edge's in the scope of the claim that it is derived from.
func (e *edge) key(c *ken.Claim) string {
	return structure.DependencyKey(e.source, e.kind, e.target, c.Scope)
}

// resolved returns the edge between what its names stand for, and why there is none.
func (e edge) resolved(ctx context.Context, v *view) (edge, string, error) {
	if !slices.Contains(structure.DependencyTypes(), e.kind) {
		return e, refusedType, nil
	}
	for _, name := range []*string{&e.source, &e.target} {
		*name = analysis.Entity(*name)
		if *name == "" {
			return e, refusedName, nil
		}
		meant, err := v.meant(ctx, *name)
		if err != nil {
			return e, "", err
		}
		if *name = meant; meant == "" {
			return e, refusedAmbiguous, nil
		}
	}
	if e.source == e.target {
		return e, refusedLoop, nil
	}
	return e, "", nil
}

// claim is what the edge is kept as: it says the same as the claim it is derived
// from, to the same people and for as long, and no louder.
func (e *edge) claim(from *ken.Claim, model string) ken.Claim {
	c := ken.Claim{Kind: ken.KindDependency, Key: e.key(from), Text: structure.Sentence(e.source, e.kind, e.target),
		Entities: []string{e.source, e.target}, Aspect: e.kind, Importance: min(max(e.strength, 0), 1),
		Evidence: e.evidence(from, model), Status: ken.StatusInferred, Confidence: from.Confidence, AssignedBy: e.by,
		Scope: from.Scope, Project: from.Project, Session: from.Session, Branch: from.Branch, ExpiresAt: from.ExpiresAt,
		Actor: actor, Source: "claim " + from.ID, SourceType: SourceRules}
	if e.by == ken.AssignedByModel {
		c.SourceType = SourceModel
	}
	return c
}

func (e *edge) evidence(from *ken.Claim, model string) []ken.Evidence {
	trust := from.Support(nil).Trust
	ev := ken.FromRepositoryMemory(from.ID)
	ev.Trust = trust
	out := []ken.Evidence{ev}
	if e.by == ken.AssignedByModel {
		inferred := ken.FromModelInference(from.Session, from.ID, model)
		inferred.Trust = min(trust, ken.TrustAgent)
		out = append(out, inferred)
	}
	return out
}

// gone is why a dependency is taken back that nothing states any more.
const gone = "what it was derived from no longer stands"

// write keeps an edge. One that is kept already gets the evidence, unless that would
// make it less trusted; one that a person took back stays so. changed is false when
// nothing was to be done.
func (c *Classifier) write(ctx context.Context, e *edge, from *ken.Claim) (changed bool, err error) {
	have, err := c.st.ByKey(ctx, e.key(from))
	if errors.Is(err, ken.ErrNotFound) {
		_, err = c.st.WriteClaim(ctx, e.claim(from, c.o.Model))
		return err == nil, err
	}
	if err != nil {
		return false, err
	}
	evidence := e.evidence(from, c.o.Model)
	fresh := slices.DeleteFunc(slices.Clone(evidence), func(p ken.Evidence) bool {
		return slices.ContainsFunc(have.Evidence, func(o ken.Evidence) bool { return o.Kind == p.Kind && o.Reference() == p.Reference() })
	})
	switch have.Status {
	case ken.StatusDisputed:
		ours, err := c.lapsed(ctx, have.ID)
		if err != nil || !ours {
			return false, err
		}
		return true, c.st.Transition(ctx, ken.Transition{ID: have.ID, To: ken.StatusVerified, Evidence: fresh, Reason: "stated again", Actor: actor})
	case ken.StatusSuperseded:
		return false, nil
	}
	if len(fresh) == 0 || from.Support(nil).Trust < have.Support(nil).Trust {
		return false, nil
	}
	return true, c.st.Reinforce(ctx, have.ID, fresh, actor)
}

// lapsed reports whether a dependency was last taken back by us.
func (c *Classifier) lapsed(ctx context.Context, id string) (bool, error) {
	events, err := c.st.History(ctx, id)
	if err != nil {
		return false, err
	}
	for _, ev := range slices.Backward(events) {
		if ev.To == ken.StatusDisputed {
			return ev.Reason == gone, nil
		}
	}
	return false, nil
}

// retract takes back the dependencies that were derived from a claim and that
// nothing states any more. kept are the keys of those that it still states; of a
// claim that stands, a model's stay, which is not asked again.
func (c *Classifier) retract(ctx context.Context, from *ken.Claim, kept []string) (n int, err error) {
	v := viewOf(c.st, from.Scope)
	standing := stands(from, c.o.Now())
	done := map[string]bool{}
	for _, name := range from.Entities {
		links, err := v.of(ctx, analysis.Entity(name))
		if err != nil {
			return n, err
		}
		for _, l := range links {
			if l.Kind != ken.KindDependency {
				continue
			}
			d, err := c.st.Claim(ctx, l.Ref)
			if errors.Is(err, ken.ErrNotFound) {
				continue
			}
			if err != nil {
				return n, err
			}
			derived := d.SourceType == SourceRules || d.SourceType == SourceModel && !standing
			if done[d.ID] || !derived || !cites(&d, from.ID) || slices.Contains(kept, d.Key) {
				continue
			}
			done[d.ID] = true
			backed, err := c.backed(ctx, &d, from.ID)
			if err != nil {
				return n, err
			}
			if backed {
				continue
			}
			err = c.st.Transition(ctx, ken.Transition{ID: d.ID, To: ken.StatusDisputed, Reason: gone, Actor: actor})
			if err != nil && !errors.Is(err, ken.ErrRefused) && !errors.Is(err, ken.ErrNotFound) { // somebody was faster
				return n, err
			}
			n++
		}
	}
	return n, nil
}

func cites(d *ken.Claim, id string) bool {
	return slices.ContainsFunc(d.Evidence, func(e ken.Evidence) bool { return e.Kind == ken.EvidenceRepositoryMemory && e.ID == id })
}

// backed reports whether a dependency rests on something else: another claim that
// stands, or what no claim said.
func (c *Classifier) backed(ctx context.Context, d *ken.Claim, without string) (bool, error) {
	for _, e := range d.Evidence {
		switch {
		case e.Kind == ken.EvidenceModelInference && strings.HasPrefix(d.SourceType, "structure:"):
		case e.Kind != ken.EvidenceRepositoryMemory:
			return true, nil
		case e.ID != without:
			o, err := c.st.Get(ctx, e.ID)
			if err == nil && stands(&o, c.o.Now()) {
				return true, nil
			}
			if err != nil && !errors.Is(err, ken.ErrNotFound) {
				return false, err
			}
		}
	}
	return false, nil
}
