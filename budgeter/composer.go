package budgeter

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

// composer is the state of one Compose.
type composer struct {
	ctx        context.Context
	o          Options
	candidates []Candidate
	short      []string

	room       int      // code points left for everything but memory
	memoryRoom int      // code points left for memory
	tokens     int      // left for the whole block, where there is a limit
	texts      []string // of block.Items, headers included
	said       said
	warn       bool // there is room for the line about constraints that did not fit
	block      Block
}

// piece is an item as it would stand in the block.
type piece struct {
	item   ken.Item
	text   string // header included
	tokens int
}

// measure sets out the room that the frame leaves.
func (c *composer) measure() {
	c.room = c.o.Chars - len(preamble) - len(closing)
	c.memoryRoom = c.o.MemoryChars
	c.tokens = c.o.Tokens - c.count(preamble) - c.count(closing)
	if c.room < 0 { // not even the frame
		c.memoryRoom = 0
	}
}

// count counts tokens where there is a limit, and returns 0 where there is none.
func (c *composer) count(s string) int {
	switch {
	case c.o.Tokens <= 0:
		return 0
	case c.o.Count == nil:
		return len(s)
	}
	return c.o.Count(s)
}

// leastPart is less than any item takes: the header's fixed fields and a character.
const leastPart = len("\n[k:1] Guessed | undated\nx\n")

// add takes the candidates that fit, in order.
func (c *composer) add(order []int32, room *int) {
	for _, i := range order {
		if c.candidates[i].Item.Tier < c.o.MinTier {
			c.cut(i, ken.CutTier, "")
			continue
		}
		if *room < leastPart {
			c.cut(i, ken.CutBudget, "no room left")
			continue
		}
		e, ok := c.load(i)
		if !ok {
			continue
		}
		if len(e.item.Text) > *room {
			if n := utf8.RuneCountInString(e.item.Text); n > *room {
				c.cutSize(i, n, *room, " characters, ")
				continue
			}
		}
		e.clean()
		p := e.piece(0)
		if p.item.Chars > *room {
			c.cutSize(i, p.item.Chars, *room, " characters, ")
			continue
		}
		if !c.fresh(i, &p) {
			continue
		}
		if c.o.Tokens > 0 {
			if p.tokens = c.count(p.text); p.tokens > c.tokens {
				c.cutSize(i, p.tokens, c.tokens, " tokens, ")
				continue
			}
		}
		c.said.add(p.item.ID)
		c.take(&p, room)
	}
}

func (c *composer) take(p *piece, room *int) {
	*room -= p.item.Chars
	c.tokens -= p.tokens
	c.block.Items = append(c.block.Items, p.item)
	c.texts = append(c.texts, p.text)
}

// fresh reports whether the block and the context lack the item, and cuts it
// otherwise. Who takes it tells c.said.
func (c *composer) fresh(i int32, p *piece) bool {
	if other, dup := c.said.already(&p.item); dup {
		c.cut(i, ken.CutDuplicate, other)
		return false
	}
	if c.o.Seen != nil && c.o.Seen(p.item.ID, p.item.Text) {
		c.cut(i, ken.CutDuplicate, "in the context already")
		return false
	}
	return true
}

func (c *composer) cut(i int32, why ken.CutReason, detail string) {
	if c.block.Cut == nil {
		c.block.Cut = make([]ken.Cut, 0, len(c.candidates))
	}
	c.block.Cut = append(c.block.Cut, ken.Cut{ID: c.candidates[i].Item.ID, Reason: why, Detail: detail})
}

func (c *composer) cutSize(i int32, need, left int, unit string) {
	c.cut(i, ken.CutBudget, strconv.Itoa(need)+unit+strconv.Itoa(left)+" left")
}

// load completes a candidate, with the text that it has room for.
func (c *composer) load(i int32) (entry, bool) {
	cand := &c.candidates[i]
	item := cand.Item
	if cand.Load != nil {
		claim, err := ken.Claim{}, c.ctx.Err()
		if err == nil {
			claim, err = cand.Load(c.ctx)
		}
		if err != nil {
			why := ken.CutLate
			if errors.Is(err, ken.ErrNotFound) {
				why = ken.CutStatus
			}
			c.cut(i, why, "load: "+err.Error())
			return entry{}, false
		}
		complete(&item, &claim)
	}
	if item.Text = body(item.Text, c.o.MaxItemChars); item.Text == "" {
		c.cut(i, ken.CutFloor, "no text to show")
		return entry{}, false
	}
	return entry{item: item, short: c.short[i], memory: cand.Memory && !item.Constraint}, true
}

// finish writes the block.
func (c *composer) finish() Block {
	b := &c.block
	b.Text = c.write()
	// Tokens were added up part by part. Should the whole come to more, which
	// tokenizers hardly ever do, the last items make room.
	for c.o.Tokens > 0 && c.count(b.Text) > c.o.Tokens {
		last := len(b.Items) - 1
		if last < 0 {
			b.Text = ""
			break
		}
		item := &b.Items[last]
		b.Cut = append(b.Cut, ken.Cut{ID: item.ID, Reason: ken.CutBudget, Detail: "the whole block had too many tokens"})
		if item.Constraint {
			b.OverflowedConstraints++
			c.room += item.Chars
			c.warn = c.warn || c.room >= len(overflowLine(b.OverflowedConstraints))
		}
		b.Items, c.texts = b.Items[:last], c.texts[:last]
		b.Text = c.write()
	}
	if b.Text != "" && c.o.Count != nil {
		b.Tokens = c.o.Count(b.Text)
	}
	b.Chars = utf8.RuneCountInString(b.Text)
	return *b
}

func (c *composer) write() string {
	if len(c.texts) == 0 && !c.warn {
		return ""
	}
	size := len(preamble) + len(closing) + 80
	for _, t := range c.texts {
		size += len(t)
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString(preamble)
	if c.warn {
		b.WriteString(overflowLine(c.block.OverflowedConstraints))
	}
	for _, t := range c.texts {
		b.WriteString(t)
	}
	b.WriteString(closing)
	return b.String()
}
