package middleware

import (
	"strconv"
	"strings"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/retriever"
)

// legGraph is how receipts call what brings symbols, and the decisions about them.
const legGraph = "graph"

// card says what a symbol is. It is not changed once made.
type card struct {
	item     ken.Item
	governed []codegraph.Ref
	paths    []string // of the files that it speaks of
}

// cardOf makes the card of a node, false when the view has no such node.
func cardOf(v *codegraph.View, id string) (card, bool) {
	s, err := v.Show(id)
	if err != nil {
		return card{}, false
	}
	w := cardWriter{v: v, s: &s, tier: ken.Inferred}
	w.path(s.Path)
	w.line(line(s.Signature))
	if s.Doc != "" {
		w.line("Comment: " + line(s.Doc))
	}
	w.governed()
	w.users()
	w.above()
	w.members()
	w.weight()
	if len(w.lines) == 0 { // its signature may hold what is nobody's business
		w.line("Nothing more is known of it.")
	}
	c := card{governed: s.Governed, paths: w.paths, item: ken.Item{ID: s.ID, Kind: budgeter.KindSymbol, Tier: w.tier, Trust: ken.TrustOperator,
		Source: s.Path, Heading: clean(string(s.Kind) + " " + shortName(&s.Node)), Text: clean(strings.Join(w.lines, "\n"))}}
	if s.Line > 0 {
		c.item.Source += ":" + strconv.Itoa(s.Line)
	}
	c.item.Source = clean(c.item.Source)
	if stamp, ok := v.Stamp(s.Path); ok {
		c.item.CreatedAt = stamp.ModTime
	}
	return c, true
}

// cards keeps those of one view. The zero value is ready, and safe for concurrent use.
type cards struct {
	mu      sync.Mutex // guards the rest
	version uint64
	made    map[string]card
}

// maxMade bounds the cards that are kept.
const maxMade = 512

// of returns the card of a node, false when the view has no such node.
func (c *cards) of(v *codegraph.View, id string) (card, bool) {
	c.mu.Lock()
	if c.made == nil || c.version != v.Version() || len(c.made) >= maxMade {
		c.made, c.version = map[string]card{}, v.Version()
	}
	have, ok := c.made[id]
	c.mu.Unlock()
	if ok {
		return have, true
	}
	made, ok := cardOf(v, id)
	if !ok {
		return card{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version == v.Version() {
		c.made[id] = made
	}
	return made, true
}

// clean takes out what must not come back in a prompt: what files say passes no store.
func clean(s string) string {
	s, _ = guardrail.Redact(guardrail.StripReasoning(guardrail.Sanitize(s)))
	return strings.TrimSpace(s)
}

// line is a text on one line.
func line(s string) string { return strings.Join(strings.Fields(s), " ") }

// candidate is a card for the block, at a rank from 1; distance is 0 for what the turn
// names.
func (c *card) candidate(rank, distance int, sure float64) budgeter.Candidate {
	it := c.item
	it.Legs = map[string]ken.LegScore{legGraph: {Rank: rank, Score: sure}}
	it.Signals = map[string]float64{legGraph: sure, retriever.SignalDistance: float64(distance)}
	return budgeter.Candidate{Item: it}
}
