package console

import (
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/console/diff"
)

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
