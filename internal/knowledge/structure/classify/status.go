package classify

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Reasons for which something that a model or a rule proposed is refused: the keys
// of Counts.Refused.
const (
	refusedRow       = "row"       // not in the answer, or not as it was asked for
	refusedAspect    = "aspect"    // no name for an aspect
	refusedExternal  = "external"  // a rule by an external source
	refusedDoubtful  = "doubtful"  // one of too many rules at once
	refusedType      = "type"      // no type of dependency
	refusedName      = "name"      // no name
	refusedUnknown   = "unknown"   // nothing that is known has that name
	refusedAmbiguous = "ambiguous" // the name stands for several things
	refusedLoop      = "loop"      // a thing that depends on itself
)

// Counts is what was done with a store's claims, ever. Claims that are looked at
// several times may count as often.
type Counts struct {
	Filed        uint64 `json:"filed"`        // by rules, in the background
	Unsure       uint64 `json:"unsure"`       // left unfiled: confidence below MinConfidence
	Unread       uint64 `json:"unread"`       // left unfiled: the rules read nothing in them
	Dependencies uint64 `json:"dependencies"` // written by rules, or seen again
	Retracted    uint64 `json:"retracted"`    // dependencies that nothing states any more

	Asked     uint64 `json:"asked"`      // facts, in pass 2a
	Model     uint64 `json:"model"`      // of these, filed as the model said
	Left      uint64 `json:"left"`       // of these, left as the rules had filed them
	AskedTies uint64 `json:"asked_ties"` // facts, in pass 2b
	Ties      uint64 `json:"ties"`       // dependencies that the model found, or saw again
	LeftTies  uint64 `json:"left_ties"`  // facts of pass 2b that it gave no usable row for
	Requests  uint64 `json:"requests"`   // to the model
	Failures  uint64 `json:"failures"`   // of these, without an answer

	Refused map[string]uint64 `json:"refused,omitempty"` // proposals, by reason
}

func (n *Counts) refuse(why string) {
	if n.Refused == nil {
		n.Refused = map[string]uint64{}
	}
	n.Refused[why]++
}

func (n *Counts) add(o *Counts) {
	more := o.numbers()
	for i, p := range n.numbers() {
		*p += *more[i]
	}
	for why, k := range o.Refused {
		if n.Refused == nil {
			n.Refused = map[string]uint64{}
		}
		n.Refused[why] += k
	}
}

func (n *Counts) zero() bool {
	return len(n.Refused) == 0 && !slices.ContainsFunc(n.numbers(), func(p *uint64) bool { return *p != 0 })
}

func (n *Counts) numbers() []*uint64 {
	return []*uint64{&n.Filed, &n.Unsure, &n.Unread, &n.Dependencies, &n.Retracted, &n.Asked, &n.Model, &n.Left,
		&n.AskedTies, &n.Ties, &n.LeftTies, &n.Requests, &n.Failures}
}

// ByOutcome names the counts as metrics do.
func (n *Counts) ByOutcome() map[string]uint64 {
	out := map[string]uint64{"rules": n.Filed, "model": n.Model, "left": n.Left, "unsure": n.Unsure, "unread": n.Unread,
		"ties_rules": n.Dependencies, "ties_model": n.Ties, "retracted": n.Retracted, "refused": 0}
	for _, k := range n.Refused {
		out["refused"] += k
	}
	return out
}

// State is how far the structure of a store has come.
type State struct {
	Rules  uint64 `json:"rules"` // the last event that the rules have looked at
	Model  uint64 `json:"model"` // the last event that jobs were added for
	Counts Counts `json:"counts"`
}

// Status reads how far a store's structure has come. It is quick: no claim is read.
// Both numbers trail the log by what was written in the last moments.
func Status(ctx context.Context, shelf store.Shelf) (State, error) {
	var s State
	err := shelf.View(ctx, func(r store.ShelfReader) error {
		s = State{}
		for _, f := range []struct {
			key     string
			version int
			to      *uint64
		}{{keyRules, rulesVersion, &s.Rules}, {keyModel, modelVersion, &s.Model}} {
			*f.to = readMark(r, f.key, f.version).Seq
		}
		return readValue(r, keyCounts, &s.Counts)
	})
	return s, err
}

// Coverage is how many claims that stand are filed.
type Coverage struct {
	Claims   int `json:"claims"`   // atomic ones that stand
	Entities int `json:"entities"` // of these, with an entity
	Filed    int `json:"filed"`    // of these, with an aspect too
	Rules    int `json:"rules"`    // filed by rules
	Model    int `json:"model"`    // filed by a model
	Operator int `json:"operator"` // filed by an operator
}

// Scanner reads claims one after another, as store.Claims does.
type Scanner interface {
	Scan(ctx context.Context, f *ken.Filter, want func(store.Glance) bool) iter.Seq2[ken.Claim, error]
}

// Share is the part of the claims that are filed, 0..1; 1 for none.
func (v Coverage) Share() float64 {
	if v.Claims == 0 {
		return 1
	}
	return float64(v.Filed) / float64(v.Claims)
}

// Cover counts claims. It reads every one, which takes about a second for 100,000:
// for a person who asks, not for a scrape.
func Cover(ctx context.Context, st Scanner, f *ken.Filter) (Coverage, error) {
	var v Coverage
	if f == nil {
		f = &ken.Filter{}
	}
	for c, err := range st.Scan(ctx, f, nil) {
		if err != nil {
			return v, err
		}
		if !Atomic(&c) {
			continue
		}
		v.Claims++
		if len(c.Entities) == 0 {
			continue
		}
		v.Entities++
		if c.Aspect == "" {
			continue
		}
		v.Filed++
		switch c.AssignedBy {
		case ken.AssignedByRules:
			v.Rules++
		case ken.AssignedByModel:
			v.Model++
		case ken.AssignedByOperator:
			v.Operator++
		}
	}
	return v, nil
}

// count takes something down that flush writes.
func (c *Classifier) count(change func(*Counts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.pending)
}

// take empties what is pending.
func (c *Classifier) take() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.pending
	c.pending = Counts{}
	return n
}

func (c *Classifier) giveBack(n *Counts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending.add(n)
}

func addCounts(tx store.ShelfTx, n *Counts) error {
	var have Counts
	if err := readValue(tx, keyCounts, &have); err != nil {
		have = Counts{} // counts that can't be read are no reason to stop
	}
	have.Refused = maps.Clone(have.Refused)
	have.add(n)
	b, err := json.Marshal(&have)
	if err != nil {
		return err
	}
	return tx.Put(keyCounts, b)
}
