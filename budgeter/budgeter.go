package budgeter

import (
	"context"

	"github.com/kenlayer/ken"
)

// Defaults of Options, in code points.
const (
	DefaultChars        = 6000
	DefaultMemoryChars  = 8000
	DefaultMaxItemChars = 1500
)

// Candidate is something that may enter the block.
type Candidate struct {
	// Item has ID, Kind, Tier, Trust, Fused, Legs, Signals, CreatedAt and
	// Constraint set. Source, Heading, Text and Key may be empty if Load is set.
	Item ken.Item
	// Memory puts it into the memory part, behind everything else and with a limit
	// of its own. A constraint is never memory.
	Memory bool
	// Load fetches the claim, once, when its turn comes and there is room left;
	// nil means that Item is complete. An error leaves the candidate out.
	Load func(ctx context.Context) (ken.Claim, error)
}

// Options bound a block. The zero value is the default; all limits are exact.
type Options struct {
	Chars        int // code points of the frame and everything but memory; <= 0 means DefaultChars
	MemoryChars  int // code points of the memory part; 0 means DefaultMemoryChars, < 0 leaves memory out
	MaxItemChars int // code points of an item's text, longer ones are shortened; <= 0 means DefaultMaxItemChars

	Tokens int              // of the whole block, on top of the limits in characters; <= 0 sets no limit
	Count  func(string) int // counts tokens; nil counts one for each byte, which no tokenizer exceeds

	MinTier ken.Tier // cuts what is weaker, except constraints
	// Seen reports whether the context holds the item with exactly this text
	// already; nil means that it holds nothing.
	Seen func(id, text string) bool
}

// Block is the message of a turn, and the account of how it came about.
type Block struct {
	Text   string     // "" when nothing fits: there is never a bare frame
	Chars  int        // code points of Text: the items' Chars, and the frame's own
	Tokens int        // of Text, when Options had a counter
	Items  []ken.Item // in the order of the block
	Cut    []ken.Cut  // in the order in which they were considered
	// OverflowedConstraints counts the constraints that did not fit even
	// compressed. The block says so in its own words as well.
	OverflowedConstraints int
}

// Compose fills a block. Constraints come first, then what is strongest: by tier,
// trust, fused score, newest and id, in this order. What does not fit is cut and
// the next is tried. Constraints are compressed for one another, step by step,
// before any is cut: white space first, then headings, then all but the first
// sentences. Memory follows in the same order, within its own limit.
//
// A candidate that can't be loaded is cut: as ken.CutStatus when the claim is gone,
// and as ken.CutLate otherwise, with the error as the detail. Once ctx has ended,
// nothing is loaded any more and what was complete is used. Compose keeps nothing
// of candidates; the maps inside of items are shared.
func Compose(ctx context.Context, candidates []Candidate, o Options) Block {
	if o.Chars <= 0 {
		o.Chars = DefaultChars
	}
	if o.MemoryChars == 0 {
		o.MemoryChars = DefaultMemoryChars
	}
	if o.MaxItemChars <= 0 {
		o.MaxItemChars = DefaultMaxItemChars
	}
	c := composer{ctx: ctx, o: o, candidates: candidates, short: shortIDs(candidates)}
	usual := min(len(candidates), 32)
	c.block.Items, c.said.arena = make([]ken.Item, 0, usual), make([]uint64, 0, 64*usual)
	c.measure()
	constraints, knowledge, memory := order(candidates)
	c.addConstraints(constraints)
	c.add(knowledge, &c.room)
	c.add(memory, &c.memoryRoom)
	return c.finish()
}
