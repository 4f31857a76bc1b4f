package budgeter

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/itemid"
)

const ellipsis = " …"

// excerpt returns text, or its beginning with an ellipsis if it is longer than most code points. It
// ends at the end of a line or sentence if that keeps at least half, otherwise at the end of a
// word, otherwise anywhere.
func excerpt(text string, most int) string {
	if len(text) <= most || utf8.RuneCountInString(text) <= most {
		return text
	}
	room := max(0, most-utf8.RuneCountInString(ellipsis))
	end := 0
	for range room {
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

// lastBorder returns the end of the last line or sentence in cut. rest is the text after cut.
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

// endsSentence reports whether a sentence ends at the end of head. A full stop before a lower-case
// letter belongs to an abbreviation.
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

// Levels of compression. Up to wholeLevel the text is complete. At maxLevel nothing more can be
// removed. Sentences are never cut, because half a rule is a different rule.
const (
	wholeLevel = 3
	maxLevel   = 5
)

// compress shortens the entry. Each level includes the previous ones.
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

// Kept is an item of an earlier block, with what is known about its text.
type Kept struct {
	// Item is the item that Compose returned. Key, Source, Heading and Text may be missing.
	Item ken.Item
	// Claim is the claim behind Item at the time of the block. It is nil for an item that is not a
	// claim; such an item has Source and Heading.
	Claim *ken.Claim
	// Texts are possible texts of Item, the most likely first.
	Texts []string
}

// Rewritten is a reconstructed block.
type Rewritten struct {
	Text    string // the proved text, otherwise the most likely one; without the items in Missing
	Proved  bool
	Missing []int // indexes of the items for which no known text has the right length
}

// maxTries is the maximum number of blocks that Rewrite writes to find the proved one.
const maxTries = 256

// Rewrite reconstructs a block from its receipt. It selects nothing. A receipt does not say how
// much a constraint was compressed, or how long its short id was; these follow from the number of
// characters of each item and of the whole block, chars. overflowed is the block's
// OverflowedConstraints. If several texts are possible, proves reports which one is right. Rewrite
// uses MaxItemChars, PlaybookChars and Show of o.
func Rewrite(items []Kept, overflowed, chars int, o Options, proves func(block string) bool) Rewritten {
	o = o.withDefaults()
	var out Rewritten
	var variants [][]string // the possible texts of each item, headers included
	sum := utf8.RuneCountInString(preamble) + utf8.RuneCountInString(closing)
	for i := range items {
		sum += items[i].Item.Chars
		if w := items[i].variants(&o); len(w) > 0 {
			variants = append(variants, w)
		} else {
			out.Missing = append(out.Missing, i)
		}
	}
	warning := ""
	if overflowed > 0 && sum < chars {
		warning = overflowLine(overflowed)
	}
	if chars == 0 || len(variants) == 0 && warning == "" {
		return out
	}
	at, texts := make([]int, len(variants)), make([]string, len(variants))
	for try := range maxTries {
		for i := range variants {
			texts[i] = variants[i][at[i]]
		}
		block := framed(warning, texts)
		if try == 0 {
			out.Text = block
		}
		if proves(block) {
			out.Text, out.Proved = block, true
			break
		}
		if !next(at, variants) {
			break
		}
	}
	return out
}

// next advances at to the next combination of variants; false after the last one.
func next(at []int, variants [][]string) bool {
	for i := range at {
		if at[i]++; at[i] < len(variants[i]) {
			return true
		}
		at[i] = 0
	}
	return false
}

// variants returns the texts that an item may have had in its block, the most likely first: those that
// are both in Texts and made from the claim, then the other Texts, then the others made from the
// claim.
func (k *Kept) variants(o *Options) []string {
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
		if item.Memory && item.Kind == ken.KindPlaybook { // see try: it may have been cleaned before it was found to be too long
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

// levels appends the item at each level of compression, if the length matches.
func (e entry) levels(out []string) []string {
	most := 0
	if e.item.Constraint || e.item.NewStatus != "" {
		most = maxLevel
	}
	for level := 0; level <= most; level++ {
		out = e.fits(level, out)
	}
	return out
}

// as appends the item with a text that it had, with each header that compression may leave.
func (e entry) as(text string, out []string) []string {
	e.item.Text = text
	out = e.fits(0, out)
	if e.item.Constraint || e.item.NewStatus != "" {
		e.item.Heading = ""
		out = e.fits(0, out)
		e.item.Source = ""
		out = e.fits(0, out)
	}
	return out
}

// fits appends the item at a level if, with a short id of some size, it has the right number of
// characters.
func (e entry) fits(level int, out []string) []string {
	for _, size := range shortSizes {
		e.short = tail(itemid.Ending(e.item.ID, e.item.Kind), size)
		if p := e.piece(level); p.item.Chars == e.item.Chars && !slices.Contains(out, p.text) {
			return append(out, p.text)
		}
	}
	return out
}
