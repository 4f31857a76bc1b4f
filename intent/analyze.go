package intent

import (
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

// Bounds of the signals.
const (
	maxKeywords = 15
	maxSymbols  = 10
	maxFailures = 10
	maxEntities = 10
)

// injectedPrefix starts the messages that the layer itself put into the conversation.
const injectedPrefix = "[Pipeline Knowledge]"

// Analyze returns the signals of the turn that messages lead to. No slice in
// them is nil. It never fails, keeps no reference to messages beyond substrings
// of their texts, and its time is bounded whatever their length.
func Analyze(messages []ken.Message) ken.Signals {
	last := lastUser(messages, len(messages))
	if last < 0 {
		return silent("")
	}
	text := window(body(messages[last]))
	var buf [48]word
	words := lex(buf[:0], text)
	if smallTalk(words) {
		s := silent(question(text, words))
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

// findings are the candidates for the signals of one text.
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
		for i := range words { // there is nothing within the frame
			words[i].frame = false
		}
		findKeywords(&f.keywords, text, words)
	}
	return f
}

func (f *findings) empty() bool {
	return len(f.keywords.items)+len(f.symbols.items)+len(f.entities.items)+len(f.failures.items) == 0
}

func silent(q string) ken.Signals {
	return ken.Signals{Keywords: []string{}, Symbols: []string{}, Failures: []string{}, Entities: []string{}, Question: q}
}

// lastUser returns the index of the last message before end that a user wrote,
// or -1.
func lastUser(messages []ken.Message, end int) int {
	for i := end - 1; i >= 0; i-- {
		if messages[i].Role == "user" && !strings.HasPrefix(messages[i].Text, injectedPrefix) {
			return i
		}
	}
	return -1
}

// lastTopic returns the window of the newest user message before end that is
// more than small talk, looking back over a few.
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

// newestResults returns the texts of the tool messages that the model has not
// answered yet, oldest first, at most four.
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

// body returns a message's text, from its parts where an adapter set only those.
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
