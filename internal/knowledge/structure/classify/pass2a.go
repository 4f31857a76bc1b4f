package classify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/store"
)

// subject is the current state of the entity that facts are about.
type subject struct {
	name    string
	kind    string
	aspects aspects
}

// question is the data of a request: facts, and the things that they are about.
type question struct {
	Things []thing `json:"things"`
	Facts  []fact  `json:"facts"`
}

// thing is an entity in the form in which a model sees it.
type thing struct {
	Name      string   `json:"name"`
	Type      string   `json:"type"`
	Aspects   []string `json:"aspects"`   // existing aspects
	Suggested []string `json:"suggested"` // usual aspects for its type
	Known     []string `json:"known"`     // known things that its facts may depend on
}

type fact struct {
	I     int    `json:"i"`
	About string `json:"about"` // the name of a thing
	Text  string `json:"text"`
}

// isUnfiled reports whether pass 2a may still file a claim.
func isUnfiled(k *ken.Claim) bool {
	if k.AssignedBy == "" { // a claim that came with an aspect keeps it
		return k.Aspect == ""
	}
	return k.AssignedBy.Rank() < ken.AssignedByModel.Rank()
}

// filePart is the part of a request about one entity.
type filePart struct {
	about *subject
	pool  *pool // nil if no fact names another thing
	facts []ken.Claim
}

// fileJob runs a job: one request for the aspects and dependencies of all its facts. A fact
// without a usable row in the answer stays as the rules filed it. If the job runs again, facts
// that are filed are not asked about again.
func (c *Classifier) fileJob(ctx context.Context, j jobs.Job, progress func(stage string, done, total int)) (note string, err error) {
	defer func() { err = c.settle(ctx, err) }()
	b, err := parse(&j)
	if err != nil {
		return "", err
	}
	facts, err := c.load(ctx, &b, askable)
	if err != nil {
		return "", err
	}
	parts, err := c.parts(ctx, facts)
	if err != nil || len(parts) == 0 {
		return "nothing is left to be filed", err
	}
	progress("classify", 0, len(facts))
	asked, filed, ties, err := c.askAndFile(ctx, parts)
	if errors.Is(err, ErrLeave) || errors.Is(err, ken.ErrInvalid) { // a retry would not help
		c.count(func(n *Counts) { n.Left += uint64(asked) })
		return "left as the rules had them: " + err.Error(), nil
	}
	if err != nil {
		return "", err
	}
	progress("classify", len(facts), len(facts))
	return fmt.Sprintf("%d of %d facts filed, %d left as the rules had them; %d dependencies", filed, asked, asked-filed, ties), nil
}

// parts groups facts by scope and entity, and omits groups with nothing to ask.
func (c *Classifier) parts(ctx context.Context, facts []ken.Claim) (out []filePart, err error) {
	for _, g := range groups(facts) {
		p := filePart{}
		if p.about, err = c.subject(ctx, &g); err != nil {
			return nil, err
		}
		if p.pool, err = c.pool(ctx, &g); err != nil {
			return nil, err
		}
		for i := range g.facts {
			if k := &g.facts[i]; isUnfiled(k) || p.pool.names(k) {
				p.facts = append(p.facts, *k)
			}
		}
		if len(p.facts) > 0 {
			out = append(out, p)
		}
	}
	return out, nil
}

// askAndFile sends the request, and files the answer.
func (c *Classifier) askAndFile(ctx context.Context, parts []filePart) (asked, filed, ties int, err error) {
	var q question
	var all []ken.Claim
	for i := range parts {
		p := &parts[i]
		t := thing{Name: p.about.name, Type: p.about.kind, Aspects: append([]string{}, p.about.aspects.have...), Suggested: p.about.aspects.suggested, Known: []string{}}
		if p.pool != nil {
			t.Known = p.pool.known
		}
		q.Things = append(q.Things, t)
		for j := range p.facts {
			q.Facts = append(q.Facts, fact{len(q.Facts) + 1, t.Name, excerpt(p.facts[j].Text)})
			all = append(all, p.facts[j])
			if isUnfiled(&p.facts[j]) {
				asked++
			}
		}
	}
	text, err := c.ask(ctx, &c.backoff, classifyTask, q)
	if err != nil {
		return asked, 0, 0, err
	}
	c.count(func(n *Counts) { n.Asked += uint64(asked) })
	found, tied := verdicts(text, len(all)), dependencyRows(text, len(all))
	doubt := c.doubtful(all, found)
	n := 0
	for i := range parts {
		p := &parts[i]
		for j := range p.facts {
			n++
			k := &p.facts[j]
			if isUnfiled(k) {
				ok, err := c.fileAs(ctx, p.about, k, found[n], doubt)
				if err != nil {
					return asked, filed, ties, err
				}
				if ok {
					filed++
				}
			}
			if !p.pool.names(k) {
				continue
			}
			made, err := c.tie(ctx, p.pool, k, tied[n])
			if err != nil {
				return asked, filed, ties, err
			}
			ties += made
		}
	}
	c.count(func(n *Counts) { n.Left += uint64(asked - filed) })
	return asked, filed, ties, nil
}

// fileAs files a fact by the model's verdict, if the verdict is usable.
func (c *Classifier) fileAs(ctx context.Context, about *subject, k *ken.Claim, v verdict, doubt bool) (bool, error) {
	if v == (verdict{}) {
		c.refuse(refusedRow)
		return false, nil
	}
	aspect := about.aspects.take(v.aspect)
	if aspect == "" {
		c.refuse(refusedAspect)
		return false, nil
	}
	return true, c.assign(ctx, k, aspect, v.constraint, doubt)
}

// subject looks up the facts' entity by its current names.
func (c *Classifier) subject(ctx context.Context, g *group) (*subject, error) {
	v := viewOf(c.st, g.scope)
	name, err := v.meant(ctx, g.entity)
	if err != nil {
		return nil, err
	}
	name = cmp.Or(name, g.entity) // "" if it stands for several things by now
	names, err := v.names(ctx, name)
	if err != nil {
		return nil, err
	}
	s := &subject{name: name}
	if s.kind, err = v.kind(ctx, names); err != nil {
		return nil, err
	}
	s.kind = cmp.Or(s.kind, string(reading.Unknown))
	outlines, err := c.st.Outlines(ctx, names, &v.f, store.OutlineOptions{Aspects: 2 * maxAspects, Top: 1, Links: 1})
	if err != nil {
		return nil, err
	}
	s.aspects.names = names
	for i := range outlines {
		for _, a := range outlines[i].Aspects {
			if a.Name != "" && !slices.Contains(s.aspects.have, a.Name) {
				s.aspects.have = append(s.aspects.have, a.Name)
			}
		}
	}
	slices.Sort(s.aspects.have)
	s.aspects.suggested = reading.SuggestedAspects(reading.Type(s.kind))
	return s, nil
}

// doubtful reports whether an answer makes rules of all of several facts, most of which are
// not worded like rules. A model that no longer reads the facts answers so.
func (c *Classifier) doubtful(facts []ken.Claim, found map[int]verdict) bool {
	const several = 4
	worded, rules := 0, 0
	for i, v := range found {
		if v.constraint {
			rules++
		}
		if c.readsAsRule(&facts[i-1]) {
			worded++
		}
	}
	return rules >= several && rules == len(found) && 2*worded < rules
}

// readsAsRule reports whether the rules read a claim as a constraint.
func (c *Classifier) readsAsRule(k *ken.Claim) bool {
	return k.Constraint || reading.Read(k, c.st).Constraint
}

// assign files a claim as the model said. A rule stays a rule, whatever the model said.
func (c *Classifier) assign(ctx context.Context, k *ken.Claim, aspect string, constraint, doubt bool) error {
	switch {
	case constraint && isExternal(k):
		constraint = false
		c.refuse(refusedExternal)
	case constraint && doubt && !c.readsAsRule(k):
		constraint = false
		c.refuse(refusedDoubtful)
	}
	a := ken.Assignment{ID: k.ID, By: ken.AssignedByModel, Aspect: aspect, Constraint: constraint || k.Constraint, Actor: actor}
	now, err := c.st.Get(ctx, k.ID)
	if err == nil && (digest(now.Text) != digest(k.Text) || !isUnfiled(&now) || !isValid(&now, c.o.Now())) {
		return nil // it was changed while the model answered
	}
	if err == nil {
		_, err = c.st.Assign(ctx, a)
	}
	switch {
	case err != nil && !skippable(err):
		return fmt.Errorf("file a fact: %w", err)
	case err == nil:
		c.count(func(n *Counts) { n.Model++ })
	}
	return nil
}
