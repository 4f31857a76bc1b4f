package budgeter

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

const ellipsis = " …"

// excerpt returns text, or as much of its start as fits into so many code points
// with an ellipsis: up to the end of a line or a sentence when that keeps at least
// half, else up to the end of a word, else as it comes.
func excerpt(text string, most int) string {
	if len(text) <= most || utf8.RuneCountInString(text) <= most {
		return text
	}
	room := max(0, most-utf8.RuneCountInString(ellipsis))
	end := 0
	for n := 0; n < room; n++ {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	cut := text[:end]
	if at := lastBorder(cut, text[end:]); at >= len(cut)/2 {
		cut = cut[:at]
	} else if at := strings.LastIndexFunc(cut, unicode.IsSpace); at >= len(cut)/2 {
		cut = cut[:at]
	}
	return strings.TrimRightFunc(cut, unicode.IsSpace) + ellipsis
}

// lastBorder returns the end of the last line or sentence in cut, which rest follows.
func lastBorder(cut, rest string) int {
	if strings.HasPrefix(rest, "\n") || endsSentence(cut, rest) {
		return len(cut)
	}
	for end := len(cut); end > 0; {
		r, size := utf8.DecodeLastRuneInString(cut[:end])
		if r == '\n' {
			return end - size
		}
		if end < len(cut) && endsSentence(cut[:end], cut[end:]) {
			return end
		}
		end -= size
	}
	return 0
}

// endsSentence reports whether a sentence ends where head ends. A stop that a
// lower-case letter follows belongs to an abbreviation.
func endsSentence(head, rest string) bool {
	r, _ := utf8.DecodeLastRuneInString(head)
	switch r {
	case '。', '！', '？', '।':
		return true
	case '.', '!', '?':
		after := strings.TrimLeft(rest, " \n\t")
		if after == "" || len(after) == len(rest) {
			return after == ""
		}
		first, _ := utf8.DecodeRuneInString(after)
		return !unicode.IsLower(first)
	}
	return false
}

// sentences returns the first n sentences of text, with an ellipsis if there are more.
func sentences(text string, n int) string {
	for i, r := range text {
		end := i + utf8.RuneLen(r)
		if endsSentence(text[:end], text[end:]) || r == '\n' {
			if n--; n == 0 {
				if strings.TrimSpace(text[end:]) == "" {
					return text
				}
				return strings.TrimSpace(text[:end]) + ellipsis
			}
		}
	}
	return text
}

// Levels of compression: at wholeLevel the text is whole, and at maxLevel nothing more
// can be taken from an item. A sentence is never cut: half a rule is another rule.
const (
	wholeLevel = 3
	maxLevel   = 5
)

// compress shortens the entry. Each level includes the ones before it.
func (e *entry) compress(level int) {
	it := &e.item
	if level >= 1 {
		it.Text = squeeze(it.Text)
	}
	if level >= 2 {
		it.Heading = ""
	}
	if level >= wholeLevel {
		it.Source = ""
	}
	switch {
	case level >= maxLevel:
		it.Text = sentences(it.Text, 1)
	case level > wholeLevel:
		it.Text = sentences(it.Text, 2)
	}
}

// Kept is an item of a block that was written before, and what is known of its words.
type Kept struct {
	// Item is as Compose returned it, if need be without Key, Source, Heading and Text.
	Item ken.Item
	// Claim is the claim behind Item, as it was then. It is nil for an item that is no
	// claim; such an item has Source and Heading.
	Claim *ken.Claim
	// Texts are the possible texts of Item, the likeliest first.
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
