package budgeter

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/itemid"
)

// Defaults of Options, in code points.
const (
	defaultChars         = 6000
	defaultMemoryChars   = 8000
	defaultItemChars     = 1500
	defaultPlaybookChars = 3000
)

// grace is the additional time for loading constraints after the turn's context has ended.
// Constraints are in memory or in a local file, and a late turn is better than one without its
// rules.
const grace = 250 * time.Millisecond

// KindCheckpoint is the kind of an item with the state of its own session. It is made for one turn
// and is not a claim.
const KindCheckpoint ken.Kind = "checkpoint"

// KindObjectives is the kind of an item with the project's objectives. It is made from files and is
// not a claim.
const KindObjectives = itemid.KindObjectives

// KindSymbol is the kind of an item that describes a symbol of the code and its users. It is made
// from files for one turn and is not a claim.
const KindSymbol = itemid.KindSymbol

// Made reports whether items of a kind are made for the turn. They are not claims, so they can't be
// looked up, disputed or forgotten.
func Made(k ken.Kind) bool { return k == KindCheckpoint || k == KindObjectives || k == KindSymbol }

// Candidate is an item that may get into the block.
type Candidate struct {
	// Item has ID, Kind, Tier, Trust, Fused, Legs, Signals, CreatedAt and
	// Constraint set. Source, Heading, Text and Key may be empty if Load is set.
	Item ken.Item
	// Memory puts the item into the memory part, after everything else and with its own limit. A
	// constraint is never memory.
	Memory bool
	// OrMemory tries the item again as memory if it does not fit elsewhere.
	OrMemory bool
	// Distance is, for a constraint, the distance between the entity that it is about and the
	// entities of the turn. The nearest come first, before tier and trust count.
	Distance int
	// MaxChars replaces Options.MaxItemChars for this item; 0 means no replacement. It does not
	// apply to memory.
	MaxChars int
	// Version changes with every change of the claim; 0 means unknown. See Options.Cache.
	Version uint64
	// Load reads the claim when the candidate is considered and there is room, once for each part
	// of the block in which it is tried. Nil means that Item is complete. After an error the
	// candidate is left out.
	Load func(ctx context.Context) (ken.Claim, error)
}

// Options limits a block. The zero value means the defaults. No limit is ever exceeded.
type Options struct {
	Chars        int // code points of the frame and everything but memory; <= 0 means 6000
	MemoryChars  int // code points of the memory part; 0 means 8000, < 0 leaves memory out
	MaxItemChars int // maximum number of code points of an item's text; longer ones are shortened; <= 0 means 1500
	// PlaybookChars replaces MaxItemChars for a playbook in memory, if it is larger, because half a
	// method misleads. <= 0 means 3000.
	PlaybookChars int
	// Show is the command that prints a complete playbook, without the playbook's name. The block
	// has it where a playbook does not fit; "" leaves it out.
	Show string

	Tokens int              // limit for the whole block, in addition to the limits in characters; <= 0 means none
	Count  func(string) int // counts tokens; nil counts one per byte, which no tokenizer exceeds

	// Excerpt returns the part of a document's text that is relevant to the turn, at most most code
	// points. Nil takes the beginning.
	Excerpt func(text string, most int) string

	MinTier ken.Tier // cuts items with a lower tier, except constraints and checkpoints
	// Seen reports whether the conversation already contains the item with exactly this text. Nil
	// means that it contains nothing.
	Seen func(id, text string) bool
	// Cache keeps rendered memory items from turn to turn; nil keeps none. Blocks are the same with
	// and without it.
	Cache *Cache
}

func (o Options) withDefaults() Options {
	o.Chars = cmp.Or(max(o.Chars, 0), defaultChars)
	o.MemoryChars = cmp.Or(o.MemoryChars, defaultMemoryChars)
	o.MaxItemChars = cmp.Or(max(o.MaxItemChars, 0), defaultItemChars)
	o.PlaybookChars = cmp.Or(max(o.PlaybookChars, 0), defaultPlaybookChars)
	o.PlaybookChars = max(o.PlaybookChars, o.MaxItemChars)
	return o
}

// Block is the message of a turn, with the items in it and those that were cut.
type Block struct {
	Text   string     // "" if nothing fits, never only the frame
	Chars  int        // code points of Text: the items' Chars plus the frame
	Tokens int        // tokens of Text, if Options has a counter
	Items  []ken.Item // in the order of the block
	Cut    []ken.Cut  // in the order in which they were considered
	// OverflowedConstraints is the number of constraints that did not fit even when compressed, or
	// could not be read. The block's text mentions it too.
	OverflowedConstraints int
}

// Compose fills a block. Constraints come first, the nearest before others, then the strongest
// items: by tier, trust, fused score, age (newest first) and id. What the user said ranks like text
// of files. An item that does not fit is cut, and the next one is tried. Before any constraint is
// cut, all are compressed step by step: first white space, then headings and sources, then all but
// the first sentences of those that are not verified. No sentence is cut. If that is not enough,
// the nearest and strongest are included, in two thirds of the room if there are other relevant
// items, and a line says how many are missing.
//
// Memory follows within its own limit: a checkpoint, shortened until it fits; then hot claims,
// newest first; other memory in the order above; playbooks, best first; and episodes, newest first,
// each as a digest of a few lines. A playbook that does not fit is named, with where to read it.
//
// A candidate that can't be loaded is cut: with ken.CutStatus if the claim was deleted, otherwise
// with ken.CutLate and the error as the detail. After ctx has ended, only constraints are still
// loaded, for a quarter of a second more, and other candidates are used only if they are complete.
// A constraint that could not be loaded, or has no text, overflows. Compose keeps no reference to
// candidates, but the maps of items are shared.
func Compose(ctx context.Context, candidates []Candidate, o Options) Block {
	o = o.withDefaults()
	c := composer{ctx: ctx, o: o, candidates: candidates, short: shortIDs(candidates), cancelGrace: func() {}}
	usual := min(len(candidates), 32)
	c.block.Items = make([]ken.Item, 0, usual)
	arena := arenas.Get().(*[]uint64)
	c.shown.arena = (*arena)[:0]
	defer func() {
		c.cancelGrace()
		*arena = c.shown.arena
		arenas.Put(arena)
	}()
	c.measure()
	constraints, knowledge, memory := order(candidates)
	c.addConstraints(constraints, len(knowledge) > 0)
	c.add(knowledge, false, &c.room)
	c.add(merge(candidates, memory, c.spilled), true, &c.memoryRoom)
	return c.finish()
}

// order returns the indexes of constraints, knowledge and memory, each in the order in which they
// are considered.
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
	slices.SortFunc(knowledge, by(byKnowledgeRank))
	slices.SortFunc(memory, by(byMemory))
	return constraints, knowledge, memory
}

// merge adds further candidates to the sorted memory.
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
	case c.Item.Constraint || c.Item.NewStatus != "":
		return constraintPart
	case c.Memory:
		return memoryPart
	}
	return knowledgePart
}

// byKnowledgeRank orders knowledge. It is like byStrength with two exceptions. What the user said ranks
// like text of files, before reports of tools and agents: its tier only says that nothing proves
// it, not that the user is unsure. And a decision ranks like other pieces of files.
func byKnowledgeRank(x, y *ken.Item) int {
	a, b := knowledgeRank(x), knowledgeRank(y)
	switch {
	case a[0] != b[0]:
		return b[0] - a[0]
	case a[1] != b[1]:
		return b[1] - a[1]
	}
	return byFused(x, y)
}

// knowledgeRank returns the tier and the trust with which an item is sorted as knowledge.
func knowledgeRank(it *ken.Item) [2]int {
	tier, trust := it.Tier, trust(it)
	if tier == ken.Assumed && trust == ken.TrustOperator {
		tier = ken.Inferred
	}
	if it.Kind == ken.KindDecision && trust == ken.TrustAgent {
		trust = ken.TrustOperator
	}
	return [2]int{int(tier), int(trust)}
}

// byStrength sorts the strongest first.
func byStrength(x, y *ken.Item) int {
	switch {
	case x.Tier != y.Tier:
		return cmp.Compare(y.Tier, x.Tier)
	case trust(x) != trust(y):
		return cmp.Compare(trust(y), trust(x))
	}
	return byFused(x, y)
}

// byFused sorts the most relevant first.
func byFused(x, y *ken.Item) int {
	if x.Fused != y.Fused {
		return cmp.Compare(y.Fused, x.Fused)
	}
	return byAge(x, y)
}

// byAge sorts the newest first.
func byAge(x, y *ken.Item) int {
	return cmp.Or(y.CreatedAt.Compare(x.CreatedAt), cmp.Compare(x.ID, y.ID))
}

// byMemory sorts by kind: first what the session can't continue without, last what is only useful
// to know.
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
	approvedRank // patterns, objectives, and unknown kinds
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
