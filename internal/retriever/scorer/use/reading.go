package use

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
)

// Owners of a term, other than the index of an item.
const (
	shared  = -1 // several items have the term
	context = -2 // the conversation or a tool result has the term
)

// neighbours are adjacent terms of an item.
type neighbours struct{ item, a, b int32 }

// term is a term that occurs in an item.
type term struct {
	owner  int32 // the index of an item, shared or context
	was    int32 // owner before other texts were read
	weight float64
	taken  int32 // number of times an answer used it while it had this owner
}

// reading records where each term can come from, and which terms an answer took from each item.
type reading struct {
	at     map[string]int32 // index in terms, by term
	terms  []term
	joined map[neighbours]bool // true after an answer had them side by side too
	reuses []reuse
	own    []float64 // by item, the weight of the terms that only it has; see tally
	names  names
	tokens []analysis.Token
}

// reuse is what an answer took from an item.
type reuse struct {
	weight  float64
	firm    float64 // the part of weight from identifiers, numbers and neighbours
	salient bool    // a term among them is more than a common word
}

// Weights of terms, which estimate how rare a term is. There is no corpus to count in, so the form
// of a term decides (an inverse document frequency by class, after K. Spärck Jones, A statistical
// interpretation of term specificity, 1972). The weights and the thresholds of repeats were tuned
// on the labelled cases in the tests.
const (
	weighIdentifier = 2.0 // identifiers, paths, versions, times, numbers of three digits and more
	weighNumber     = 1.1 // shorter numbers
	weighName       = 1.4 // capitalized words within a sentence
	weighCompound   = 1.4 // words with a hyphen
	weighLong       = 0.9 // words of at least eight letters
	weighWord       = 0.6 // words of at least five letters
	weighShort      = 0.3
	weighTogether   = 0.9 // two adjacent terms, in addition
)

func newReading(items []ken.Item) *reading {
	r := &reading{at: make(map[string]int32, 64*len(items)), terms: make([]term, 0, 64*len(items)), joined: make(map[neighbours]bool, 64*len(items)),
		reuses: make([]reuse, len(items)), names: newNames(items)}
	for i := range items {
		text := items[i].Heading + "\n" + items[i].Text
		r.tokens = analysis.Tokens(r.tokens[:0], text)
		last, lastTerm := 0, int32(-1)
		for _, t := range r.tokens {
			at := r.put(t.Term, int32(i))
			if t.Pos == last { // a part of the previous token
				continue
			}
			r.terms[at].weight = max(r.terms[at].weight, weightOf(text, t))
			if last > 0 && t.Pos-last <= 2 {
				r.joined[neighbours{int32(i), lastTerm, at}] = false
			}
			last, lastTerm = t.Pos, at
		}
		if s := items[i].Source; s != "" { // words in the name of a source are not specific to another item
			r.tokens = analysis.Tokens(r.tokens[:0], s)
			for _, t := range r.tokens {
				if at, ok := r.at[t.Term]; ok && r.terms[at].owner != int32(i) {
					r.terms[at].owner = shared
				}
			}
		}
	}
	for i := range r.terms {
		r.terms[i].was = r.terms[i].owner
	}
	return r
}

// put adds a term of an item and returns its index.
func (r *reading) put(word string, item int32) int32 {
	at, ok := r.at[word]
	if !ok {
		at = int32(len(r.terms))
		r.at[word] = at
		r.terms = append(r.terms, term{owner: item})
	} else if r.terms[at].owner != item {
		r.terms[at].owner = shared
	}
	return at
}

// known reads another text that the model read: its terms belong to no item any more.
func (r *reading) known(text string) {
	r.tokens = analysis.Tokens(r.tokens[:0], text)
	for _, t := range r.tokens {
		if at, ok := r.at[t.Term]; ok {
			r.terms[at].owner = context
		}
	}
}

// weightOf returns the weight of a term by its form and position in text.
func weightOf(text string, t analysis.Token) float64 {
	word := text[t.Start:t.End]
	digits, letters, upper, marks, wide, joint := 0, 0, 0, 0, 0, false
	for i, c := range word {
		switch {
		case unicode.IsDigit(c):
			digits++
		case unicode.IsLetter(c):
			letters++
			if unicode.IsUpper(c) && i > 0 {
				upper++
			}
			if analysis.Unspaced(c) {
				wide++
			}
		default:
			marks++
			joint = joint || c == '_' || c == '/' || c == '.'
		}
	}
	switch {
	case wide > 0:
		return weighShort
	case letters == 0 && marks == 0 && digits < 3:
		return weighNumber
	case digits > 0, joint, upper > 0 && upper < letters-1, marks > 0 && upper > 0:
		return weighIdentifier
	case letters > 1 && upper == letters-1 && capital(word), capital(word) && insideSentence(text, t.Start):
		return weighName
	case marks > 0 && letters >= 8:
		return weighCompound
	case letters >= 8:
		return weighLong
	case letters >= 5:
		return weighWord
	}
	return weighShort
}

func capital(word string) bool {
	c, _ := utf8.DecodeRuneInString(word)
	return unicode.IsUpper(c)
}

// insideSentence reports whether a position is not at the beginning of a sentence.
func insideSentence(text string, at int) bool {
	before := strings.TrimRight(text[:at], " \t\"'`*(")
	if before == "" {
		return false
	}
	return !strings.ContainsAny(before[len(before)-1:], ".!?:\n-•")
}

// readAnswer adds the terms of the model's text to the reuses.
func (r *reading) readAnswer(text string) {
	r.tokens = analysis.Tokens(r.tokens[:0], text)
	last, lastTerm, lastItem := 0, int32(-1), int32(-1)
	for _, t := range r.tokens {
		if t.Pos == last {
			continue
		}
		at, ok := r.at[t.Term]
		if !ok || r.terms[at].owner < 0 {
			last, lastItem = t.Pos, -1
			continue
		}
		it := &r.terms[at]
		k := &r.reuses[it.owner]
		if it.taken++; it.taken == 1 {
			k.weight += it.weight
			k.salient = k.salient || it.weight >= weighLong
			if it.weight >= weighIdentifier {
				k.firm += it.weight
			}
		}
		if lastItem == it.owner && t.Pos-last <= 2 {
			n := neighbours{it.owner, lastTerm, at}
			if joined, ok := r.joined[n]; ok && !joined {
				r.joined[n] = true
				k.weight += weighTogether
				k.firm += pairWeight(it.weight, r.terms[lastTerm].weight)
			}
		}
		last, lastTerm, lastItem = t.Pos, at, it.owner
	}
}

// pairWeight returns the weight of two adjacent terms in addition to that of identifiers among them.
// A term is in two pairs at most.
func pairWeight(a, b float64) float64 {
	sum := weighTogether
	for _, w := range [...]float64{a, b} {
		if w < weighIdentifier {
			sum += w / 2
		}
	}
	return sum
}

// tally computes, for each item, the weight of the terms that only it has. Terms that the answer
// used before a tool result had them count too.
func (r *reading) tally() {
	r.own = make([]float64, len(r.reuses))
	for i := range r.terms {
		if t := &r.terms[i]; t.was >= 0 && (t.owner == t.was || t.taken > 0) {
			r.own[t.was] += t.weight
		}
	}
}

// repeats reports whether the answer says what only the item says: it has a combination that is
// unlikely by chance, or a large part of the terms that only the item has.
func (r *reading) repeats(item int) bool {
	k := &r.reuses[item]
	if k.weight == 0 {
		return false
	}
	share := k.weight / max(r.own[item], k.weight)
	return k.firm >= 2 || k.salient && (k.weight >= 2 && share >= 0.25 || k.weight >= 1.2 && share >= 0.4)
}

// called returns the items of which a call's arguments contain an identifier that no other text
// has.
func (r *reading) called(arguments string) (items []int) {
	text := unescape.Replace(prefix(arguments, maxAnswer))
	r.tokens = analysis.Tokens(r.tokens[:0], text)
	var firm map[int32]float64
	seen := map[int32]bool{}
	last, lastTerm, lastItem := 0, int32(-1), int32(-1)
	for _, t := range r.tokens {
		at, ok := r.at[t.Term]
		if !ok || r.terms[at].owner < 0 {
			if t.Pos != last {
				last, lastItem = t.Pos, -1
			}
			continue
		}
		if firm == nil {
			firm = map[int32]float64{}
		}
		it := &r.terms[at]
		if !seen[at] && it.weight >= weighIdentifier {
			firm[it.owner] += it.weight
		}
		seen[at] = true
		if t.Pos == last {
			continue
		}
		if _, ok := r.joined[neighbours{it.owner, lastTerm, at}]; ok && lastItem == it.owner {
			firm[it.owner] += pairWeight(it.weight, r.terms[lastTerm].weight)
		}
		last, lastTerm, lastItem = t.Pos, at, it.owner
	}
	for i := range r.reuses {
		if firm[int32(i)] >= 2 {
			items = append(items, i)
		}
	}
	return items
}

// unescape replaces JSON escapes that would join words.
var unescape = strings.NewReplacer(`\n`, "\n", `\t`, " ", `\"`, `"`, `\/`, "/", `\\`, `\`)
