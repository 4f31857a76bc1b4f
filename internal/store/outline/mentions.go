package outline

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/store"
)

// maxRuleWords is the maximum number of words that are stored of a rule.
const maxRuleWords = 400

// spokenWords returns the words of a text in order, normalized for searching names in
// them: case and accents folded as analysis.Entity does, plurals as singular, parts of
// paths and compounds separated. In scripts without spaces, each character is a word.
// An identifier is one word. For an identifier like PaymentsService, whose last part
// shows that the rest is a name, the parts are added after the text.
func spokenWords(text string) []string {
	words := []string{}
	var glued []string
	r := wordReader{text: text}
	for len(words) < maxRuleWords {
		raw, word := r.next()
		if raw == "" {
			break
		}
		words, glued = append(words, string(word)), append(glued, identifierParts(raw)...)
	}
	for _, part := range glued {
		r := wordReader{text: part}
		if raw, word := r.next(); raw != "" && len(words) < maxRuleWords {
			words = append(words, string(word))
		}
	}
	return words
}

// wordReader reads a text word by word.
type wordReader struct {
	text string
	at   int
	buf  [64]byte
}

// next returns the next word, as written and as normalized; "" at the end. word is only
// valid until the next call.
func (r *wordReader) next() (raw string, word []byte) {
	for r.at < len(r.text) {
		n := wordAt(r.text[r.at:])
		if n == 0 {
			_, size := utf8.DecodeRuneInString(r.text[r.at:])
			r.at += size
			continue
		}
		raw, before := r.text[r.at:r.at+n], r.text[:r.at]
		r.at += n
		if (raw == "s" || raw == "S") && possessive(before) {
			continue
		}
		word, plain := r.buf[:0], true
		for j := 0; j < len(raw) && plain; j++ {
			c := raw[j]
			if up(c) {
				c += 'a' - 'A'
			}
			word, plain = append(word, c), c < utf8.RuneSelf
		}
		if !plain {
			word = append(word[:0], analysis.Entity(raw)...)
		}
		if word = singular(word); len(word) > 0 {
			return raw, word
		}
	}
	return "", nil
}

// possessive reports whether a text ends with an apostrophe after a word.
func possessive(text string) bool {
	r, n := utf8.DecodeLastRuneInString(text)
	if r != '\'' && r != '’' {
		return false
	}
	r, _ = utf8.DecodeLastRuneInString(text[:len(text)-n])
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// wordAt returns the length in bytes of the word at the start of a text; 0 if it does
// not start with one. It includes signs in names of languages: c++, c#.
func wordAt(text string) (n int) {
	for n < len(text) {
		if c := text[n]; c < utf8.RuneSelf {
			switch {
			case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9':
			case n > 0 && (c == '+' || c == '#') && !letterAt(strings.TrimLeft(text[n:], "+#")):
			default:
				return n
			}
			n++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[n:])
		switch {
		case unicode.IsMark(r) && n > 0, r == 0x200C || r == 0x200D: // joiners occur inside words
		case analysis.Unspaced(r):
			if n > 0 {
				return n
			}
			n += size
			for n < len(text) { // marks that belong to the character
				r, size := utf8.DecodeRuneInString(text[n:])
				if !unicode.IsMark(r) && r != 0xFF9E && r != 0xFF9F {
					break
				}
				n += size
			}
			return n
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			return n
		}
		n += size
	}
	return n
}

func letterAt(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// singular returns a form that a word shares with its plural. It need not be a word:
// both lose a final s, e and y, so that caches matches cache, policies policy and
// statuses status. A stemmer would be too coarse for names: it would reduce booking to
// book.
func singular(w []byte) []byte {
	if one, ok := irregular[string(w)]; ok {
		w = append(w[:0], one...)
	}
	n := len(w)
	cut := func(c byte) bool {
		if n > 2 && w[n-1] == c && (c != 's' || w[n-2] != 's') {
			n--
			return true
		}
		return false
	}
	cut('s')
	if cut('e') {
		cut('s')
	}
	if n > 2 && w[n-1] == 'y' {
		w[n-1] = 'i'
	}
	return w[:n]
}

// irregular maps irregular plurals to their singular.
var irregular = map[string]string{
	"people": "person", "children": "child", "men": "man", "women": "woman", "mice": "mouse",
	"indices": "index", "vertices": "vertex", "matrices": "matrix", "analyses": "analysis", "criteria": "criterion", "schemata": "schema",
}

// partSuffixes are the last parts of identifiers whose first part is a name of its own. Other
// identifiers are names as a whole, such as GitHub.
var partSuffixes = analysis.Set(`Service Server Client Manager Handler Controller Module App System Worker Job Queue Store
	Repository Gateway Engine Proxy Adapter Provider Factory Config Test`)

// identifierParts returns an identifier's parts; nil if it is not an identifier or is a name as a
// whole.
func identifierParts(raw string) (parts []string) {
	from := 0
	for i := 1; i < len(raw); i++ {
		if up(raw[i]) && (!up(raw[i-1]) || i+1 < len(raw) && raw[i+1] >= 'a' && raw[i+1] <= 'z') {
			parts, from = append(parts, raw[from:i]), i
		}
	}
	if parts == nil || !partSuffixes[raw[from:]] && !partSuffixes[strings.TrimSuffix(raw[from:], "s")] {
		return nil
	}
	return append(parts, raw[from:])
}

func up(c byte) bool { return c >= 'A' && c <= 'Z' }

// addWords adds the words of a rule; unsay removes them.
func (x *Index) addWords(slot uint32, said []string) {
	if len(said) == 0 {
		return
	}
	text := make([]uint32, len(said))
	for i, w := range said {
		n := x.said.take(w)
		for int(n) >= len(x.rulesByWord) {
			x.rulesByWord = append(x.rulesByWord, nil)
		}
		if !slices.Contains(text[:i], n) {
			x.rulesByWord[n] = x.insert(x.rulesByWord[n], slot, constraints)
		}
		text[i] = n
	}
	x.texts[slot] = text
}

func (x *Index) removeWords(slot uint32) {
	text := x.texts[slot]
	for i, n := range text {
		if !slices.Contains(text[:i], n) {
			x.rulesByWord[n] = x.without(x.rulesByWord[n], slot, constraints)
		}
		if len(x.rulesByWord[n]) == 0 {
			x.rulesByWord[n] = nil
		}
		x.said.drop(n)
	}
	delete(x.texts, slot)
}

// mentions adds to an outline the rules that contain its name but don't carry it. It
// only checks the rules that contain the rarest word of the name.
func (x *Index) mentions(out *store.Outline, name uint32, carried bool, pass *Pass) {
	var buf [8]uint32
	words := buf[:0]
	r := wordReader{text: out.Name}
	for raw, word := r.next(); raw != ""; raw, word = r.next() {
		n, ok := x.said.number[string(word)]
		if !ok {
			return
		}
		words = append(words, n)
	}
	if len(words) == 0 {
		return
	}
	rarest := x.rulesByWord[words[0]]
	for _, w := range words[1:] {
		if l := x.rulesByWord[w]; len(l) < len(rarest) {
			rarest = l
		}
	}
	for _, slot := range slices.Backward(rarest) {
		if carried && x.carries(slot, name) || len(words) > 1 && !within(words, x.texts[slot]) {
			continue
		}
		if ref := x.recs[slot].ref; pass.Claim(ref) {
			out.Constraints = append(out.Constraints, ref)
			out.Mentioned++
		}
	}
}

func (x *Index) carries(slot, name uint32) bool {
	for i := range int(x.recs[slot].n) {
		if x.nameAt(slot, i) == name {
			return true
		}
	}
	return false
}

// within reports whether text contains words next to each other, in order.
func within(words, text []uint32) bool {
	for i, w := range text[:max(0, len(text)-len(words)+1)] {
		if w == words[0] && slices.Equal(text[i:i+len(words)], words) {
			return true
		}
	}
	return false
}

// words assigns numbers to strings, and reuses the numbers of removed strings.
type words struct {
	number map[string]uint32
	text   []string // by number
	uses   []uint32 // by number
	free   []uint32
}

func newWords() words { return words{number: map[string]uint32{}} }

// take increments the use count of a string and returns its number.
func (w *words) take(s string) uint32 {
	n, ok := w.number[s]
	if !ok {
		if last := len(w.free) - 1; last >= 0 {
			n, w.free = w.free[last], w.free[:last]
		} else {
			n = uint32(len(w.text))
			w.text, w.uses = append(w.text, ""), append(w.uses, 0)
		}
		s = strings.Clone(s) // it may be a substring of a long text
		w.text[n], w.number[s] = s, n
	}
	w.uses[n]++
	return n
}

// drop decrements the use count, and removes the string when it reaches zero.
func (w *words) drop(n uint32) {
	if w.uses[n]--; w.uses[n] == 0 {
		delete(w.number, w.text[n])
		w.text[n] = ""
		w.free = append(w.free, n)
	}
}
