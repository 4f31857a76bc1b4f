package use

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
)

// Whose a term is, beside the index of an item.
const (
	shared  = -1 // of several items
	context = -2 // the conversation has it, or a tool
)

// neighbours are terms that stand together in an item.
type neighbours struct{ item, a, b int32 }

// term is one of the items'.
type term struct {
	owner  int32 // the index of an item, shared or context
	was    int32 // owner before anything else was read
	weight float64
	taken  int32 // how often it was taken from its owner
}

// reading knows where each term can have come from, and what an answer took from
// where.
type reading struct {
	at     map[string]int32 // of a term in terms
	terms  []term
	joined map[neighbours]bool // true once an answer joined them too
	reuses []reuse
	own    []float64 // by item, what its own terms weigh; see tally
	names  names
	tokens []analysis.Token
}

// reuse is what an answer took from an item.
type reuse struct {
	weight  float64
	firm    float64 // of this, identifiers, numbers and neighbours
	salient bool    // a term among them is more than a common word
}

// Weights of terms. They stand for how rare such a term is: where there is no corpus
// to count in, its form is what tells (an inverse document frequency by class, after
// K. Spärck Jones, A statistical interpretation of term specificity, 1972). They and
// the thresholds of repeats were set on the labelled cases of the tests.
const (
	weighIdentifier = 2.0 // identifiers, paths, versions, times, numbers of three digits and more
	weighNumber     = 1.1 // shorter numbers
	weighName       = 1.4 // a capital within a sentence
	weighCompound   = 1.4 // words with a hyphen
	weighLong       = 0.9 // words of eight letters and more
	weighWord       = 0.6 // of five and more
	weighShort      = 0.3
	weighTogether   = 0.9 // two that stand together, on top
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
			if t.Pos == last { // a part of what was just read
				continue
			}
			r.terms[at].weight = max(r.terms[at].weight, weightOf(text, t))
			if last > 0 && t.Pos-last <= 2 {
				r.joined[neighbours{int32(i), lastTerm, at}] = false
			}
			last, lastTerm = t.Pos, at
		}
		if s := items[i].Source; s != "" { // what a source is called is no other's own words
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

// put adds a term of an item, and returns where it is.
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

// known takes up what the model read elsewhere.
func (r *reading) known(text string) {
	r.tokens = analysis.Tokens(r.tokens[:0], text)
	for _, t := range r.tokens {
		if at, ok := r.at[t.Term]; ok {
			r.terms[at].owner = context
		}
	}
}

// weightOf is what a term weighs where it stands.
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
	case letters > 1 && upper == letters-1 && capital(word), capital(word) && within(text, t.Start):
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

// within reports a place that is not the beginning of a sentence.
func within(text string, at int) bool {
	before := strings.TrimRight(text[:at], " \t\"'`*(")
	if before == "" {
		return false
	}
	return !strings.ContainsAny(before[len(before)-1:], ".!?:\n-•")
}

// readAnswer counts the terms of what the model said.
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
				k.firm += together(it.weight, r.terms[lastTerm].weight)
			}
		}
		last, lastTerm, lastItem = t.Pos, at, it.owner
	}
}

// together is what two terms that stand together are worth beyond what identifiers
// among them are worth alone. Each stands in two pairs at most.
func together(a, b float64) float64 {
	sum := weighTogether
	for _, w := range [...]float64{a, b} {
		if w < weighIdentifier {
			sum += w / 2
		}
	}
	return sum
}

// tally sums up what the terms of each item weigh that are its own, those included
// that the answer took before a tool said them too.
func (r *reading) tally() {
	r.own = make([]float64, len(r.reuses))
	for i := range r.terms {
		if t := &r.terms[i]; t.was >= 0 && (t.owner == t.was || t.taken > 0) {
			r.own[t.was] += t.weight
		}
	}
}

// repeats reports whether the answer says what only the item said: by what can hardly
// be chance, or by words that make up a good part of what is the item's own.
func (r *reading) repeats(item int) bool {
	k := &r.reuses[item]
	if k.weight == 0 {
		return false
	}
	share := k.weight / max(r.own[item], k.weight)
	return k.firm >= 2 || k.salient && (k.weight >= 2 && share >= 0.25 || k.weight >= 1.2 && share >= 0.4)
}

// called returns the items of which an identifier is among a call's arguments, that
// nothing else brought up.
func (r *reading) called(arguments string) (items []int) {
	text := unescape.Replace(head(arguments, maxAnswer))
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
			firm[it.owner] += together(it.weight, r.terms[lastTerm].weight)
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

// unescape undoes of JSON what would glue words together.
var unescape = strings.NewReplacer(`\n`, "\n", `\t`, " ", `\"`, `"`, `\/`, "/", `\\`, `\`)
