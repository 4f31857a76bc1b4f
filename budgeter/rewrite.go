package budgeter

import (
	"math"
	"slices"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

// Kept is an item of a block that was written before, and what is known of its words.
type Kept struct {
	// Item is as Compose returned it, if need be without Key, Source, Heading and Text.
	Item ken.Item
	// Claim is what Item was made of, as it was then; nil for what is no claim, whose
	// Item has Source and Heading.
	Claim *ken.Claim
	// Texts are what Item's text may have been, the likeliest first.
	Texts []string
}

// Rewritten is a block that was written again.
type Rewritten struct {
	Text    string // the proved one, else the likeliest; without the items in Missing
	Proved  bool
	Missing []int // indexes of the items of which no text is known that has the length it had
}

// maxTries bounds how many blocks Rewrite writes to find one that is proved.
const maxTries = 256

// Rewrite writes a block again from what a receipt says of it: it chooses nothing. What
// a receipt does not say, as how far a constraint was compressed, or how many letters
// stand for an id, is told by the number of characters that each item took and the whole
// block, chars. overflowed is the block's OverflowedConstraints. Where that leaves
// several, proves says which it was. Of o it takes MaxItemChars, PlaybookChars and Show.
func Rewrite(items []Kept, overflowed, chars int, o Options, proves func(block string) bool) Rewritten {
	o = o.withDefaults()
	var out Rewritten
	var ways [][]string // the texts of each item that may be it, headers included
	sum := utf8.RuneCountInString(preamble) + utf8.RuneCountInString(closing)
	for i := range items {
		sum += items[i].Item.Chars
		if w := items[i].ways(&o); len(w) > 0 {
			ways = append(ways, w)
		} else {
			out.Missing = append(out.Missing, i)
		}
	}
	warning := ""
	if overflowed > 0 && sum < chars {
		warning = overflowLine(overflowed)
	}
	if chars == 0 || len(ways) == 0 && warning == "" {
		return out
	}
	at, texts := make([]int, len(ways)), make([]string, len(ways))
	for try := 0; try < maxTries; try++ {
		for i := range ways {
			texts[i] = ways[i][at[i]]
		}
		block := framed(warning, texts)
		if try == 0 {
			out.Text = block
		}
		if proves(block) {
			out.Text, out.Proved = block, true
			break
		}
		if !next(at, ways) {
			break
		}
	}
	return out
}

// next counts on to another choice of ways, false after the last one.
func next(at []int, ways [][]string) bool {
	for i := range at {
		if at[i]++; at[i] < len(ways[i]) {
			return true
		}
		at[i] = 0
	}
	return false
}

// ways are the texts that an item may have had in its block, the likeliest first: what
// was seen and comes of the claim as well, what was seen, what comes of the claim.
func (k *Kept) ways(o *Options) []string {
	item, session := k.Item, ""
	if k.Claim != nil {
		complete(&item, k.Claim)
		session = k.Claim.Session
	}
	e := entry{item: item, memory: item.Memory}
	var made []string
	if e.show(o, session, math.MaxInt32); e.item.Text != "" {
		e.clean()
		made = e.levels(made)
		if item.Memory && item.Kind == ken.KindPlaybook { // see try: it may have been cleaned before it was found too long
			for _, of := range []ken.Item{e.item, item} {
				short := e
				short.item.Text = pointer(&of, o.Show)
				made = short.levels(made)
			}
		}
	}
	e.clean()
	var seen []string
	for _, text := range k.Texts {
		seen = e.as(text, seen)
	}
	var out []string
	for _, w := range seen {
		if slices.Contains(made, w) {
			out = append(out, w)
		}
	}
	for _, w := range slices.Concat(seen, made) {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// levels adds the item in all its lengths, as far as one is that of the item.
func (e entry) levels(out []string) []string {
	most := 0
	if e.item.Constraint || e.item.Fallen != "" {
		most = maxLevel
	}
	for level := 0; level <= most; level++ {
		out = e.fits(level, out)
	}
	return out
}

// as adds the item with a text that it had, under each header that compressing leaves.
func (e entry) as(text string, out []string) []string {
	e.item.Text = text
	out = e.fits(0, out)
	if e.item.Constraint || e.item.Fallen != "" {
		e.item.Heading = ""
		out = e.fits(0, out)
		e.item.Source = ""
		out = e.fits(0, out)
	}
	return out
}

// fits adds the item at a level, if with a short id of some size it has as many
// characters as it had.
func (e entry) fits(level int, out []string) []string {
	for _, size := range shortSizes {
		e.short = tail(ending(&e.item), size)
		if p := e.piece(level); p.item.Chars == e.item.Chars && !slices.Contains(out, p.text) {
			return append(out, p.text)
		}
	}
	return out
}
