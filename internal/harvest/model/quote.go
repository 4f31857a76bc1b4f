package model

import (
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/internal/analysis"
)

// Minimum length of a quote, in words or characters, that proves something by
// itself or may be found in a message other than the one that the fact names.
// Shorter quotes are in many messages by chance.
const (
	leastWords = 3
	leastChars = 12
)

// needle returns a quote in the form that is searched for: folded, without the
// marks around it that models add, the punctuation at its end, and the prefix of
// rendered lines.
func needle(quote string) string {
	quote = strings.TrimPrefix(strings.TrimSpace(quote), linePrefix)
	quote = strings.ReplaceAll(quote, "\n"+linePrefix, "\n")
	q := strings.Trim(fold(quote), `"' `)
	return strings.TrimRight(q, ` .,;:!?"'。！？，；：`)
}

// isLongEnough reports whether a folded quote is long enough to prove something.
func isLongEnough(q string) bool {
	return utf8.RuneCountInString(q) >= leastChars || words(q) >= leastWords
}

// words counts words; each character of a script without spaces counts as one.
func words(s string) int {
	n, inside := 0, false
	for _, r := range s {
		letter := unicode.IsLetter(r) || unicode.IsDigit(r)
		switch {
		case analysis.Unspaced(r):
			n++
			letter = false
		case letter && !inside:
			n++
		}
		inside = letter || inside && r == '\''
	}
	return n
}

// find searches the message for a folded quote that starts and ends at word
// boundaries. It returns the original text of the message.
func (m *message) find(q string) (verbatim string, ok bool) {
	if q == "" {
		return "", false
	}
	if m.folded == "" {
		m.folded = fold(m.text)
	}
	start := indexWords(m.folded, q)
	if start < 0 {
		return "", false
	}
	f := quoteFolder{places: true}
	f.run(m.text)
	from, to := f.at[start], len(m.text)
	if end := start + len(q); end < len(f.at) {
		to = f.at[end]
	}
	return strings.TrimSpace(m.text[from:to]), true
}

// near is how many bytes around a quote are read as its line. A pasted file may be
// one long line.
const near = 500

// around returns the line of the message that contains the quote, limited to near
// bytes on each side.
func (m *message) around(quote string) string {
	start := strings.Index(m.text, quote)
	end := start + len(quote)
	before, after := m.text[max(0, start-near):start], m.text[end:min(len(m.text), end+near)]
	after, _, _ = strings.Cut(after, "\n")
	return before[strings.LastIndexByte(before, '\n')+1:] + quote + after
}

// indexWords is strings.Index for matches at word boundaries: "no tests" is not
// found in "piano tests".
func indexWords(s, q string) int {
	for from := 0; ; {
		i := strings.Index(s[from:], q)
		if i < 0 {
			return -1
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		first, size := utf8.DecodeRuneInString(q)
		last, _ := utf8.DecodeLastRuneInString(q)
		after, _ := utf8.DecodeRuneInString(s[i+len(q):])
		if !inOneWord(before, first) && !inOneWord(last, after) {
			return i
		}
		from = i + size
	}
}

// inOneWord reports whether two adjacent characters are in one word.
func inOneWord(a, b rune) bool {
	part := func(r rune) bool {
		return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) && !analysis.Unspaced(r)
	}
	return part(a) && part(b)
}

// supports reports whether a short quote shares a term with the fact. "use pnpm"
// does with a fact about pnpm, "yes" with none.
func supports(quote, text string) bool {
	said := map[string]bool{}
	for _, t := range analysis.Terms(quote) {
		said[t] = true
	}
	return slices.ContainsFunc(analysis.Terms(text), func(t string) bool { return said[t] })
}

// endpointMessage returns "URL did something (500): the endpoint's message". Some endpoints
// repeat the request in their errors. Such a message is left out, since errors are
// logged.
func (c *Client) endpointMessage(x *reply, did string, talk []turn) string {
	s := fmt.Sprintf("%s %s (%d)", c.address, did, x.Status)
	message := x.Message()
	if c.opts.APIKey != "" {
		message = strings.ReplaceAll(message, c.opts.APIKey, "***")
	}
	switch {
	case x.IsPage():
		return s + ": it answered with a web page"
	case message == "":
		return s
	case repeats(message, talk):
		return s + ": its message repeats what was sent"
	}
	return s + ": " + message
}

// repeats reports whether a message contains a sequence of characters of what was
// sent.
func repeats(message string, talk []turn) bool {
	const run = 16 // shorter sequences are words that are in any two texts
	runes := []rune(strings.ReplaceAll(fold(message), `\n`, " "))
	for _, t := range talk {
		sent := fold(strings.ReplaceAll(t.text, "\n"+linePrefix, "\n"))
		if len(runes) < run {
			continue
		}
		for i := 0; i+run <= len(runes); i++ {
			if strings.Contains(sent, string(runes[i:i+run])) {
				return true
			}
		}
	}
	return false
}

// refuses reports whether a refusal names a field of the request.
func (x *reply) refuses(field string) bool {
	return x.refusal() && strings.Contains(x.lower(), field)
}

// refusesFormat reports whether a refusal may be about the response format.
// Endpoints word it in many ways, so every refusal counts that is not clearly
// about something else.
func (x *reply) refusesFormat() bool {
	if !x.refusal() {
		return false
	}
	s := x.lower()
	for _, word := range []string{"response_format", "json", "schema", "grammar", "structured", "guided"} {
		if strings.Contains(s, word) {
			return true
		}
	}
	return !x.aboutLength() && !x.aboutModel()
}

func (x *reply) refusal() bool {
	switch x.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotImplemented:
		return true
	}
	return false
}

// aboutModel reports whether a refusal is about the model's name. Endpoints use
// different statuses for it, and some use 400.
func (x *reply) aboutModel() bool {
	s := x.lower()
	return x.refusal() && strings.Contains(s, "model") &&
		(strings.Contains(s, "not found") || strings.Contains(s, "not exist") || strings.Contains(s, "unknown") || strings.Contains(s, "invalid model") || strings.Contains(s, "no such"))
}

// aboutLength reports whether a refusal is about the length of the request.
func (x *reply) aboutLength() bool {
	s := x.lower()
	return x.refusal() && (strings.Contains(s, "context length") || strings.Contains(s, "context_length") || strings.Contains(s, "context window") ||
		strings.Contains(s, "context size") || strings.Contains(s, "too long") || strings.Contains(s, "maximum context") || strings.Contains(s, "too many tokens"))
}

func (x *reply) lower() string {
	return strings.ToLower(x.Message() + " " + gjson.GetBytes(x.Body, "error.code").String() + " " + gjson.GetBytes(x.Body, "error.param").String())
}

// abbreviations holds abbreviations whose full stop ends no sentence, although a
// capital may follow.
var abbreviations = map[string]bool{
	"e.g": true, "i.e": true, "etc": true, "vs": true, "no": true, "approx": true, "mr": true, "mrs": true, "ms": true,
	"dr": true, "prof": true, "st": true, "fig": true, "resp": true, "ca": true, "z.b": true, "d.h": true,
}

// endsSentence reports whether a sentence ends between head and rest.
func endsSentence(head, rest string) bool {
	r, _ := utf8.DecodeLastRuneInString(head)
	switch r {
	case '。', '！', '？', '।':
		return true
	case '.', '!', '?':
	default:
		return false
	}
	after := strings.TrimLeftFunc(rest, unicode.IsSpace)
	if after == "" || len(after) == len(rest) { // the end of the text, or a stop as in "v1.2" and "main.go"
		return after == ""
	}
	if first, _ := utf8.DecodeRuneInString(after); unicode.IsLower(first) {
		return false
	}
	word := head[strings.LastIndexFunc(head, unicode.IsSpace)+1 : len(head)-1]
	return r != '.' || utf8.RuneCountInString(word) > 1 && !abbreviations[strings.ToLower(strings.TrimLeft(word, "("))]
}

// sentences yields the sentences of text, each with the white space after it, so
// that together they are the text. A line break also ends a sentence.
func sentences(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start := 0
		for i, r := range text {
			end := i + utf8.RuneLen(r)
			if r == utf8.RuneError {
				end = i + 1 // no sentence ends at an invalid or replaced character, which has 1 or 3 bytes
			}
			if end <= start || r != '\n' && !endsSentence(text[start:end], text[end:]) {
				continue
			}
			end = len(text) - len(strings.TrimLeftFunc(text[end:], unicode.IsSpace))
			if !yield(text[start:end]) {
				return
			}
			start = end
		}
		if start < len(text) {
			yield(text[start:])
		}
	}
}

// upToSentence returns as many whole sentences of text as fit into most
// characters; "" if the first does not fit.
func upToSentence(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	end, left := 0, most
	for s := range sentences(text) {
		bare := strings.TrimRightFunc(s, unicode.IsSpace)
		if utf8.RuneCountInString(bare) > left {
			break
		}
		left -= utf8.RuneCountInString(s)
		end += len(s)
	}
	return strings.TrimSpace(text[:end])
}

// tidySummary removes from a summary what must not be stored: secrets, reasoning,
// and orders to its readers.
func tidySummary(text string) string {
	var b strings.Builder
	for s := range sentences(cleaned(text)) {
		if !thinks(s) && !givesOrders(s) {
			b.WriteString(s)
		}
	}
	return strings.TrimSpace(b.String())
}

// shortSummary cuts a summary to most characters, at the end of a sentence or at
// least of a word.
func shortSummary(text string, most int) string {
	if s := upToSentence(text, most); s != "" {
		return s
	}
	text = text[:offset(text, max(most-2, 0))]
	if i := strings.LastIndexFunc(text, unicode.IsSpace); i > len(text)/2 {
		text = text[:i]
	}
	return strings.TrimSpace(text) + " …"
}

// before returns as many of the latest summaries as fit into room tokens.
func (c *Client) before(summaries []string, room int) string {
	from := len(summaries)
	for from > 0 {
		if room -= estimate(summaries[from-1]) + 1; room < 0 {
			break
		}
		from--
	}
	return strings.Join(summaries[from:], "\n")
}

// joinedSummary makes one summary of several without a model, from the beginning
// of each.
func (c *Client) joinedSummary(summaries []string) string {
	short := make([]string, len(summaries))
	for i, s := range summaries {
		short[i] = shortSummary(s, max(summaryChars/len(summaries)-1, 1))
	}
	return shortSummary(strings.Join(short, " "), summaryChars)
}
