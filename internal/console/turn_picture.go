package console

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/console/diff"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// picture is a turn's receipt as pages show it: of a turn that was, or of one that is
// only tried.
type picture struct {
	Receipt *ken.Receipt
	Items   []shownItem
	Cuts    []cutGroup
	Fusion  *drawing
	Bytes   *drawing
	Time    spent
	Faults  []fault
	Taints  []shownTaint
	Memory  int // items that are in every turn
	Tried   bool
}

// shownItem is an item of a block.
type shownItem struct {
	middleware.KeptItem
	Place  int
	Label  string // a few words for it
	Cut    bool   // it says more than its label does
	Path   string // of its own page; "" for none
	Says   string // what became of it since
	Now    *row   // the claim as it stands; nil for what is none
	Found  []foundBy
	Parts  []namedPart // of what the ranker counted
	Marks  []mark
	Decide bool // a person can decide about it
}

// foundBy is where a leg had an item.
type foundBy struct {
	Leg  string
	Rank int
}

type namedPart struct {
	Name  string
	Value float64
}

// cutGroup is what was cut for one reason: the first of it, and some of the rest.
type cutGroup struct {
	Reason      ken.CutReason
	Says        string
	Count       int
	First, Rest []cutItem
	More        int // that are not listed
}

type cutItem struct{ ID, Label, Path, Detail string }

// shownTaint is a tool call that repeats what an external claim said.
type shownTaint struct {
	ken.Taint
	Label, Path string
}

// Of what was cut for a reason, so many are shown, and so many more unfolded.
const (
	firstCuts = 3
	restCuts  = 12
)

// picture looks up what a receipt names by ids. Items carry their words already.
func (v *visit) picture(s store.Engine, r *ken.Receipt, items []middleware.KeptItem, used []ken.Use) (picture, error) {
	p := picture{Receipt: r, Faults: faults(r.Degraded), Bytes: cachedParts(r), Time: timed(r)}
	k := lookup{v: v, s: s, labels: map[string]cutItem{}}
	for i := range items {
		it := k.item(&items[i], i+1, r.Session)
		for _, u := range used {
			if u.ID == it.ID {
				it.Marks = useMarks(u)
			}
		}
		if it.Memory {
			p.Memory++
		}
		k.labels[it.ID] = cutItem{ID: it.ID, Label: it.Label, Path: "#c-" + it.ID}
		p.Items = append(p.Items, it)
	}
	p.Cuts = k.cuts(r.Cut)
	p.Fusion = fusion(fusedList(r), func(id string) (string, string) {
		c := k.label(id)
		return c.Label, c.Path
	})
	for _, t := range r.Taint {
		c := k.label(t.Claim)
		p.Taints = append(p.Taints, shownTaint{t, c.Label, c.Path})
	}
	return p, k.err
}

// pictureOf is the picture of a turn that was tried: its items have the words that they
// have in the block.
func (v *visit) pictureOf(s store.Engine, r *ken.Receipt) (picture, error) {
	items := make([]middleware.KeptItem, len(r.Items))
	for i := range r.Items {
		items[i] = middleware.KeptItem{Item: r.Items[i], State: middleware.ItemSame}
	}
	p, err := v.picture(s, r, items, nil)
	p.Tried = true
	return p, err
}

// lookup reads what ids stand for, each once.
type lookup struct {
	v      *visit
	s      store.Engine
	labels map[string]cutItem
	err    error
}

// item shows an item of a block.
func (k *lookup) item(kept *middleware.KeptItem, place int, session string) shownItem {
	it := shownItem{KeptItem: *kept, Place: place, Says: stateWords[kept.State], Label: labelled(kept.Heading, kept.Text)}
	for _, leg := range legOrder {
		if s, ok := kept.Legs[leg]; ok {
			it.Found = append(it.Found, foundBy{leg, s.Rank})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kept.Signals)) {
		it.Parts = append(it.Parts, namedPart{name, kept.Signals[name]})
	}
	switch kept.Kind {
	case budgeter.KindSymbol:
		it.Path = pathOf("code", "symbol") + "?id=" + escapeQuery(kept.ID)
		it.Label = cmp.Or(it.Label, kept.ID)
	case budgeter.KindObjectives:
		it.Path, it.Label = pathOf("objectives"), cmp.Or(it.Label, "The project’s objectives")
	case budgeter.KindCheckpoint:
		if session != "" {
			it.Path = pathOf("sessions", session)
		}
		it.Label = cmp.Or(it.Label, "Where the session stood")
	default:
		k.stands(&it)
	}
	it.Cut = strings.HasSuffix(it.Label, "…")
	if it.State == middleware.ItemForgotten {
		it.Label = "Forgotten"
	}
	it.Label = cmp.Or(it.Label, "item "+shortID(it.ID))
	return it
}

// stands looks up how the claim of an item stands now.
func (k *lookup) stands(it *shownItem) {
	c, err := k.v.view(k.v.ctx(), k.s, it.ID)
	switch {
	case errors.Is(err, ken.ErrNotFound):
		if it.Kind == ken.KindDecision && it.State != middleware.ItemForgotten { // a file of the project says so
			it.Path = pathOf("decisions")
		}
		return
	case err != nil:
		k.err = err
		return
	}
	now := rowOf(&c, k.v.now())
	it.Path, it.Now = pathOf("claims", it.ID), &now
	it.Decide = c.Kind != ken.KindDocument && c.Status != ken.StatusDisputed && c.Status != ken.StatusSuperseded
}

// label is an item by its id, with its own page.
func (k *lookup) label(id string) cutItem {
	if c, ok := k.labels[id]; ok {
		return c
	}
	c := cutItem{ID: id, Label: id}
	claim, err := k.s.Get(k.v.ctx(), id)
	switch {
	case err == nil:
		c.Label, c.Path = cmp.Or(labelled(claim.Heading, claim.Text), id), pathOf("claims", id)
	case !errors.Is(err, ken.ErrNotFound):
		k.err = err
	case strings.Count(id, "-") == 4: // a claim's id
		c.Label = "a claim that is gone (" + shortID(id) + ")"
	}
	k.labels[id] = c
	return c
}

// cuts groups what was left out by why.
func (k *lookup) cuts(cuts []ken.Cut) (out []cutGroup) {
	by := map[ken.CutReason][]ken.Cut{}
	for _, c := range cuts {
		by[c.Reason] = append(by[c.Reason], c)
	}
	for _, w := range cutWords {
		of := by[w.reason]
		if len(of) == 0 {
			continue
		}
		g := cutGroup{Reason: w.reason, Says: w.says, Count: len(of), More: max(len(of)-firstCuts-restCuts, 0)}
		for i, c := range of[:min(len(of), firstCuts+restCuts)] {
			item := k.label(c.ID)
			item.Detail = c.Detail
			if other := k.labels[c.Detail]; c.Reason == ken.CutDuplicate && other.ID != "" {
				item.Detail = "as " + other.Label + " says"
			}
			if i < firstCuts {
				g.First = append(g.First, item)
			} else {
				g.Rest = append(g.Rest, item)
			}
		}
		out = append(out, g)
	}
	return out
}

// labelled are a few words for a text: its heading, or how it begins.
func labelled(heading, text string) string {
	const most = 120
	s := heading
	if s == "" {
		s = text[:min(len(text), 8*most)]
	}
	words := strings.Fields(strings.ToValidUTF8(s, ""))
	s = strings.Join(words, " ")
	if r := []rune(s); len(r) > most {
		s = string(r[:most-1]) + "…"
	}
	return s
}

// blockSide is one of two blocks that are compared.
type blockSide struct {
	Receipt *ken.Receipt
	Items   []shownItem
	Parts   map[string]string // what the block says of each item, by its id
}

// sideOf reads a block. missing are the ids of items that are not in it, because nobody
// knows their words any more.
func sideOf(p *picture, block string, missing []string) blockSide {
	gone := map[string]bool{}
	for _, id := range missing {
		gone[id] = true
	}
	var ids []string
	for i := range p.Items {
		if id := p.Items[i].ID; !gone[id] {
			ids = append(ids, id)
		}
	}
	return blockSide{p.Receipt, p.Items, partsOf(block, ids)}
}

// partsOf cuts a block into what it says of each item, without the short ids, which say
// nothing of it. It is nil for a block with other items than those.
func partsOf(block string, ids []string) map[string]string {
	block = strings.TrimSuffix(block, guardrail.FrameClose)
	parts := strings.Split(block, "\n"+guardrail.ItemMark)[1:] // in an item no other line begins so
	if len(parts) != len(ids) {
		return nil
	}
	out := make(map[string]string, len(ids))
	for i, part := range parts {
		_, says, _ := strings.Cut(part, "] ")
		out[ids[i]] = strings.TrimRight(says, "\n")
	}
	return out
}

// What became of an item from one block to another.
const (
	itemSame    = "unchanged"
	itemChanged = "other words"
	itemGone    = "gone"
	itemNew     = "new"
	itemBoth    = "in both" // and nobody knows what it said
)

// comparedItem is an item of one of two blocks, or of both.
type comparedItem struct {
	Op, Tone, ID, Label, Path string
	Was, Is                   int // its places, from 1; 0 where it is not
	Pieces                    []diff.Piece
	Text                      string // of an item that is in one of them alone
	Why                       string // it is gone, or was not there
}

// blockComparison is two blocks, item by item.
type blockComparison struct {
	Different                []comparedItem // those of the first in its order, then the new ones
	Alike                    []comparedItem // and those of which nothing is known to differ
	Same, Changed, Gone, New int
}

// compareBlocks says what became of the items of a block. lost says what happened to one
// that is gone, "" for what the second receipt knows of it.
func compareBlocks(before, after blockSide, lost func(*shownItem) string) blockComparison {
	var out blockComparison
	was := map[string]bool{}
	is := map[string]*shownItem{}
	for i := range after.Items {
		is[after.Items[i].ID] = &after.Items[i]
	}
	for i := range before.Items {
		it := &before.Items[i]
		was[it.ID] = true
		c := comparedItem{ID: it.ID, Label: it.Label, Path: it.Path, Was: it.Place}
		now := is[it.ID]
		then, known := before.Parts[it.ID]
		switch {
		case now == nil:
			c.Op, c.Tone, c.Text = itemGone, "danger", then
			if c.Why = lost(it); c.Why == "" {
				c.Why = leftOut(after.Receipt, it.ID)
			}
			out.Gone++
		case !known:
			c.Op, c.Label, c.Is = itemBoth, now.Label, now.Place
		case then == after.Parts[it.ID]:
			c.Op, c.Is = itemSame, now.Place
			out.Same++
		default:
			c.Op, c.Tone, c.Is = itemChanged, "warning", now.Place
			c.Pieces = diff.Words(then, after.Parts[it.ID])
			out.Changed++
		}
		if c.Op == itemSame || c.Op == itemBoth {
			out.Alike = append(out.Alike, c)
		} else {
			out.Different = append(out.Different, c)
		}
	}
	for i := range after.Items {
		if it := &after.Items[i]; !was[it.ID] {
			out.New++
			out.Different = append(out.Different, comparedItem{Op: itemNew, Tone: "success", ID: it.ID, Label: it.Label, Path: it.Path, Is: it.Place,
				Text: after.Parts[it.ID], Why: leftOut(before.Receipt, it.ID)})
		}
	}
	return out
}

// leftOut says why a turn did not have something, as far as its receipt knows.
func leftOut(r *ken.Receipt, id string) string {
	for _, c := range r.Cut {
		if c.ID != id {
			continue
		}
		for _, w := range cutWords {
			if w.reason == c.Reason {
				return w.says + " (" + string(c.Reason) + ")"
			}
		}
		return string(c.Reason)
	}
	if r.Mode == ken.ModeNone {
		return "nothing was looked for"
	}
	return "not among what was found"
}
