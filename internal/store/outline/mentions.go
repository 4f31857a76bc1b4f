package outline

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/store"
)

// mostSaid bounds how many words of a rule are kept: its first.
const mostSaid = 400

// spokenWords are the words of a text in their order, as names are looked for in them: case
// and accents folded as analysis.Entity does, plural as singular, parts of paths and
// compounds each by itself. In scripts without spaces a character is a word. An
// identifier is a word; the parts of one like PaymentsService, whose end tells that its
// beginning is a name, come behind the text.
func spokenWords(text string) []string {
	words := []string{}
	var glued []string
	r := wordReader{text: text}
	for len(words) < mostSaid {
		raw, word := r.next()
		if raw == "" {
			break
		}
		words, glued = append(words, string(word)), append(glued, humps(raw)...)
	}
	for _, part := range glued {
		r := wordReader{text: part}
		if raw, word := r.next(); raw != "" && len(words) < mostSaid {
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

// next is the next word as it stands in the text, and as it is compared; "" at the end.
// The bytes are good until the next call.
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

// possessive reports that a text ends with an apostrophe behind a word.
func possessive(text string) bool {
	r, n := utf8.DecodeLastRuneInString(text)
	if r != '\'' && r != '’' {
		return false
	}
	r, _ = utf8.DecodeLastRuneInString(text[:len(text)-n])
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// wordAt is how many bytes of a text its first word takes; 0 if there is none at its
// very beginning. Signs that languages are called by belong to it: c++, c#.
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
		case unicode.IsMark(r) && n > 0, r == 0x200C || r == 0x200D: // joiners stand inside words
		case analysis.Unspaced(r):
			if n > 0 {
				return n
			}
			n += size
			for n < len(text) { // its own marks, and no further letter
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

// singular is the form that a word shares with its plural. It need not be a word: both
// lose s, e and y behind, so that caches meets cache, policies policy and statuses
// status. A stemmer would be too coarse for names: to it, booking is a book.
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

// irregular leads plurals that no rule reaches to their singular.
var irregular = map[string]string{
	"people": "person", "children": "child", "men": "man", "women": "woman", "mice": "mouse",
	"indices": "index", "vertices": "vertex", "matrices": "matrix", "analyses": "analysis", "criteria": "criterion", "schemata": "schema",
}

// things end identifiers whose beginning is the name of what they are a part of.
// Others are names by themselves: GitHub is no hub.
var things = func() map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(`Service Server Client Manager Handler Controller Module App System Worker Job Queue Store
		Repository Gateway Engine Proxy Adapter Provider Factory Config Test`) {
		out[w] = true
	}
	return out
}()

// humps are an identifier's parts; nil for what is none, or a name by itself.
func humps(raw string) (parts []string) {
	from := 0
	for i := 1; i < len(raw); i++ {
		if up(raw[i]) && (!up(raw[i-1]) || i+1 < len(raw) && raw[i+1] >= 'a' && raw[i+1] <= 'z') {
			parts, from = append(parts, raw[from:i]), i
		}
	}
	if parts == nil || !things[raw[from:]] && !things[strings.TrimSuffix(raw[from:], "s")] {
		return nil
	}
	return append(parts, raw[from:])
}

func up(c byte) bool { return c >= 'A' && c <= 'Z' }

// say notes the words of a rule; unsay forgets them.
func (x *Index) say(slot uint32, said []string) {
	if len(said) == 0 {
		return
	}
	text := make([]uint32, len(said))
	for i, w := range said {
		n := x.said.take(w)
		for int(n) >= len(x.sayers) {
			x.sayers = append(x.sayers, nil)
		}
		if !slices.Contains(text[:i], n) {
			x.sayers[n] = x.insert(x.sayers[n], slot, constraints)
		}
		text[i] = n
	}
	x.texts[slot] = text
}

func (x *Index) unsay(slot uint32) {
	text := x.texts[slot]
	for i, n := range text {
		if !slices.Contains(text[:i], n) {
			x.sayers[n] = x.without(x.sayers[n], slot, constraints)
		}
		if len(x.sayers[n]) == 0 {
			x.sayers[n] = nil
		}
		x.said.drop(n)
	}
	delete(x.texts, slot)
}

// mentions adds the rules that say a name, and don't carry it, to its outline. Only
// those are looked at that say the rarest of its words.
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
	rarest := x.sayers[words[0]]
	for _, w := range words[1:] {
		if l := x.sayers[w]; len(l) < len(rarest) {
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

// within reports whether words stand in a text next to each other, in their order.
func within(words, text []uint32) bool {
	for i, w := range text[:max(0, len(text)-len(words)+1)] {
		if w == words[0] && slices.Equal(text[i:i+len(words)], words) {
			return true
		}
	}
	return false
}

// words numbers strings, and gives the number of one that nobody has any more to the
// next.
type words struct {
	number map[string]uint32
	text   []string // by number
	uses   []uint32 // by number
	free   []uint32
}

func newWords() words { return words{number: map[string]uint32{}} }

// take counts one more use of a string, and returns its number.
func (w *words) take(s string) uint32 {
	n, ok := w.number[s]
	if !ok {
		if last := len(w.free) - 1; last >= 0 {
			n, w.free = w.free[last], w.free[:last]
		} else {
			n = uint32(len(w.text))
			w.text, w.uses = append(w.text, ""), append(w.uses, 0)
		}
		s = strings.Clone(s) // it may be a part of something long
		w.text[n], w.number[s] = s, n
	}
	w.uses[n]++
	return n
}

// drop takes one use back, and the string with the last.
func (w *words) drop(n uint32) {
	if w.uses[n]--; w.uses[n] == 0 {
		delete(w.number, w.text[n])
		w.text[n] = ""
		w.free = append(w.free, n)
	}
}
