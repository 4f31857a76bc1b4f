package budgeter

import "github.com/kenlayer/ken"

// compressed holds a constraint in all its lengths. Those that are not needed yet are empty.
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

// ruleShare is the part of the room that constraints may take if they don't all fit. The rest is
// for other relevant items.
const ruleShare = 2.0 / 3

// addConstraints takes all constraints, compressed as much as necessary. If they don't fit even
// then, it takes the nearest and strongest, within ruleShare of the room if there are other items.
func (c *composer) addConstraints(order []int32, others bool) {
	var list []*compressed
	for _, i := range order {
		e, ok := c.load(i, false, c.room)
		if !ok {
			if last := c.block.Cut[len(c.block.Cut)-1]; last.Reason != ken.CutStatus { // otherwise it is no longer a rule
				c.block.OverflowedConstraints++
			}
			continue
		}
		e.clean()
		k := &compressed{index: i, entry: e}
		p := c.at(k, 0)
		bare := p.item // a rule with the same text is a duplicate, whatever its heading
		bare.Heading = ""
		if c.fresh(i, p, c.shown.read(&bare)) {
			c.shown.add(p.item.ID)
			list = append(list, k)
		}
	}
	if c.block.OverflowedConstraints > 0 {
		c.reserveWarning(len(order))
	}
	if len(list) == 0 {
		return
	}
	fits, chars, tokens := c.compress(list)
	if !fits {
		list, chars, tokens = c.overflow(list, others)
	}
	c.restore(list, c.room-chars, c.tokens-tokens)
	for _, k := range list {
		p := c.at(k, k.level)
		if k.level > 0 && p.item.NewStatus == "" && c.o.Seen != nil && c.o.Seen(p.item.ID, p.item.Text) {
			c.cut(k.index, ken.CutDuplicate, "in the context already")
			continue
		}
		c.take(p, &c.room)
	}
}

// compress sets the lowest levels at which the whole list fits, and returns the size. Verified
// constraints keep their full text as long as that is possible.
func (c *composer) compress(list []*compressed) (fits bool, chars, tokens int) {
	for _, verified := range []int{wholeLevel, maxLevel} {
		for level := 0; level <= maxLevel; level++ {
			chars, tokens = 0, 0
			for _, k := range list {
				if k.level = level; k.entry.item.Tier == ken.Verified {
					k.level = min(level, verified)
				}
				p := c.at(k, k.level)
				chars += p.item.Chars
				tokens += p.tokens
			}
			if c.has(chars, tokens) {
				return true, chars, tokens
			}
		}
	}
	return false, chars, tokens
}

func (c *composer) has(chars, tokens int) bool {
	return chars <= c.room && (c.o.Tokens <= 0 || tokens <= c.tokens)
}

// restore uses the remaining room to raise the strongest constraints to lower levels of
// compression.
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

// reserveWarning reserves room for the line about up to n missing constraints, if there is enough.
func (c *composer) reserveWarning(n int) {
	if c.warn {
		return
	}
	warning := overflowLine(n)
	if c.warn = len(warning) <= c.room; c.warn {
		c.room -= len(warning)
		c.tokens -= c.count(warning)
	}
}

// overflow cuts the constraints that do not fit and reserves room for the line about them. It
// returns the others and their size. Verified ones keep their full text if it fits, and others only
// their first sentence.
func (c *composer) overflow(list []*compressed, others bool) (kept []*compressed, chars, tokens int) {
	c.reserveWarning(c.block.OverflowedConstraints + len(list)) // for the longest possible line
	room, share := c.room, c.tokens
	if others {
		room, share = int(float64(room)*ruleShare), int(float64(share)*ruleShare)
	}
	fits := func(p *piece) bool {
		return chars+p.item.Chars <= room && (c.o.Tokens <= 0 || tokens+p.tokens <= share)
	}
	kept = list[:0]
	for _, k := range list {
		k.level = maxLevel
		if k.entry.item.Tier == ken.Verified && fits(c.at(k, wholeLevel)) {
			k.level = wholeLevel
		}
		p := c.at(k, k.level)
		if !fits(p) {
			c.cut(k.index, ken.CutBudget, "does not fit beside nearer and stronger constraints")
			c.block.OverflowedConstraints++
			continue
		}
		chars, tokens = chars+p.item.Chars, tokens+p.tokens
		kept = append(kept, k)
	}
	if !c.warn {
		c.room = chars // without the warning, no weaker item may take the room
	}
	return kept, chars, tokens
}
