package intent

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
)

// Bounds of the signals.
const (
	maxKeywords = 15
	maxSymbols  = 10
	maxFailures = 10
	maxEntities = 10
)

// injectedPrefix is the beginning of messages that the layer itself inserted into the conversation.
const injectedPrefix = "[Pipeline Knowledge]"

// Analyze returns the signals of the turn that follows messages. No slice in the result is nil. It
// never fails, keeps only substrings of the messages' texts, and takes bounded time for messages of
// any length.
func Analyze(messages []ken.Message) ken.Signals {
	last := lastUser(messages, len(messages))
	if last < 0 {
		return noSignals("")
	}
	text := window(body(messages[last]))
	var buf [48]word
	words := lex(buf[:0], text)
	if smallTalk(words) {
		s := noSignals(question(text, words))
		s.Resumes = resumes(words) && !answered(messages[:last])
		return s
	}
	found := read(text, words)
	for _, result := range newestResults(messages[last+1:]) {
		found.failures.addResult(window(result))
	}
	q := question(text, words)
	if found.empty() {
		if earlier, words := lastTopic(messages, last); earlier != "" {
			found = read(earlier, words)
			if room := maxQuestion - utf8.RuneCountInString(q) - 1; room > 0 {
				q = clip(question(earlier, words), room) + "\n" + q
			}
		}
	}
	about := ""
	if len(text) <= maxQuestion {
		about = subject(text, words)
	}
	return ken.Signals{
		Subject:  about,
		Keywords: found.keywords.top(maxKeywords),
		Symbols:  found.symbols.top(maxSymbols),
		Failures: found.failures.top(maxFailures),
		Entities: found.entities.top(maxEntities),
		Question: q,
		Asks:     true,
	}
}

// findings holds the candidates for the signals of one text.
type findings struct {
	keywords, symbols, entities ranking
	failures                    failures
}

func read(text string, words []word) findings {
	var f findings
	f.failures.addMessage(text, words)
	findSymbols(&f.symbols, words)
	findEntities(&f.entities, text, words)
	markFrames(words)
	if findKeywords(&f.keywords, text, words); f.empty() {
		for i := range words { // there is nothing inside the frame
			words[i].frame = false
		}
		findKeywords(&f.keywords, text, words)
	}
	return f
}

func (f *findings) empty() bool {
	return len(f.keywords.items)+len(f.symbols.items)+len(f.entities.items)+len(f.failures.items) == 0
}

func noSignals(q string) ken.Signals {
	return ken.Signals{Keywords: []string{}, Symbols: []string{}, Failures: []string{}, Entities: []string{}, Question: q}
}

// lastUser returns the index of the last user message before end; -1 if there is none.
func lastUser(messages []ken.Message, end int) int {
	for i := end - 1; i >= 0; i-- {
		if messages[i].Role == "user" && !strings.HasPrefix(messages[i].Text, injectedPrefix) {
			return i
		}
	}
	return -1
}

// lastTopic returns the window of the newest user message before end that is more than small talk.
// It looks back over a few messages.
func lastTopic(messages []ken.Message, end int) (string, []word) {
	for range 4 {
		if end = lastUser(messages, end); end < 0 {
			break
		}
		text := window(body(messages[end]))
		words := lex(nil, text)
		if f := read(text, words); !smallTalk(words) && !f.empty() {
			return text, words
		}
	}
	return "", nil
}

// newestResults returns the texts of the tool messages that the model has not answered yet, oldest
// first, at most four.
func newestResults(after []ken.Message) []string {
	end := len(after)
	for end > 0 && strings.HasPrefix(after[end-1].Text, injectedPrefix) {
		end--
	}
	start := end
	for start > 0 && after[start-1].Role == "tool" && end-start < 4 {
		start--
	}
	var texts []string
	for _, m := range after[start:end] {
		texts = append(texts, body(m))
	}
	return texts
}

// body returns a message's text or, if it has none, the texts of its parts.
func body(m ken.Message) string {
	if m.Text != "" || len(m.Parts) == 0 {
		return m.Text
	}
	var b strings.Builder
	for _, p := range m.Parts {
		if p.Text == "" || b.Len() > 2*windowEdge {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.Text)
	}
	return b.String()
}

const (
	windowEdge  = 12 << 10 // bytes that are read at each end of a long message
	maxQuestion = 2000     // characters of the query for the vector source
	headShare   = 1000     // of these, for the beginning of a long message
	tailShare   = 600      // of these, for its end; the rest is for lines that report failures
)

// window returns the part of a message that is read: all of it, or its beginning and end with a
// line break between them. The result is valid UTF-8.
func window(text string) string {
	if len(text) > 2*windowEdge {
		text = text[:windowEdge] + "\n" + text[len(text)-windowEdge:]
	}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "")
	}
	return text
}

// question returns the query for the vector source: the text itself or, for a long one, its
// beginning, the lines that report failures, and its end. words are those of text.
func question(text string, words []word) string {
	if trimmed := strings.TrimSpace(text); utf8.RuneCountInString(trimmed) <= maxQuestion {
		return trimmed
	}
	head, tail := clip(text, headShare), clipTail(text, tailShare)
	from, to := len(head), len(text)-len(tail)
	left := maxQuestion - headShare - tailShare - 2
	var b strings.Builder
	b.WriteString(head)
	for i := range words {
		w := &words[i]
		if w.start < from || w.end > to || !isReport(w, exceptionName(w.text) != "") && !errorCode(w.text) {
			continue
		}
		start := from + strings.LastIndexByte(text[from:w.start], '\n') + 1
		end := to
		if n := strings.IndexByte(text[w.end:to], '\n'); n >= 0 {
			end = w.end + n
		}
		line := strings.TrimSpace(clip(text[start:end], 200))
		if n := utf8.RuneCountInString(line) + 1; n <= left {
			b.WriteByte('\n')
			b.WriteString(line)
			left -= n
		}
		from = end
	}
	b.WriteByte('\n')
	b.WriteString(tail)
	return strings.TrimSpace(b.String())
}

// clip returns the first n characters of s, shortened to end at a space if one is near.
func clip(s string, n int) string {
	end, space := 0, 0
	for i, r := range s {
		if n == 0 {
			break
		}
		if r == ' ' || r == '\n' {
			space = i
		}
		n--
		end = i + utf8.RuneLen(r)
	}
	if end < len(s) && end-space < 80 && space > 0 {
		end = space
	}
	return s[:end]
}

// clipTail returns the last n characters of s, shortened to begin at a space if one is near.
func clipTail(s string, n int) string {
	start := len(s)
	for ; n > 0 && start > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:start])
		start -= size
	}
	if start > 0 {
		if i := strings.IndexAny(s[start:], " \n"); i >= 0 && i < 80 {
			start += i + 1
		}
	}
	return s[start:]
}

// resumeWords lists the words of small talk that ask to continue earlier work.
var resumeWords = analysis.Set(`continue proceed carry keep going go next`)

// resumes reports whether small talk asks to continue earlier work.
func resumes(words []word) bool {
	return slices.ContainsFunc(words, func(w word) bool { return resumeWords[w.low] })
}

// answered reports whether the conversation has an answer already. Then "continue" refers to this
// conversation.
func answered(messages []ken.Message) bool {
	return slices.ContainsFunc(messages, func(m ken.Message) bool { return m.Role == "assistant" || m.Role == "tool" })
}

// maxSignal is the maximum length of a signal in bytes. Longer words are data that no index has as
// a term.
const maxSignal = 400

// ranking collects candidates for one list of signals. It holds at most 64; afterwards only
// repetitions of known ones count.
type ranking struct {
	items []candidate
}

type candidate struct {
	text  string
	score int
}

// add adds a candidate with a score. For a repetition the higher score counts, and each of the
// first few repetitions adds one.
func (r *ranking) add(text string, score int) {
	if text == "" || len(text) > maxSignal {
		return
	}
	for i := range r.items {
		if c := &r.items[i]; c.text == text {
			c.score = max(c.score+1, score)
			return
		}
	}
	if r.items == nil {
		r.items = make([]candidate, 0, 8)
	}
	if len(r.items) < 64 {
		r.items = append(r.items, candidate{text, score})
	}
}

// top returns the n best candidates, equal ones in order of first appearance.
func (r *ranking) top(n int) []string {
	slices.SortStableFunc(r.items, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	out := make([]string, 0, min(n, len(r.items)))
	for _, c := range r.items[:min(n, len(r.items))] {
		out = append(out, c.text)
	}
	return out
}
