package knownitem

import (
	_ "embed"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// Kind is the rule by which a question is made.
type Kind string

// The kinds.
const (
	KindKeyword    Kind = "keyword"
	KindHeading    Kind = "heading"
	KindQuestion   Kind = "question"
	KindParaphrase Kind = "paraphrase"
	KindAbsent     Kind = "absent"
	KindSmallTalk  Kind = "small_talk"
)

// Kinds lists all kinds, those with an answer first.
func Kinds() []Kind {
	return []Kind{KindKeyword, KindHeading, KindQuestion, KindParaphrase, KindAbsent, KindSmallTalk}
}

// Answered reports whether questions of the kind have an answer.
func (k Kind) Answered() bool { return k != KindAbsent && k != KindSmallTalk }

// Question is one question and the claim that answers it.
type Question struct {
	Text   string `json:"text"`
	Want   string `json:"want,omitempty"` // the claim's id; "" if no claim answers
	Kind   Kind   `json:"kind"`
	Source string `json:"source,omitempty"` // group of the claim it was made from; see SourceOf
	// Hidden is the passage of the claim that the question copies; "" if there is none. Mask
	// removes it.
	Hidden string `json:"hidden,omitempty"`
}

// Mask returns c without the passage that the question copies, in its heading and its text. It
// returns other claims, and the claim of a question without a Hidden passage, unchanged. It does
// not modify the argument's memory.
func (q Question) Mask(c ken.Claim) ken.Claim {
	if q.Hidden == "" || q.Want == "" || c.ID != q.Want {
		return c
	}
	parts := strings.Split(c.Heading, analysis.HeadingSeparator)
	kept := parts[:0:0]
	for _, p := range parts {
		if !copies(p, q.Hidden) {
			kept = append(kept, p)
		}
	}
	c.Heading = strings.Join(kept, analysis.HeadingSeparator)
	c.Text = without(c.Text, q.Hidden)
	return c
}

// without removes a passage of several lines from text, or each line that has only hidden.
func without(text, hidden string) string {
	if strings.Contains(hidden, "\n") {
		return strings.TrimSpace(strings.Replace(text, hidden, "", 1))
	}
	var b strings.Builder
	for l := range strings.Lines(text) {
		if strings.TrimSpace(l) != hidden && strings.Trim(l, "# \t\r\n") != hidden {
			b.WriteString(l)
		}
	}
	return strings.TrimSpace(b.String())
}

// copies reports whether a part of a heading repeats hidden: the same words, possibly after a label
// such as "commit:", shortened, or as one of several titles.
func copies(part, hidden string) bool {
	part, hidden = oneLine(part), oneLine(hidden)
	if strings.Contains(part, hidden) {
		return true
	}
	for p := range strings.SplitSeq(part, " · ") {
		if p != "" && p == hidden {
			return true
		}
	}
	short, cut := strings.CutSuffix(part, "…")
	if _, after, ok := strings.Cut(short, ": "); ok && cut && strings.HasPrefix(hidden, strings.TrimSpace(after)) {
		return true
	}
	return cut && utf8.RuneCountInString(short) >= 20 && strings.HasPrefix(hidden, strings.TrimSpace(short))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// minLeft is the minimum number of terms of a text outside the passage that the question copies.
// With fewer, there is nothing to find.
const minLeft = 6

// heading makes a question from what somebody wrote about the text: a commit's subject, a doc
// comment's first sentence, or the innermost heading.
func heading(c *collection, claim *ken.Claim, _ *rand.Rand) (text, hidden string) {
	switch {
	case claim.SourceType == "git":
		text, hidden = subject(claim)
	case isCode(claim):
		text, hidden = docComment(claim)
	default:
		text, hidden = title(claim)
	}
	if text == "" || looksLikeCode(text) || len(analysis.Terms(text)) < 2 || !c.identifies(text) {
		return "", ""
	}
	q := Question{Want: claim.ID, Hidden: hidden}
	if claim.ID == "" || len(analysis.Terms(q.Mask(*claim).Text)) < minLeft {
		return "", ""
	}
	return text, hidden
}

var scopePrefix = lazyregexp.New(`^(?:\w+(?:\([^)]*\))?!?|[\w./, -]{1,40}): +`)

// subject returns a commit's first line without the package or type before it.
func subject(c *ken.Claim) (text, hidden string) {
	hidden, _, _ = strings.Cut(c.Text, "\n")
	hidden = strings.TrimSpace(hidden)
	return strings.TrimSuffix(scopePrefix.ReplaceAllString(hidden, ""), "."), hidden
}

// title returns the innermost heading that is more than an identifier or a path.
func title(c *ken.Claim) (text, hidden string) {
	parts := strings.Split(c.Heading, analysis.HeadingSeparator)
	last := parts[len(parts)-1]
	last, _, _ = strings.Cut(last, " · ")
	if len(parts) == 1 && strings.ContainsAny(last, "/") || strings.HasPrefix(last, "Status: ") || strings.HasSuffix(last, "…") {
		return "", ""
	}
	last = strings.TrimSpace(last)
	return strings.TrimRight(plain(last), ".:"), last
}

// docComment returns the first sentence of the comment at the beginning of a piece of code, or of
// the doc string in it, without the name of what it describes.
func docComment(c *ken.Claim) (text, hidden string) {
	if hidden = leadingComment(c.Text); hidden == "" {
		hidden = docString(c.Text)
	}
	var words []string
	for l := range strings.Lines(hidden) {
		l = strings.TrimSpace(l)
		if rest, ok := uncomment(l); ok {
			l = rest
		}
		if l = strings.TrimSpace(strings.Trim(l, `"'*/`)); l == "" && len(words) > 0 {
			break
		} else if l != "" {
			words = append(words, l)
		}
	}
	list := sentences(strings.Join(words, " "))
	if len(list) == 0 {
		return "", ""
	}
	text = strings.TrimSuffix(list[0], ".")
	first, rest, _ := strings.Cut(text, " ")
	if slices.ContainsFunc(c.Entities, func(e string) bool { return e == first || strings.HasSuffix(e, "."+first) }) {
		text = strings.TrimPrefix(strings.TrimPrefix(rest, "is "), "are ")
	}
	if rest, ok := strings.CutPrefix(text, "Package "); ok {
		_, text, _ = strings.Cut(rest, " ")
	}
	return text, hidden
}

// leadingComment returns the comment lines at the beginning of a text.
func leadingComment(text string) string {
	end, block := 0, false
	for l := range strings.Lines(text) {
		t := strings.TrimSpace(l)
		_, ok := uncomment(t)
		block = block || strings.HasPrefix(t, "/*")
		if !ok && !block {
			break
		}
		end += len(l)
		if strings.HasSuffix(t, "*/") {
			block = false
		}
	}
	return strings.TrimSpace(text[:end])
}

// docString returns the first triple-quoted string of a text, with its quotes.
func docString(text string) string {
	for _, quote := range []string{`"""`, `'''`} {
		from := strings.Index(text, quote)
		if from < 0 {
			continue
		}
		n := strings.Index(text[from+len(quote):], quote)
		if n < 0 {
			continue
		}
		return text[from : from+n+2*len(quote)]
	}
	return ""
}

var (
	//go:embed smalltalk.txt
	smallTalkLines string
	//go:embed topics.txt
	topicLines string
)

// SmallTalk returns everyday phrases that need no knowledge. The caller owns the slice.
func SmallTalk() []string { return strings.Split(strings.TrimSpace(smallTalkLines), "\n") }

// unanswered yields questions without an answer: first those of a shuffled list, then as many as
// invent makes.
type unanswered struct {
	kind   Kind
	list   []string
	invent func() string // nil if there is only the list
}

// inventions is the number of consecutive failures after which inventing ends.
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

// has reports whether the collection contains a term.
func (m *maker) has(term string) bool { return m.c.has[term] > 0 }

// absent returns questions that alternate between topics of everyday life and technology that the
// collection does not mention, and invented names.
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

// stars returns the words between asterisks.
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
	return !slices.ContainsFunc(analysis.Terms(text), func(t string) bool { return m.has(t) })
}

// inventedForms are questions about a name N (and M) that the collection does not have.
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

// name makes a name from syllables that English words seldom combine.
func name(rng *rand.Rand) string {
	pick := func(list string) string {
		f := strings.Fields(list)
		return f[rng.IntN(len(f))]
	}
	return capital(pick("br dr f gl j kr m pl qu s t v vr w z") + pick("a e i o u ai ou") + pick("b d l m n r v z ld nd rv lv st") +
		pick("a e i o u") + pick("ck l n nt r rd rn sh ss th x z ne que mond wick lle"))
}
