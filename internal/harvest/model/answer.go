package model

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/draft"
)

// proposal is a fact in the model's answer.
type proposal struct {
	text, quote string
	seq         uint64
	sort        draft.Sort
	entities    []string
	confidence  float64
	broken      bool // it has not the requested form
}

// answer is a parsed answer of a model.
type answer struct {
	summary  string
	facts    []proposal
	problems []string // faults, for the model to read; they name fields and never quote them
	frame    bool     // it is an object with all requested fields, whatever the facts contain
}

// usable reports whether an answer can be used although it has faults: it has a
// summary, and not all facts are broken.
func (a *answer) usable() bool {
	whole := func(p proposal) bool { return !p.broken }
	return a.frame && a.summary != "" && (len(a.facts) == 0 || slices.ContainsFunc(a.facts, whole))
}

// mostProblems bounds the list of faults that is sent to the model.
const mostProblems = 20

func (a *answer) wrong(format string, args ...any) {
	switch len(a.problems) {
	case mostProblems:
	case mostProblems - 1:
		a.problems = append(a.problems, "and more of the kind")
	default:
		a.problems = append(a.problems, fmt.Sprintf(format, args...))
	}
}

// read parses a model's text as the answer to a task. inRange reports whether a
// message with that number was shown. It is nil for a task without facts.
func read(text string, inRange func(seq uint64) bool) *answer {
	a := &answer{}
	object, problem := findObject(text)
	if problem != "" {
		a.wrong("%s", problem)
		return a
	}
	a.frame = true
	if a.summary = a.str(object, "", "summary"); a.summary != "" {
		if a.summary = tidySummary(a.summary); a.summary == "" {
			a.wrong("summary: nothing is left of it without thinking and orders")
		}
	}
	if inRange == nil {
		return a
	}
	raw, ok := object["facts"]
	var list []json.RawMessage
	switch {
	case !ok:
		a.frame = false
		a.wrong("facts: missing; give an empty list if there are none")
	case json.Unmarshal(raw, &list) != nil || list == nil:
		a.frame = false
		a.wrong("facts: not a list")
	}
	for i, raw := range list {
		a.facts = append(a.facts, a.fact(fmt.Sprintf("facts[%d].", i), raw, inRange))
	}
	return a
}

// fact parses one fact. at is its path in the answer.
func (a *answer) fact(at string, raw json.RawMessage, inRange func(uint64) bool) (p proposal) {
	object := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &object) != nil || object == nil {
		a.wrong("%s: not an object", strings.TrimSuffix(at, "."))
		p.broken = true
		return p
	}
	p.text, p.quote = a.str(object, at, "text"), a.str(object, at, "quote")
	p.broken = p.text == "" // a fact without a quote is dropped as unquoted

	number, ok := a.number(object, at, "message")
	switch {
	case !ok:
		p.broken = true
	case number != math.Trunc(number) || number < 1 || number > 1<<53 || !inRange(uint64(number)):
		a.wrong("%smessage: not the number of one of the messages", at) // another message may contain its quote
	default:
		p.seq = uint64(number)
	}
	if p.confidence, ok = a.number(object, at, "confidence"); !ok {
		p.broken = true
	} else if !(p.confidence >= 0 && p.confidence <= 1) {
		a.wrong("%sconfidence: outside 0 to 1", at)
		p.broken = true
	}
	if s := a.str(object, at, "sort"); s != "" {
		p.sort = draft.Sort(strings.ToLower(s))
		if !slices.Contains(sorts, p.sort) {
			a.wrong("%ssort: none of fact, preference, decision, instruction, constraint", at)
			p.broken = true
		}
	} else {
		p.broken = true
	}
	if raw, ok := object["entities"]; ok && json.Unmarshal(raw, &p.entities) != nil {
		a.wrong("%sentities: not a list of strings", at)
		p.broken = true
	}
	return p
}

var sorts = []draft.Sort{draft.Fact, draft.Preference, draft.Decision, draft.Instruction, draft.Constraint}

// mostBytes is the maximum length of a string field, in bytes; that is a hundred
// times the length of a fact.
const mostBytes = 32 << 10

// str returns a field that must be a non-empty string.
func (a *answer) str(object map[string]json.RawMessage, at, name string) (s string) {
	raw, ok := object[name]
	switch {
	case !ok:
		a.wrong("%s%s: missing", at, name)
	case raw[0] != '"' || json.Unmarshal(raw, &s) != nil:
		a.wrong("%s%s: not a string", at, name)
		s = ""
	case len(s) > mostBytes:
		a.wrong("%s%s: far too long", at, name)
		s = ""
	default:
		if s = strings.TrimSpace(guardrail.Sanitize(s)); s == "" {
			a.wrong("%s%s: empty", at, name)
		}
	}
	return s
}

func (a *answer) number(object map[string]json.RawMessage, at, name string) (f float64, ok bool) {
	raw, there := object[name]
	switch {
	case !there:
		a.wrong("%s%s: missing", at, name)
	case string(raw) == "null" || json.Unmarshal(raw, &f) != nil:
		a.wrong("%s%s: not a number", at, name)
	default:
		return f, true
	}
	return 0, false
}

// findObject returns the JSON object in a model's text. The text may be the
// object, or have reasoning, a fence or prose around it. The object must have one
// of the requested fields, so that an example in the prose is not taken for the
// answer.
func findObject(text string) (object map[string]json.RawMessage, problem string) {
	if text = strings.TrimSpace(text); text == "" {
		return nil, "the answer is empty"
	}
	// Whole JSON is tried first: otherwise, a fact that mentions a tag of
	// reasoning would be cut off with everything after it.
	if json.Unmarshal([]byte(text), &object) == nil && asked(object) {
		return object, ""
	}
	text = guardrail.StripReasoning(text)
	if strings.TrimSpace(text) == "" {
		return nil, "the answer is thinking and nothing else"
	}
	const tries = 64 // each parses up to the whole text
	braces := 0
	for i := 0; i < len(text) && braces < tries; i++ {
		if text[i] != '{' {
			continue
		}
		braces++
		object = nil
		dec := json.NewDecoder(strings.NewReader(text[i:]))
		if dec.Decode(&object) != nil {
			continue
		}
		if asked(object) {
			return object, ""
		}
		i += int(dec.InputOffset()) - 1 // objects inside belong to this one
	}
	if braces > 0 {
		return nil, "no complete JSON object with the fields that were asked for: it is cut off, malformed, or another one"
	}
	return nil, "it is prose and not a JSON object"
}

func asked(object map[string]json.RawMessage) bool {
	for _, field := range []string{"summary", "facts", "replaced"} {
		if _, ok := object[field]; ok {
			return true
		}
	}
	return false
}

// quoteFolder converts text to the form in which quotes are compared: lower case, one
// space for any white space and none within scripts without spaces, plain
// quotation marks and dashes, and parentheses for brackets that rendering may have
// changed.
type quoteFolder struct {
	b      strings.Builder
	at     []int // for each byte of b, where its character starts in the text; filled only if places is set
	places bool
}

// fold returns text in the form in which quotes are compared.
func fold(text string) string {
	f := quoteFolder{}
	f.run(text)
	return f.b.String()
}

func (f *quoteFolder) run(text string) {
	f.b.Grow(len(text))
	var last rune // the last rune that was written
	space := -1   // start of white space that is not written yet; -1 for none
	for i, r := range text {
		if unicode.IsSpace(r) {
			if space < 0 {
				space = i
			}
			continue
		}
		s, r := spelling(r)
		if s == "" {
			continue
		}
		if space >= 0 && last != 0 && !(analysis.Unspaced(last) && analysis.Unspaced(r)) {
			f.write(" ", space)
		}
		f.write(s, i)
		last, space = r, -1
	}
}

func (f *quoteFolder) write(s string, at int) {
	f.b.WriteString(s)
	if f.places {
		for range len(s) {
			f.at = append(f.at, at)
		}
	}
}

// spelling returns the form in which a character is compared, and the character
// that counts as the neighbour of the next one. It returns "" for a character that
// is ignored.
func spelling(r rune) (string, rune) {
	switch r {
	case '’', '‘', '‛', '′', '`', '´', '＇':
		return "'", r
	case '“', '”', '„', '‟', '«', '»', '″', '＂':
		return `"`, r
	case '‐', '‑', '‒', '–', '—', '―', '−':
		return "-", r
	case '…':
		return "...", r
	case '<', '[':
		return "(", r
	case '>', ']':
		return ")", r
	}
	if unicode.In(r, unicode.Cf, unicode.Variation_Selector) {
		return "", r
	}
	return string(unicode.ToLower(r)), r
}

// wording returns a key that is the same for facts with the same words.
func wording(text string) string {
	return strings.TrimRight(fold(text), " .!。！")
}
