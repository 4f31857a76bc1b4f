package taint

// What a span must have to count: see the package's comment. Weights are those of
// weigh. The limits were set on the cases in testdata, and looked at with the
// unrelated texts of the evaluation data.
const (
	proseWords, proseWeight     = 5, 8
	proseOwn                    = 2 // words that are not ordinary
	commandWords, commandWeight = 3, 5
	singlesPerWord              = 4 // characters of a script without spaces that say as much as a word
)

// maxRun is where a span ends at the latest, in words.
const maxRun = 512

// maxPlaces bounds the places of a claim at which one span is looked for: text that
// says the same over and over is not compared with itself.
const maxPlaces = 16

// run is a span of words that the arguments share with a text.
type run struct {
	text     int32
	from, to int // in the arguments' words
}

// runs finds the longest spans that the words share with a text each.
func (s *Set) runs(words []word) (out []run) {
	for i := 0; i+gramWords <= len(words); i++ {
		at, ok := s.grams[gram(words[i:])]
		for tries := 0; ok && at >= 0 && tries < maxPlaces; tries++ {
			p := s.places[at]
			at = p.next
			theirs := s.texts[p.text].words
			if i > 0 && p.pos > 0 && words[i-1].hash == theirs[p.pos-1].hash {
				continue // it is within one that began before
			}
			n := 0
			for n < maxRun && i+n < len(words) && int(p.pos)+n < len(theirs) && words[i+n].hash == theirs[int(p.pos)+n].hash {
				n++
			}
			if n >= gramWords {
				out = append(out, run{p.text, i, i + n})
			}
		}
	}
	return out
}

// counts reports whether a span says enough, leaving out the words that are known.
func (r run) counts(words []word, known []bool) bool {
	n, weight, own, singles, risk := 0, 0, 0, 0, false
	for i := r.from; i < r.to; i++ {
		if known != nil && known[i] {
			continue
		}
		n++
		w := &words[i]
		weight += int(w.weight)
		risk = risk || w.weight == weightRisk
		if w.single {
			singles++
		} else if w.weight >= weightOwn {
			own++
		}
	}
	own += singles / singlesPerWord
	return n >= proseWords && weight >= proseWeight && own >= proseOwn || n >= commandWords && weight >= commandWeight && risk
}

// chars is the span's length, with a space between its words.
func (r run) chars(words []word) int {
	n := r.to - r.from - 1
	for _, w := range words[r.from:r.to] {
		n += int(w.chars)
	}
	return n
}

// hit is a token that the arguments share with a text.
type hit struct {
	text  int32
	token token
}

func (s *Set) hits(tokens []token) (out []hit) {
	for _, t := range tokens {
		if n, ok := s.tokens[t.hash]; ok {
			out = append(out, hit{n, t})
		}
	}
	return out
}
