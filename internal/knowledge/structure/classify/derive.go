package classify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/store"
)

// Derive does for these claims by rules what must be done after they were written. It
// files those that are not filed, writes the dependencies that they state, and retracts
// those that they no longer state. Deleted claims are no error, and running it again
// changes nothing. Follow does the same for every write; a process that ends right after
// a write calls Derive.
func Derive(ctx context.Context, st Store, ids ...string) error {
	c := New(st, Options{})
	for _, id := range ids {
		if err := c.derive(ctx, id, true); err != nil {
			return err
		}
	}
	if n := c.take(); n.Filed+n.Dependencies+n.Retracted > 0 { // the follower counts everything else
		c.giveBack(&n)
		return c.flush(ctx, nil, nil)
	}
	return nil
}

// derive is Derive for one claim. changed says that the claim may have stated something
// else before.
func (c *Classifier) derive(ctx context.Context, id string, changed bool) error {
	k, err := c.st.Get(ctx, id)
	switch {
	case errors.Is(err, ken.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("read a claim to be filed: %w", err)
	case k.Kind == ken.KindDependency || k.Kind == ken.KindAlias:
		return c.forgetOrphan(ctx, &k)
	case !Atomic(&k):
		return nil
	case !isValid(&k, c.o.Now()):
		return c.retracted(ctx, &k, nil)
	}
	if err := c.backfill(ctx, &k); err != nil {
		return err
	}
	if c.o.NoRules {
		return nil
	}
	var kept []string
	v := viewOf(c.st, k.Scope)
	read := reading.Read(&k, c.st)
	for _, d := range read.Dependencies {
		e := edge{source: d.Source, kind: d.Type, target: d.Target, strength: d.Strength, by: ken.AssignedByRules}
		e, why, err := e.resolved(ctx, v)
		if err != nil {
			return err
		}
		if why != "" {
			c.refuse(why)
			continue
		}
		wrote, err := c.write(ctx, &e, &k)
		if err != nil && !skippable(err) {
			return fmt.Errorf("write a dependency: %w", err)
		}
		if wrote && err == nil {
			c.count(func(n *Counts) { n.Dependencies++ })
		}
		kept = append(kept, e.key(&k))
	}
	for _, a := range read.Aliases {
		key, err := c.alias(ctx, a, &k, v)
		if err != nil && !skippable(err) {
			return fmt.Errorf("write another name: %w", err)
		}
		kept = append(kept, key)
	}
	if !changed {
		return nil
	}
	return c.retracted(ctx, &k, kept)
}

// alias writes a claim that gives another name of a thing, unless a claim about that name
// exists: what a person merged or split is not changed. It returns the key.
func (c *Classifier) alias(ctx context.Context, a reading.Alias, from *ken.Claim, v *view) (string, error) {
	key := structure.Scoped("alias:"+a.Other, from.Scope)
	switch have, err := c.st.ByKey(ctx, key); {
	case err == nil:
		if have.Status != ken.StatusDisputed || !slices.Equal(have.Entities, []string{a.Name, a.Other}) {
			return key, nil
		}
		if ours, err := c.retractedByUs(ctx, have.ID); !ours || err != nil {
			return key, err
		}
		return key, c.st.Transition(ctx, ken.Transition{ID: have.ID, To: ken.StatusVerified, Reason: "stated again", Actor: actor,
			Evidence: (&edge{by: ken.AssignedByRules}).evidence(from, "")})
	case !errors.Is(err, ken.ErrNotFound):
		return key, err
	}
	if from.Support(nil).Trust < ken.TrustOperator { // names that are merged share their rules, so an agent's statement is not enough
		return key, nil
	}
	name, err := v.meant(ctx, a.Name)
	if err != nil || name == "" {
		return key, err
	}
	other, err := v.meant(ctx, a.Other)
	if err != nil || other == "" || other != a.Other || name == other { // the name of another thing, or the same thing already
		return key, err
	}
	claim := ken.Claim{Kind: ken.KindAlias, Key: key, Text: a.Other + " is another name of " + name, Entities: []string{name, a.Other}, Aspect: "alias", Importance: 1,
		Evidence: (&edge{by: ken.AssignedByRules}).evidence(from, ""), Status: ken.StatusInferred, Confidence: from.Confidence, AssignedBy: ken.AssignedByRules,
		Scope: from.Scope, Project: from.Project, Session: from.Session, Branch: from.Branch, ExpiresAt: from.ExpiresAt,
		Actor: actor, Source: "claim " + from.ID, SourceType: SourceRules}
	_, err = c.st.WriteClaim(ctx, claim)
	return key, err
}

func (c *Classifier) retracted(ctx context.Context, k *ken.Claim, kept []string) error {
	n, err := c.retract(ctx, k, kept)
	if n > 0 {
		c.count(func(o *Counts) { o.Retracted += uint64(n) })
	}
	if err != nil {
		return fmt.Errorf("retract dependencies: %w", err)
	}
	return nil
}

// backfill files a claim that is not filed: one from before there was a structure, or one
// that pass 1 could not file.
func (c *Classifier) backfill(ctx context.Context, k *ken.Claim) error {
	if k.AssignedBy != "" || len(k.Entities) > 0 && k.Aspect != "" {
		return nil
	}
	filed := *k
	if !reading.Assign(&filed, c.st) {
		c.count(func(n *Counts) { n.Unread++ })
		return nil
	}
	if len(k.Entities) == 0 {
		if r := reading.Read(k, c.st); r.Confidence < MinConfidence {
			c.count(func(n *Counts) { n.Unsure++ })
			return nil
		}
	}
	changed, err := c.st.Assign(ctx, ken.Assignment{ID: k.ID, By: ken.AssignedByRules, Entities: filed.Entities, Aspect: filed.Aspect,
		Constraint: filed.Constraint, RuleCandidate: filed.RuleCandidate, Actor: actor})
	switch {
	case err != nil && !skippable(err):
		return fmt.Errorf("file a claim: %w", err)
	case err == nil && changed:
		*k = filed
		c.count(func(n *Counts) { n.Filed++ })
	}
	return nil
}

// forgetOrphan forgets a dependency that was written while the claims that it was derived
// from were forgotten, because it contains their words.
func (c *Classifier) forgetOrphan(ctx context.Context, d *ken.Claim) error {
	if d.SourceType != SourceRules && d.SourceType != SourceModel {
		return nil
	}
	cited := false
	for _, e := range d.Evidence {
		if e.Kind != ken.EvidenceRepositoryMemory {
			continue
		}
		cited = true
		if _, err := c.st.Get(ctx, e.ID); !errors.Is(err, ken.ErrNotFound) {
			return err
		}
	}
	if !cited {
		return nil
	}
	_, err := c.st.Forget(ctx, d.ID, "what it was derived from was forgotten", actor)
	if err != nil && !errors.Is(err, ken.ErrNotFound) {
		return fmt.Errorf("forget a dependency: %w", err)
	}
	return nil
}

// skippable reports whether an error is about one claim, which was forgotten or changed
// meanwhile or which the store refuses. The other claims are filed all the same.
func skippable(err error) bool {
	return errors.Is(err, ken.ErrNotFound) || errors.Is(err, ken.ErrRefused) || errors.Is(err, ken.ErrInvalid)
}

// view reads the structure with the filter of one scope.
type view struct {
	st    Store
	f     ken.Filter
	links map[string][]store.Link // by name, as read so far
	sets  map[string][][]string   // by name, as resolved so far
}

// viewOf returns a view for claims of a scope. It includes claims of that scope and
// unscoped ones.
func viewOf(st Store, scope ken.Scope) *view {
	return &view{st: st, f: ken.Filter{Scopes: []ken.Scope{scope}, Unscoped: true}, links: map[string][]store.Link{}, sets: map[string][][]string{}}
}

// maxLinks bounds the links that are read for one name.
const maxLinks = 256

func (v *view) of(ctx context.Context, name string) ([]store.Link, error) {
	if l, ok := v.links[name]; ok {
		return l, nil
	}
	out, err := v.st.Outlines(ctx, []string{name}, &v.f, store.OutlineOptions{Aspects: 1, Top: 1, Links: maxLinks})
	if err != nil || len(out) == 0 {
		return nil, err
	}
	v.links[name] = out[0].Links
	return out[0].Links, nil
}

// resolve returns the entities that a name stands for. Each is a list of names, the
// primary one first.
func (v *view) resolve(ctx context.Context, name string) ([][]string, error) {
	if sets, ok := v.sets[name]; ok {
		return sets, nil
	}
	sets, err := structure.New(v.st, nil).Resolve(ctx, name, &v.f)
	if err != nil {
		return nil, fmt.Errorf("resolve a name: %w", err)
	}
	v.sets[name] = sets
	return sets, nil
}

// meant returns the primary name of the entity that a name stands for; "" if it stands
// for several.
func (v *view) meant(ctx context.Context, name string) (string, error) {
	sets, err := v.resolve(ctx, name)
	if err != nil || len(sets) != 1 {
		return "", err
	}
	return sets[0][0], nil
}

// names returns all names of an entity, its own first. For a name that stands for several
// things, it returns only that name.
func (v *view) names(ctx context.Context, entity string) ([]string, error) {
	sets, err := v.resolve(ctx, entity)
	if err != nil || len(sets) != 1 {
		return []string{entity}, err
	}
	return sets[0], nil
}

// kind returns the type in an entity's description; "" if there is none.
func (v *view) kind(ctx context.Context, names []string) (string, error) {
	for _, n := range names {
		links, err := v.of(ctx, n)
		if err != nil {
			return "", err
		}
		for _, l := range links {
			if l.Kind == ken.KindEntity && len(l.Names) > 0 && l.Names[0] == n && l.Type != "" {
				return l.Type, nil
			}
		}
	}
	return "", nil
}

// neighbours returns the entities that dependencies connect to an entity, in order.
func (v *view) neighbours(ctx context.Context, names []string) (out []string, err error) {
	for _, n := range names {
		links, err := v.of(ctx, n)
		if err != nil {
			return nil, err
		}
		for _, l := range links {
			if l.Kind != ken.KindDependency {
				continue
			}
			for _, o := range l.Names {
				if !slices.Contains(names, o) && !slices.Contains(out, o) {
					out = append(out, o)
				}
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// Limits of an aspect's name and number. A model that creates an aspect for every fact
// sorts nothing.
const (
	maxWords   = 3
	maxRunes   = 40
	maxAspects = 32 // of an entity; with more, no new ones are accepted
)

// vague holds names that sort nothing.
var vague = []string{"other", "others", "misc", "miscellaneous", "general", "generic", "none", "null", "unknown", "n/a", "na", "attribute", "attributes",
	"constraint", "constraints", "fact", "facts", "info", "information", "aspect", "aspects", "detail", "details", "thing", "things", "new", "true", "false"}

// spellAspect returns the name of an aspect in the form in which aspects are compared; ""
// for an unusable name.
func spellAspect(raw string) string {
	s := analysis.Entity(raw)
	words := strings.Fields(s)
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != ' ' && r != '/'
	}
	if len(words) == 0 || len(words) > maxWords || len([]rune(s)) > maxRunes || strings.ContainsFunc(s, odd) || slices.Contains(vague, s) ||
		!strings.ContainsFunc(s, unicode.IsLetter) {
		return ""
	}
	return s
}

// aspects are the aspects that an entity's facts may be filed under.
type aspects struct {
	have      []string // aspects of the entity
	suggested []string
	names     []string // names of the entity itself
	added     int      // number of new ones in this answer
}

// take returns the aspect for a model's word: an existing one with the same or a similar
// name, or else a new one. It returns "" for an unusable word.
func (a *aspects) take(raw string) string {
	s := spellAspect(raw)
	if s == "" || slices.Contains(a.names, s) {
		return ""
	}
	usual := slices.Concat(a.have, a.suggested)
	if slices.Contains(usual, s) {
		return s
	}
	if i := slices.IndexFunc(usual, func(o string) bool { return sameAspect(s, o) }); i >= 0 {
		return usual[i]
	}
	if len(a.have) >= maxAspects {
		return ""
	}
	a.have = append(a.have, s)
	a.added++
	return s
}

// sameAspect reports whether two names are the same aspect: they have the same stems in
// any order, or differ in one letter of a long word, which is probably a typing error.
func sameAspect(a, b string) bool {
	if slices.Equal(stems(a), stems(b)) {
		return true
	}
	const long = 8
	return len(a) >= long && len(b) >= long && withinOneEdit([]rune(a), []rune(b))
}

func stems(s string) []string {
	words := strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '/' })
	for i := range words {
		words[i] = analysis.Stem(words[i])
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// withinOneEdit reports whether two words differ by at most one letter that was left out,
// added or replaced. Digits must be equal.
func withinOneEdit(a, b []rune) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if i < len(b) && (unicode.IsDigit(b[i]) || i < len(a) && unicode.IsDigit(a[i])) {
		return false
	}
	if len(a) == len(b) {
		return i == len(a) || slices.Equal(a[i+1:], b[i+1:])
	}
	return slices.Equal(a[i:], b[i+1:])
}

// SourceType of a dependency's claim: who derived it.
const (
	SourceRules = "structure:rules"
	SourceModel = "structure:model"
)

// edge is a dependency that a claim states.
type edge struct {
	source, kind, target string
	strength             float64
	by                   ken.Assigner
}

// key returns the edge's key in the scope of the claim that it is derived from.
func (e *edge) key(c *ken.Claim) string {
	return structure.DependencyKey(e.source, e.kind, e.target, c.Scope)
}

// resolved returns the edge between the entities that its names stand for, or the reason
// why it is refused.
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

// claim returns the edge as a claim. It has the scope and expiry of the claim that it is
// derived from, and no higher trust or confidence.
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

// reasonUnstated is the reason in the log for retracting a dependency that no claim
// states any more.
const reasonUnstated = "what it was derived from no longer stands"

// write stores an edge. An existing one gets the evidence, unless that would lower its
// trust; one that a person retracted is not changed. changed is false if nothing was
// written.
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
		ours, err := c.retractedByUs(ctx, have.ID)
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

// retractedByUs reports whether this package made the last retraction of a dependency.
func (c *Classifier) retractedByUs(ctx context.Context, id string) (bool, error) {
	events, err := c.st.History(ctx, id)
	if err != nil {
		return false, err
	}
	for _, ev := range slices.Backward(events) {
		if ev.To == ken.StatusDisputed {
			return ev.Reason == reasonUnstated, nil
		}
	}
	return false, nil
}

// retract retracts the dependencies that were derived from a claim and that no claim
// states any more. kept holds the keys of those that it still states. If the claim is
// still valid, dependencies from a model are kept, since the model is not asked again.
func (c *Classifier) retract(ctx context.Context, from *ken.Claim, kept []string) (n int, err error) {
	v := viewOf(c.st, from.Scope)
	standing := isValid(from, c.o.Now())
	done := map[string]bool{}
	for _, name := range from.Entities {
		links, err := v.of(ctx, analysis.Entity(name))
		if err != nil {
			return n, err
		}
		for _, l := range links {
			if l.Kind != ken.KindDependency && l.Kind != ken.KindAlias {
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
			backed, err := c.hasOtherEvidence(ctx, &d, from.ID)
			if err != nil {
				return n, err
			}
			if backed {
				continue
			}
			err = c.st.Transition(ctx, ken.Transition{ID: d.ID, To: ken.StatusDisputed, Reason: reasonUnstated, Actor: actor})
			if err != nil && !errors.Is(err, ken.ErrRefused) && !errors.Is(err, ken.ErrNotFound) { // somebody else changed it meanwhile
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

// hasOtherEvidence reports whether a dependency has other evidence than the claim without: another
// valid claim, or evidence that is not a claim.
func (c *Classifier) hasOtherEvidence(ctx context.Context, d *ken.Claim, without string) (bool, error) {
	for _, e := range d.Evidence {
		switch {
		case e.Kind == ken.EvidenceModelInference && strings.HasPrefix(d.SourceType, "structure:"):
		case e.Kind != ken.EvidenceRepositoryMemory:
			return true, nil
		case e.ID != without:
			o, err := c.st.Get(ctx, e.ID)
			if err == nil && isValid(&o, c.o.Now()) {
				return true, nil
			}
			if err != nil && !errors.Is(err, ken.ErrNotFound) {
				return false, err
			}
		}
	}
	return false, nil
}
