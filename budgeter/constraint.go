package budgeter

import "github.com/kenlayer/ken"

// compressed is a constraint in all its lengths; those not needed yet are empty.
type compressed struct {
	index  int32
	entry  entry
	pieces [maxLevel + 1]piece
	level  int
}

func (c *composer) at(k *compressed, level int) *piece {
	p := &k.pieces[level]
	if p.text == "" {
		*p = k.entry.piece(level)
		p.tokens = c.count(p.text)
	}
	return p
}

// addConstraints takes all constraints, compressed as far as it takes to make
// them fit, and as many as possible if nothing makes all of them fit.
func (c *composer) addConstraints(order []int32) {
	var list []*compressed
	for _, i := range order {
		e, ok := c.load(i, false, c.room)
		if !ok {
			if last := c.block.Cut[len(c.block.Cut)-1]; last.Reason != ken.CutStatus { // else it is no rule any more
				c.block.OverflowedConstraints++
			}
			continue
		}
		e.clean()
		k := &compressed{index: i, entry: e}
		if p := c.at(k, 0); c.fresh(i, p, c.said.read(&p.item)) {
			c.said.add(p.item.ID)
			list = append(list, k)
		}
	}
	if c.block.OverflowedConstraints > 0 {
		c.warnOf(len(order))
	}
	if len(list) == 0 {
		return
	}
	level, chars, tokens := c.commonLevel(list)
	if level > maxLevel {
		list = c.overflow(list)
		level, chars, tokens = maxLevel, c.room, c.tokens
	}
	for _, k := range list {
		k.level = level
	}
	c.restore(list, c.room-chars, c.tokens-tokens)
	for _, k := range list {
		p := c.at(k, k.level)
		if k.level > 0 && c.o.Seen != nil && c.o.Seen(p.item.ID, p.item.Text) {
			c.cut(k.index, ken.CutDuplicate, "in the context already")
			continue
		}
		c.take(p, &c.room)
	}
}

// commonLevel returns the lowest level at which the whole list fits, with what it
// takes then; beyond maxLevel there is none.
func (c *composer) commonLevel(list []*compressed) (level, chars, tokens int) {
	for level = 0; level <= maxLevel; level++ {
		chars, tokens = 0, 0
		for _, k := range list {
			p := c.at(k, level)
			chars += p.item.Chars
			tokens += p.tokens
		}
		if c.has(chars, tokens) {
			break
		}
	}
	return level, chars, tokens
}

func (c *composer) has(chars, tokens int) bool {
	return chars <= c.room && (c.o.Tokens <= 0 || tokens <= c.tokens)
}

// restore gives what room is left back to the strongest constraints.
func (c *composer) restore(list []*compressed, chars, tokens int) {
	for _, k := range list {
		now := c.at(k, k.level)
		for level := range k.level {
			p := c.at(k, level)
			dc, dt := p.item.Chars-now.item.Chars, p.tokens-now.tokens
			if dc <= chars && (c.o.Tokens <= 0 || dt <= tokens) {
				k.level, chars, tokens = level, chars-dc, tokens-dt
				break
			}
		}
	}
}

// warnOf makes room for the line that says that up to n constraints are missing, if
// there is so much.
func (c *composer) warnOf(n int) {
	if c.warn {
		return
	}
	warning := overflowLine(n)
	if c.warn = len(warning) <= c.room; c.warn {
		c.room -= len(warning)
		c.tokens -= c.count(warning)
	}
}

// overflow cuts the constraints that do not fit even at maxLevel, makes room for
// the line that says so, and returns the others.
func (c *composer) overflow(list []*compressed) []*compressed {
	c.warnOf(c.block.OverflowedConstraints + len(list)) // as long as the line gets
	kept := list[:0]
	chars, tokens := 0, 0
	for _, k := range list {
		p := c.at(k, maxLevel)
		if !c.has(chars+p.item.Chars, tokens+p.tokens) {
			c.cut(k.index, ken.CutBudget, "does not fit even compressed")
			c.block.OverflowedConstraints++
			continue
		}
		chars, tokens = chars+p.item.Chars, tokens+p.tokens
		kept = append(kept, k)
	}
	if !c.warn {
		c.room = chars // without the warning, nothing weaker takes the room
	}
	return kept
}
