package extract

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/intent"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/run/session"
)

// maxEntities bounds the entities of a statement.
const maxEntities = 8

// statement returns the candidate as a statement of a draft.
func (k *candidate) statement(limit int) draft.Statement {
	return draft.Statement{Text: k.attributed(limit), Quote: k.quote, Agent: k.answer || k.agents, Was: k.corrected, Seq: k.from.entry.Seq, Sort: k.sort, Entities: k.entities(), Confidence: k.confidence}
}

// attributed returns the text after the speaker's name, with dates explained. The
// name is left out where the user has none and the sentence is about no person.
func (k *candidate) attributed(limit int) string {
	prefix := k.prefix()
	if k.open && k.from.person {
		prefix += draft.OpenPrefix
	}
	if dated := prefix + capital(k.dated()) + k.question; characters(dated) <= limit {
		return dated
	}
	return prefix + capital(unmarked(k.text)) + k.question
}

// acceptedPrefix precedes a proposal of the assistant that the user accepted.
const acceptedPrefix = "Proposed by the assistant, accepted by the user: "

func (k *candidate) prefix() string {
	switch {
	case !k.from.person:
		return acceptedPrefix
	case k.answer:
		return ""
	case k.from.name != "":
		return k.from.name + ": "
	}
	words := wordsOf(k.text)
	if k.sort != draft.Instruction && !(k.brief && omitsSpeaker(words)) && !has(words, len(words), self) && !has(words, len(words), other) {
		return ""
	}
	return userName + ": "
}

// dated returns the text with dates explained.
func (k *candidate) dated() string {
	return explain(unmarked(k.text), k.from.entry.At)
}

// unmarked removes marks of emphasis from a text.
func unmarked(text string) string { return strings.ReplaceAll(text, "**", "") }

// capital returns s with its first letter in upper case, if the first word is a
// plain lower-case word.
func capital(s string) string {
	first, _, _ := strings.Cut(s, " ")
	if len(first) == 0 || first[0] < 'a' || first[0] > 'z' || strings.ContainsAny(first, "_./:()0123456789`") || first != strings.ToLower(first) {
		return s
	}
	return string(first[0]-'a'+'A') + s[1:]
}

// entities returns the named things in the text, the speaker's name first.
func (k *candidate) entities() []string {
	s := intent.Analyze([]ken.Message{{Role: "user", Text: k.text + k.question}})
	var out []string
	for _, list := range [][]string{{k.from.name}, s.Entities, s.Symbols} {
		for _, e := range list {
			if e = squeeze(e); e != "" && !isWeekday(e) && len(out) < maxEntities && !containsFold(out, e) {
				out = append(out, e)
			}
		}
	}
	return out
}

// isWeekday reports whether name is that of a weekday, also in the plural.
func isWeekday(name string) bool {
	name = lower(name)
	_, day := weekdays[name]
	_, days := weekdays[strings.TrimSuffix(name, "s")]
	return day || days
}

// questionTo returns the last question of the message before, in parentheses and in
// at most room characters. An answer such as "For three years." is clear with it.
// It returns "" in sessions with an agent, and where no question helps.
func (l *collector) questionTo(s *speech, room int) string {
	if l.toAgent || s.before == nil || s.before.name == s.name {
		return ""
	}
	for i := len(s.before.parts) - 1; i >= 0; i-- {
		q := s.before.parts[i]
		if !q.asks {
			continue
		}
		if q.open(l.present); hasCredential(&q) || vagueQuestion(q.words) || len(q.words) < 3 {
			return "" // it would not explain the answer
		}
		text := strings.TrimRight(q.text, "?!. ")
		asked := " (asked by " + s.before.name + ": " + text + ")"
		if characters(text) > maxQuestion || characters(asked) > room {
			return ""
		}
		return asked
	}
	return ""
}

// shortAnswer is the length, in characters, below which a reply's first sentence is
// easier to find together with the question that it answers.
const shortAnswer = 80

// maxQuestion bounds a question that is added to its answer, in characters.
const maxQuestion = 120

// leastAdded is the minimum weight of new terms in a sentence that is joined to the
// one it refers to.
const leastAdded = 2

// with joins two sentences. It returns nil if they are not adjacent in the message,
// or if the second adds little.
func (s *sentence) with(c *sentence, text string) *sentence {
	if s == nil || s.end > c.start || !strings.HasSuffix(s.full, s.text) || !strings.ContainsAny(s.full[len(s.full)-1:], ".!?") {
		return nil
	}
	if gap := text[s.end:c.start]; squeeze(gap) != "" || strings.Count(gap, "\n") > 1 {
		return nil
	}
	end := strings.Index(c.full, c.text) + len(c.text)
	j := sentence{start: s.start, end: c.end, text: s.text + " " + c.full[:end], item: s.item}
	j.full, j.words = j.text, wordsOf(j.text)
	known, sum := analysis.Terms(s.text), 0.0
	for _, t := range analysis.Terms(c.text) {
		if !vague()[t] && !slices.Contains(known, t) {
			sum++
		}
	}
	if sum < leastAdded {
		return nil
	}
	return &j
}

// resultBytes is how many bytes are read at each end of a tool's result.
const resultBytes = 4 << 10

// failed reports whether a command's result says that it failed, and the last line
// that says why. The exit status decides if there is one; otherwise messages of
// test runners and compilers do.
func failed(result string) (bool, string) {
	head := result[:min(len(result), resultBytes)]
	tail := result[max(len(head), len(result)-resultBytes):]
	status, known := exitStatus(head)
	if s, ok := exitStatus(tail); ok {
		status, known = s, ok
	}
	worst, summary := "", "" // the last line that names an error, and the last that only counts errors
	for _, part := range [...]string{head, tail} {
		for line := range strings.Lines(part) {
			switch line = strings.TrimSpace(line); {
			case !saysFailure(line):
			case strings.HasPrefix(line, "FAIL"), strings.HasPrefix(line, "make:"), strings.HasPrefix(line, "npm ERR!"):
				summary = line
			default:
				worst = line
			}
		}
	}
	worst = cmp.Or(worst, summary)
	if known {
		return status != 0, clip(squeeze(worst), maxError)
	}
	return worst != "", clip(squeeze(worst), maxError)
}

// exitStatus finds the number after words such as "exit code".
func exitStatus(s string) (int, bool) {
	low := strings.ToLower(s)
	for _, mark := range [...]string{"exit code", "exit_code", "exitcode", "exit status", "exited with code", "exited with status", "returncode", "return code"} {
		i := strings.LastIndex(low, mark)
		if i < 0 {
			continue
		}
		rest := strings.TrimLeft(low[i+len(mark):], "\"': =\t")
		n := 0
		for n < len(rest) && (digit(rest[n]) || n == 0 && rest[n] == '-') {
			n++
		}
		if code, err := strconv.Atoi(rest[:n]); err == nil {
			return code, true
		}
	}
	return 0, false
}

// saysFailure reports whether a line of output says that something failed.
func saysFailure(line string) bool {
	if line == "" || len(line) > 1000 {
		return false
	}
	for _, start := range [...]string{"FAIL", "--- FAIL", "FAILED", "error:", "Error:", "ERROR", "error[", "fatal:", "panic:", "npm ERR!", "make: ***", "Traceback", "AssertionError", "ld:", "undefined:"} {
		if strings.HasPrefix(line, start) {
			return true
		}
	}
	return slices.ContainsFunc([]string{": error:", " error: ", "command not found", "No such file or directory", "Permission denied", "permission denied", "cannot find", "Exception:", "Error: ", "undefined: ", " FAILED", "connection refused", "Connection refused"},
		func(within string) bool { return strings.Contains(line, within) })
}

// clip shortens s to n characters, at a space, and ends it with an ellipsis. A
// shorter s is returned as it is.
func clip(s string, n int) string {
	if characters(s) <= n {
		return s
	}
	end, count := 0, 0
	for i := range s {
		if count == n-1 {
			end = i
			break
		}
		count++
	}
	if i := strings.LastIndexByte(s[:end], ' '); i > end/2 {
		end = i
	}
	return strings.TrimRight(s[:end], " ,;:") + "…"
}

// speech is one message of a user or an assistant.
type speech struct {
	entry *session.Entry
	name  string // the speaker's name; "" for a user without a name
	// person says that statements are taken from the message: it is a user's, or
	// from one side of a chat between people.
	person bool
	text   string // the message, without a label such as "User: " at its start
	parts  []sentence
	before *speech // the message before, nil for the first
}

// previous returns the user's message before this one, with at most one of the assistant between them; nil for none.
func (s *speech) previous() *speech {
	if s.before == nil || s.before.person {
		return s.before
	}
	return s.before.before
}

// userName is the name of a user without a name.
const userName = "User"

// speeches reads the messages of users and assistants, in their order.
func speeches(tr *session.Transcript) []speech {
	people := twoPeople(tr)
	out := make([]speech, 0, len(tr.Entries))
	for i := range tr.Entries {
		e := &tr.Entries[i]
		role := e.Message.Role
		if role != "user" && role != "assistant" {
			continue
		}
		s := speech{entry: e, person: role == "user" || people, text: unlabelled(body(e), role)}
		if s.person {
			s.name = squeeze(e.Message.Name)
			if characters(s.name) > maxName {
				s.name = ""
			}
		}
		out = append(out, s)
	}
	return out
}

// maxName bounds a speaker's name, in characters; a longer one is ignored.
const maxName = 40

// twoPeople reports whether the assistant's side of a transcript is a person too.
// Then both sides have names of their own, and there are no tool calls.
func twoPeople(tr *session.Transcript) bool {
	var user, assistant string
	for i := range tr.Entries {
		m := &tr.Entries[i].Message
		switch {
		case m.Role == "tool", len(m.ToolCalls) > 0:
			return false
		case m.Role == "user" && m.Name != "":
			user = m.Name
		case m.Role == "assistant":
			if m.Name == "" {
				return false
			}
			assistant = m.Name
		}
	}
	return user != "" && assistant != "" && !strings.EqualFold(user, assistant) && !strings.EqualFold(assistant, "assistant")
}

// body returns a message's text, from its parts if only those are set.
func body(e *session.Entry) string {
	if e.Message.Text != "" || len(e.Message.Parts) == 0 {
		return e.Message.Text
	}
	var b strings.Builder
	for _, p := range e.Message.Parts {
		if p.Text != "" {
			b.WriteString(p.Text)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// unlabelled removes the label that some clients put before a message, such as
// "User: ".
func unlabelled(text, role string) string {
	labels := [...]string{"User: ", "Human: "}
	if role == "assistant" {
		labels = [...]string{"Assistant: ", "AI: "}
	}
	for _, label := range labels {
		if rest, ok := strings.CutPrefix(text, label); ok {
			return rest
		}
	}
	return text
}

// needsContext reports whether a sentence refers to something that it does not name, so that it
// can't be understood without the one before.
//
// Between people, "that necklace" usually points at something both see, and is accepted. To an
// agent, it refers to something said before.
func needsContext(words []word, people bool) bool {
	if len(words) == 0 {
		return true
	}
	first := words[0].low
	if fragments[first] {
		return !mainClause(words)
	}
	if n := impersonal(words); n > 0 {
		return needsContext(words[n:], people)
	}
	if pronouns[first] {
		if first == "this" && settled[low(words, 1)] {
			return false
		}
		return !determiners[first] || !isNoun(words, 1) || !people && pointing[first]
	}
	// A pronoun further on has been named by then, if there was room for a name.
	named := 0
	for i := range words {
		w := &words[i]
		if standIns[w.low] && !dummies[low(words, i+1)] || i == len(words)-1 && (w.low == "this" || w.low == "that") {
			return named < 2
		}
		if w.upper && i > 0 && !self[w.low] {
			named += 2
		} else if w.low != "" && !analysis.IsStopWord(w.low) && !self[w.low] && !vague()[w.low] {
			named++
		}
	}
	return false
}

// vagueQuestion reports whether a question refers to something that it does not name.
func vagueQuestion(words []word) bool {
	if len(words) > 0 && wondering[words[0].low] {
		words = words[1:] // "which" at the start of a question does not make it a fragment
	}
	return needsContext(words, true)
}

// mainClause reports whether a main clause follows the one that a word such as "although" begins.
func mainClause(words []word) bool {
	for i := 2; i+3 < len(words); i++ {
		if words[i].comma {
			return true
		}
	}
	return false
}
