package classify

import (
	"context"
	"fmt"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/store"
)

// subject is the entity that facts are about, as it is now.
type subject struct {
	name    string
	kind    string
	aspects aspects
}

// aspectQuestion is what a model is shown in pass 2a.
type aspectQuestion struct {
	Entity struct {
		Name string `json:"name"`
		Type string `json:"type"`
	} `json:"entity"`
	Aspects   []string `json:"aspects"`
	Suggested []string `json:"suggested"`
	Facts     []fact   `json:"facts"`
}

type fact struct {
	I    int    `json:"i"`
	Text string `json:"text"`
}

func numbered(facts []ken.Claim) []fact {
	out := make([]fact, len(facts))
	for i := range facts {
		out[i] = fact{i + 1, excerpt(facts[i].Text)}
	}
	return out
}

// unfiled reports a claim that pass 2a may still move.
func unfiled(k *ken.Claim) bool {
	if k.AssignedBy == "" { // what came with an aspect keeps it
		return k.Aspect == ""
	}
	return k.AssignedBy.Rank() < ken.AssignedByModel.Rank()
}

// aspectsOf runs a job of pass 2a. A fact that it has filed is not asked about again
// when it runs again.
func (c *Classifier) aspectsOf(ctx context.Context, j jobs.Job, progress func(stage string, done, total int)) (note string, err error) {
	defer func() { err = c.settle(ctx, err) }()
	b, err := parse(&j)
	if err != nil {
		return "", err
	}
	facts, err := c.load(ctx, &b, unfiled)
	if err != nil || len(facts) == 0 {
		return "nothing is left to be filed", err
	}
	c.count(func(n *Counts) { n.Asked += uint64(len(facts)) })
	filed := 0
	for _, g := range groups(facts) {
		n, err := c.group(ctx, &g, func(n int) { progress("classify", filed+n, len(facts)) })
		if err != nil {
			return "", err
		}
		filed += n
	}
	c.count(func(n *Counts) { n.Left += uint64(len(facts) - filed) })
	progress("classify", len(facts), len(facts))
	return fmt.Sprintf("%d of %d facts filed, %d left as the rules had them", filed, len(facts), len(facts)-filed), nil
}

// group files facts of one entity: together, then those that the model gave no usable
// verdict for once more, alone. It returns how many it filed.
func (c *Classifier) group(ctx context.Context, g *group, progress func(filed int)) (filed int, err error) {
	progress(0)
	about, err := c.subject(ctx, g)
	if err != nil {
		return 0, err
	}
	left, err := c.file(ctx, about, g.facts)
	if err != nil {
		return 0, err
	}
	filed = len(g.facts) - len(left)
	for i := range left {
		progress(filed)
		rest, err := c.file(ctx, about, left[i:i+1])
		if err != nil {
			return filed, err
		}
		filed += 1 - len(rest)
	}
	return filed, nil
}

// subject looks the facts' entity up, under the names that it has by now.
func (c *Classifier) subject(ctx context.Context, g *group) (*subject, error) {
	v := viewOf(c.st, g.scope)
	name, err := v.meant(ctx, g.entity)
	if err != nil {
		return nil, err
	}
	if name == "" { // several things by now: what the facts call it
		name = g.entity
	}
	names, err := v.names(ctx, name)
	if err != nil {
		return nil, err
	}
	s := &subject{name: name}
	if s.kind, err = v.kind(ctx, names); err != nil {
		return nil, err
	}
	if s.kind == "" {
		s.kind = string(reading.Unknown)
	}
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

// file asks about facts and files those that it got a usable verdict for. It returns
// the others.
func (c *Classifier) file(ctx context.Context, about *subject, facts []ken.Claim) (left []ken.Claim, err error) {
	ask := aspectQuestion{Aspects: slices.Clone(about.aspects.have), Suggested: about.aspects.suggested, Facts: numbered(facts)}
	ask.Entity.Name, ask.Entity.Type = about.name, about.kind
	if ask.Aspects == nil {
		ask.Aspects = []string{}
	}
	text, err := c.ask(ctx, &c.classify, classifyTask, ask)
	if err != nil {
		return nil, err
	}
	found := verdicts(text, len(facts))
	doubt := c.doubtful(facts, found)
	for i := range facts {
		k := &facts[i]
		v, ok := found[i+1]
		if !ok {
			c.count(func(n *Counts) { n.refuse(refusedRow) })
			left = append(left, *k)
			continue
		}
		aspect := about.aspects.take(v.aspect)
		if aspect == "" {
			c.count(func(n *Counts) { n.refuse(refusedAspect) })
			left = append(left, *k)
			continue
		}
		if err := c.assign(ctx, k, aspect, v.constraint, doubt); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// doubtful reports an answer that makes a rule of all of several facts, most of
// which are worded like none: what a model says that has stopped to look.
func (c *Classifier) doubtful(facts []ken.Claim, found map[int]verdict) bool {
	const several = 4
	worded, rules := 0, 0
	for i, v := range found {
		if v.constraint {
			rules++
		}
		if c.worded(&facts[i-1]) {
			worded++
		}
	}
	return rules >= several && rules == len(found) && 2*worded < rules
}

// worded reports whether the rules read a claim as a constraint.
func (c *Classifier) worded(k *ken.Claim) bool {
	return k.Constraint || reading.Read(k, c.st).Constraint
}

// assign files a claim as the model said. A rule stays one, whatever it said.
func (c *Classifier) assign(ctx context.Context, k *ken.Claim, aspect string, constraint, doubt bool) error {
	switch {
	case constraint && external(k):
		constraint = false
		c.count(func(n *Counts) { n.refuse(refusedExternal) })
	case constraint && doubt && !c.worded(k):
		constraint = false
		c.count(func(n *Counts) { n.refuse(refusedDoubtful) })
	}
	a := ken.Assignment{ID: k.ID, By: ken.AssignedByModel, Aspect: aspect, Constraint: constraint || k.Constraint, Actor: actor}
	now, err := c.st.Get(ctx, k.ID)
	if err == nil && (digest(now.Text) != digest(k.Text) || !unfiled(&now) || !stands(&now, c.o.Now())) {
		return nil // it was moved while the model thought
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

// spelled are the names of a claim's entities, each once.
func spelled(names []string) (out []string) {
	for _, n := range names {
		if n = analysis.Entity(n); n != "" && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}
