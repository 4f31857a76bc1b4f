package knownitem

import (
	_ "embed"
	"math/rand/v2"
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
)

var (
	//go:embed smalltalk.txt
	smallTalkLines string
	//go:embed topics.txt
	topicLines string
)

// SmallTalk lists everyday phrases that need no knowledge. The slice is the
// caller's.
func SmallTalk() []string { return strings.Split(strings.TrimSpace(smallTalkLines), "\n") }

// unanswered gives questions without an answer: first those of a list, shuffled,
// then as many as invent makes.
type unanswered struct {
	kind   Kind
	list   []string
	invent func() string // nil when the list is all
}

// inventions is how many texts in a row may be refused before inventing ends.
const inventions = 100

func (u *unanswered) next(m *maker) (Question, bool) {
	for tried := 0; ; {
		var text string
		switch {
		case len(u.list) > 0:
			text, u.list = u.list[0], u.list[1:]
		case u.invent != nil && tried < inventions:
			text = u.invent()
			tried++
		default:
			return Question{}, false
		}
		if q := (Question{Text: text, Kind: u.kind}); m.fits(&q) {
			return q, true
		}
	}
}

func (m *maker) smallTalk() *unanswered {
	list := SmallTalk()
	m.c.rng("", KindSmallTalk).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return &unanswered{kind: KindSmallTalk, list: list}
}

// has reports whether the collection has a term.
func (m *maker) has(term string) bool {
	return m.c.has[term] > 0 || m.o.Has != nil && m.o.Has(term)
}

// absent asks, in turn, about things of everyday life and technology that the
// collection does not mention, and about names that nobody has.
func (m *maker) absent() *unanswered {
	rng := m.c.rng("", KindAbsent)
	invent := func() string {
		for range inventions {
			if text, ok := m.invented(rng); ok {
				return text
			}
		}
		return ""
	}
	var list []string
	for line := range strings.Lines(topicLines) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") && m.lacks(stars(line)) {
			list = append(list, strings.ReplaceAll(line, "*", ""))
		}
	}
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	mixed := make([]string, 0, 2*len(list))
	for _, topic := range list {
		mixed = append(mixed, topic, invent())
	}
	return &unanswered{kind: KindAbsent, list: mixed, invent: invent}
}

// stars returns the words between stars.
func stars(line string) string {
	var b strings.Builder
	for i, part := range strings.Split(line, "*") {
		if i%2 == 1 {
			b.WriteString(part + " ")
		}
	}
	return b.String()
}

// lacks reports whether the collection has none of a text's terms.
func (m *maker) lacks(text string) bool {
	for _, t := range analysis.Terms(text) {
		if m.has(t) {
			return false
		}
	}
	return true
}

// inventedForms ask about a name N (and M) that the collection does not have.
var inventedForms = []string{"Who is N M?", "When did N M join?", "What did N say about M?", "Where does N live?", "What does the N service do?",
	"How do I configure the N plugin?", "What is the N protocol?", "Why does N fail with M?", "Which version of N do we use?",
	"What is N's favourite food?", "How do I migrate from N to M?", "What does N.M return?", "When was the N project cancelled?",
	"Is N allergic to M?", "How much did the N trip cost?"}

func (m *maker) invented(rng *rand.Rand) (string, bool) {
	n, o := name(rng), name(rng)
	if n == o || !m.lacks(n) || !m.lacks(o) {
		return "", false
	}
	form := inventedForms[rng.IntN(len(inventedForms))]
	var words []string
	for w := range strings.FieldsSeq(form) {
		switch {
		case strings.HasPrefix(w, "N.M"):
			w = n + "." + o + w[3:]
		case w == "N" || strings.HasPrefix(w, "N'") || strings.HasPrefix(w, "N?"):
			w = n + w[1:]
		case w == "M" || strings.HasPrefix(w, "M?"):
			w = o + w[1:]
		}
		words = append(words, w)
	}
	return strings.Join(words, " "), true
}

// name makes a name of syllables that English words seldom join this way.
func name(rng *rand.Rand) string {
	pick := func(list string) string {
		f := strings.Fields(list)
		return f[rng.IntN(len(f))]
	}
	return capital(pick("br dr f gl j kr m pl qu s t v vr w z") + pick("a e i o u ai ou") + pick("b d l m n r v z ld nd rv lv st") +
		pick("a e i o u") + pick("ck l n nt r rd rn sh ss th x z ne que mond wick lle"))
}
