package reading

import (
	"cmp"
	"strings"
)

// Alias is a pair of names for one thing, as a text gives them.
type Alias struct {
	Name  string // the thing's name in the text, in the form of analysis.Entity
	Other string // another name for it, in the same form
}

// maxAliases bounds the aliases of one text.
const maxAliases = 4

// aliases returns the pairs of names in phrases such as "the ledger, also called
// bookkeeper", "bookkeeper aka the ledger" and "continuous delivery service (CDS)".
func (r *reader) aliases() (out []Alias) {
	if r.external || r.voice == person || !r.mayRegulate() {
		return nil
	}
	add := func(name, other string) {
		if len(out) < maxAliases && name != "" && other != "" && name != other && !Common(name) && !Common(other) && name != "user" && other != "user" && (Product(name) == "" || Product(name) != Product(other)) {
			out = append(out, Alias{name, other})
		}
	}
	for from, to := range r.statements() {
		for i := from + 1; i < to; i++ {
			if r.words[i].quoted && r.words[i].code {
				continue
			}
			if before, after, swap := r.aliasCue(from, i, to); after > 0 {
				name := r.nameBefore(from, before)
				other := cmp.Or(r.spelledOut(name, after, to), r.nameAfter(after, to))
				if swap {
					name, other = other, name
				}
				add(name, other)
			}
			if r.text[r.words[i].start-1] == '(' { // "continuous delivery service (CDS)"
				name, end := r.nameBefore(from, i), i+1
				for end < to && end < i+4 && !r.words[end].broken && r.words[end-1].stop == 0 {
					end++
				}
				if other := r.join(i, end); abbreviates(other, name) || abbreviates(name, other) {
					add(name, other)
				}
			}
		}
	}
	return out
}

// aliasCue reports whether the words at i join two names. The first name ends before
// word before, and the other begins at word after. after is 0 if there are no such
// words. swap is true if the second is the thing's own name.
func (r *reader) aliasCue(from, i, to int) (before, after int, swap bool) {
	switch r.words[i].low {
	case "aka", "a.k.a", "alias":
		return i, i + 1, false
	case "called", "named":
		if b := r.alsoBefore(from, i); b > 0 {
			return b, i + 1, false
		}
	case "known":
		if b := r.alsoBefore(from, i); b > 0 && r.is(i+1, "as") {
			return b, i + 2, false
		}
	case "formerly", "previously":
		if !r.is(i+1, "called", "known", "named") && r.words[i].broken && i+1 < to && !r.words[i+1].entry.is(function|past|finite|verb) {
			return i, i + 1, false
		}
	case "short", "shorthand":
		if r.is(i+1, "for") && r.is(i-1, "is") {
			return i - 1, i + 2, true
		}
	case "stands":
		if r.is(i+1, "for") {
			return i, i + 2, true
		}
	case "name":
		b := i - 2
		if r.is(b, "the") {
			b--
		}
		if r.is(i-1, "another", "nickname", "old", "other") && r.is(b, "is") && r.is(i+1, "for", "of") {
			return b, i + 2, true
		}
	case "call", "calls", "say", "says":
		if b := r.beforeWeCall(from, i); b > 0 {
			return b, i + 1, false
		}
	case "genannt": // "das Hauptbuch, auch Ledger genannt"
		for b := i - 2; b > from && b >= i-4; b-- {
			if r.words[b].low == "auch" {
				return b, b + 1, false
			}
		}
	}
	return 0, 0, false
}

// alsoBefore returns the start of "which is also", "formerly" or a similar phrase before "called" at i; 0 if there is none.
func (r *reader) alsoBefore(from, i int) int {
	for b := i - 1; b > from && b >= i-3; b-- {
		if r.is(b, "also", "sometimes", "otherwise", "internally", "formerly", "previously") {
			for r.is(b-1, "is", "was", "which", "and") {
				b--
			}
			return b
		}
	}
	return 0
}

// beforeWeCall returns the start of ", which we call" or "(we call" before "call" at i; 0 if there is neither.
func (r *reader) beforeWeCall(from, i int) int {
	for b := i - 1; b > from && b >= i-8; b-- {
		if r.words[b].low == "which" && r.words[b].broken || b == i-1 && r.words[b].entry.is(plural) && r.text[r.words[b].start-1] == '(' {
			return b
		}
	}
	return 0
}

// nameBefore returns the name that ends before word i.
func (r *reader) nameBefore(from, i int) string {
	if i <= from {
		return ""
	}
	if f := r.at(i - 1); f != nil {
		return f.Name
	}
	s := r.span(from, i)
	if s.to == 0 || s.from >= s.to {
		return ""
	}
	name := r.join(s.from, s.to)
	return cmp.Or(headless(name), name)
}

// nameAfter returns the name that begins at word i, after its article.
func (r *reader) nameAfter(i, to int) string {
	for i < to && (r.words[i].entry.is(determiner) || r.words[i].low == "it" || r.words[i].low == "simply" || r.words[i].low == "just") {
		i++
	}
	if i >= to {
		return ""
	}
	if f := r.at(i); f != nil {
		return f.Name
	}
	end := i
	for end < to && end < i+3 && (end == i || !r.words[end].broken) && !r.words[end].entry.is(function|finite|past) && r.words[end].name != "" && r.words[end].low != "genannt" {
		if end++; r.words[end-1].stop != 0 {
			break
		}
	}
	if end == i {
		return ""
	}
	name := r.join(i, end)
	if isQuantity(name) {
		return ""
	}
	return cmp.Or(headless(name), name)
}

// spelledOut returns the words from word i on, after an article, that short abbreviates; "" if it
// does not abbreviate them.
func (r *reader) spelledOut(short string, i, to int) string {
	for i < to && r.words[i].entry.is(determiner) {
		i++
	}
	if end := i + len(short); end <= to {
		if long := r.join(i, end); abbreviates(short, long) {
			return long
		}
	}
	return ""
}

// abbreviates reports whether short consists of the first letters of long's words.
func abbreviates(short, long string) bool {
	words := strings.Fields(long)
	if len(words) < 2 || len(words) != len(short) {
		return false
	}
	for i, w := range words {
		if w[0] != short[i] {
			return false
		}
	}
	return true
}
