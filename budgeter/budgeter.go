package budgeter

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/kenlayer/ken"
)

// Defaults of Options, in code points.
const (
	defaultChars         = 6000
	defaultMemoryChars   = 8000
	defaultItemChars     = 1500
	defaultPlaybookChars = 3000
)

// grace is how much longer than the turn constraints may be loaded together: they lie
// in memory or in a file at hand, and a turn that has ended is better late than without
// its rules.
const grace = 250 * time.Millisecond

// KindCheckpoint is the kind of an item that says where its own session stands. It
// is no claim: it is made for the turn, and has no life beyond it.
const KindCheckpoint ken.Kind = "checkpoint"

// KindObjectives is the kind of an item that says what the project aims at. It is no
// claim either: files say so.
const KindObjectives ken.Kind = "objectives"

// KindSymbol is the kind of an item that says what a symbol of the code is, and who
// depends on it. It is no claim: files say so, and it is made of them for the turn.
const KindSymbol ken.Kind = "symbol"

// Made reports a kind of items that are made for the turn: they are no claims that
// could be looked up, disputed or forgotten.
func Made(k ken.Kind) bool { return k == KindCheckpoint || k == KindObjectives || k == KindSymbol }

// Candidate is something that may enter the block.
type Candidate struct {
	// Item has ID, Kind, Tier, Trust, Fused, Legs, Signals, CreatedAt and
	// Constraint set. Source, Heading, Text and Key may be empty if Load is set.
	Item ken.Item
	// Memory puts it into the memory part, behind everything else and with a limit
	// of its own. A constraint is never memory.
	Memory bool
	// OrMemory tries what has no room elsewhere again as memory.
	OrMemory bool
	// Distance of a constraint is how far what it rules is from what the turn is about:
	// the nearest come first, before tier and trust.
	Distance int
	// MaxChars replaces Options.MaxItemChars for this one; 0 leaves that. In memory it counts
	// nothing.
	MaxChars int
	// Version is another number after every change of the claim; 0 is unknown. See
	// Options.Cache.
	Version uint64
	// Load fetches the claim when its turn comes and there is room left, once in
	// each part of the block that it is tried in; nil means that Item is complete.
	// An error leaves the candidate out.
	Load func(ctx context.Context) (ken.Claim, error)
}

// Options bound a block. The zero value is the default; all limits are exact.
type Options struct {
	Chars        int // code points of the frame and everything but memory; <= 0 means 6000
	MemoryChars  int // code points of the memory part; 0 means 8000, < 0 leaves memory out
	MaxItemChars int // code points of an item's text, longer ones are shortened; <= 0 means 1500
	// PlaybookChars is MaxItemChars for a playbook in memory, if it is more: half a
	// method is no method. <= 0 means 3000.
	PlaybookChars int
	// Show is the command line that prints a playbook whole, given its name. The
	// block mentions it where a playbook does not fit; empty leaves it out.
	Show string

	Tokens int              // of the whole block, on top of the limits in characters; <= 0 sets no limit
	Count  func(string) int // counts tokens; nil counts one for each byte, which no tokenizer exceeds

	// Excerpt returns what of a document's text bears on the turn, in at most so many code
	// points; nil takes the beginning.
	Excerpt func(text string, most int) string

	MinTier ken.Tier // cuts what is weaker, except constraints and checkpoints
	// Seen reports whether the context holds the item with exactly this text
	// already; nil means that it holds nothing.
	Seen func(id, text string) bool
	// Cache keeps memory from turn to turn; nil keeps nothing. Blocks are the same
	// with and without it.
	Cache *Cache
}

func (o Options) withDefaults() Options {
	if o.Chars <= 0 {
		o.Chars = defaultChars
	}
	if o.MemoryChars == 0 {
		o.MemoryChars = defaultMemoryChars
	}
	if o.MaxItemChars <= 0 {
		o.MaxItemChars = defaultItemChars
	}
	if o.PlaybookChars <= 0 {
		o.PlaybookChars = defaultPlaybookChars
	}
	o.PlaybookChars = max(o.PlaybookChars, o.MaxItemChars)
	return o
}

// Block is the message of a turn, and the account of how it came about.
type Block struct {
	Text   string     // "" when nothing fits: there is never a bare frame
	Chars  int        // code points of Text: the items' Chars, and the frame's own
	Tokens int        // of Text, when Options had a counter
	Items  []ken.Item // in the order of the block
	Cut    []ken.Cut  // in the order in which they were considered
	// OverflowedConstraints counts the constraints that did not fit even
	// compressed, or could not be read. The block says so in its own words as well.
	OverflowedConstraints int
}

// Compose fills a block. Constraints come first, the nearest before others, then what
// is strongest: by tier, trust, fused score, newest and id, in this order; what the user said
// stands beside what files say. What does not fit is cut and
// the next is tried. Constraints are compressed for one another, step by step,
// before any is cut: white space first, then headings and sources, then all but the
// first sentences of those that are not verified. No sentence is cut. If that is not
// enough, the nearest and strongest are there, in two thirds of the room where anything
// else bears on the turn, and a line says how many are missing.
//
// Memory follows within its own limit: a checkpoint, shortened until it fits; then
// hot claims, newest first; whatever else is memory, in the order above; playbooks,
// best first; and episodes, newest first, each as a digest of a few lines. A
// playbook that has no room is named, with where to read it.
//
// A candidate that can't be loaded is cut: as ken.CutStatus when the claim is gone,
// and as ken.CutLate otherwise, with the error as the detail. Once ctx has ended,
// nothing is loaded any more and what was complete is used; but constraints are, for
// a quarter of a second more. One that could not be loaded, or has no text to show, overflows.
// Compose keeps nothing of candidates; the maps inside of items are shared.
func Compose(ctx context.Context, candidates []Candidate, o Options) Block {
	o = o.withDefaults()
	c := composer{ctx: ctx, o: o, candidates: candidates, short: shortIDs(candidates), cancelGrace: func() {}}
	usual := min(len(candidates), 32)
	c.block.Items, c.shown.arena = make([]ken.Item, 0, usual), make([]uint64, 0, 64*usual)
	defer func() { c.cancelGrace() }()
	c.measure()
	constraints, knowledge, memory := order(candidates)
	c.addConstraints(constraints, len(knowledge) > 0)
	c.add(knowledge, false, &c.room)
	c.add(merge(candidates, memory, c.spilled), true, &c.memoryRoom)
	return c.finish()
}

// order returns the indexes of constraints, knowledge and memory, each in the
// order in which they are considered.
func order(candidates []Candidate) (constraints, knowledge, memory []int32) {
	parts := [...]*[]int32{constraintPart: &constraints, knowledgePart: &knowledge, memoryPart: &memory}
	for i := range candidates {
		p := parts[partOf(&candidates[i])]
		*p = append(*p, int32(i))
	}
	by := func(compare func(x, y *ken.Item) int) func(i, j int32) int {
		return func(i, j int32) int {
			return cmp.Or(compare(&candidates[i].Item, &candidates[j].Item), cmp.Compare(i, j))
		}
	}
	slices.SortFunc(constraints, func(i, j int32) int {
		x, y := &candidates[i], &candidates[j]
		return cmp.Or(cmp.Compare(x.Distance, y.Distance), byStrength(&x.Item, &y.Item), cmp.Compare(i, j))
	})
	slices.SortFunc(knowledge, by(byStanding))
	slices.SortFunc(memory, by(byMemory))
	return constraints, knowledge, memory
}

// merge puts further candidates into the order of memory.
func merge(candidates []Candidate, memory, more []int32) []int32 {
	if len(more) == 0 {
		return memory
	}
	memory = append(slices.Clone(memory), more...)
	slices.SortFunc(memory, func(i, j int32) int {
		return cmp.Or(byMemory(&candidates[i].Item, &candidates[j].Item), cmp.Compare(i, j))
	})
	return memory
}

const (
	constraintPart = iota
	knowledgePart
	memoryPart
)

func partOf(c *Candidate) int {
	switch {
	case c.Item.Constraint || c.Item.Fallen != "":
		return constraintPart
	case c.Memory:
		return memoryPart
	}
	return knowledgePart
}

// byStanding orders knowledge: like byStrength, but for two things. What the user said stands
// beside what files say, before what tools and agents report: its tier says that nothing
// proves it, not that the user is unsure. And a decision stands beside the other pieces of files.
func byStanding(x, y *ken.Item) int {
	a, b := standing(x), standing(y)
	switch {
	case a[0] != b[0]:
		return b[0] - a[0]
	case a[1] != b[1]:
		return b[1] - a[1]
	}
	return byFused(x, y)
}

// standing returns the tier and the trust that an item has in the order of knowledge.
func standing(it *ken.Item) [2]int {
	tier, trust := it.Tier, trust(it)
	if tier == ken.Assumed && trust == ken.TrustOperator {
		tier = ken.Inferred
	}
	if it.Kind == ken.KindDecision && trust == ken.TrustAgent {
		trust = ken.TrustOperator
	}
	return [2]int{int(tier), int(trust)}
}

// byStrength puts the strongest first.
func byStrength(x, y *ken.Item) int {
	switch {
	case x.Tier != y.Tier:
		return cmp.Compare(y.Tier, x.Tier)
	case trust(x) != trust(y):
		return cmp.Compare(trust(y), trust(x))
	}
	return byFused(x, y)
}

// byFused puts what bears on the turn best first.
func byFused(x, y *ken.Item) int {
	if x.Fused != y.Fused {
		return cmp.Compare(y.Fused, x.Fused)
	}
	return byAge(x, y)
}

// byAge puts the newest first.
func byAge(x, y *ken.Item) int {
	return cmp.Or(y.CreatedAt.Compare(x.CreatedAt), cmp.Compare(x.ID, y.ID))
}

// byMemory puts what the session can't go on without first, and what is merely
// good to know last.
func byMemory(x, y *ken.Item) int {
	rank := memoryRank(x.Kind)
	if d := cmp.Compare(rank, memoryRank(y.Kind)); d != 0 {
		return d
	}
	switch rank {
	case recoveryRank, hotRank, episodeRank:
		return byAge(x, y)
	case playbookRank:
		return cmp.Or(cmp.Compare(y.Fused, x.Fused), byStrength(x, y))
	}
	return byStrength(x, y)
}

const (
	recoveryRank = iota
	goalRank
	hotRank
	approvedRank // patterns, objectives, and kinds that nothing is known of
	playbookRank
	episodeRank
)

func memoryRank(k ken.Kind) int {
	switch k {
	case KindCheckpoint:
		return recoveryRank
	case KindObjectives:
		return goalRank
	case ken.KindHot:
		return hotRank
	case ken.KindPlaybook:
		return playbookRank
	case ken.KindEpisode:
		return episodeRank
	}
	return approvedRank
}

func trust(i *ken.Item) ken.Trust { return max(i.Trust, ken.TrustExternal) }
