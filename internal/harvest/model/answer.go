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

// proposal is a fact as the model answered it.
type proposal struct {
	text, quote string
	seq         uint64
	sort        draft.Sort
	entities    []string
	confidence  float64
	broken      bool // it has not the form that was asked for
}

// answer is what a model's text was read as.
type answer struct {
	summary  string
	facts    []proposal
	problems []string // what is wrong, for the model to read; names fields and never quotes them
	frame    bool     // it is an object that has all that was asked for, whatever the facts are like
}

// usable reports whether something can be made of the answer although it has
// faults: a summary, and facts that are not all broken.
func (a *answer) usable() bool {
	whole := func(p proposal) bool { return !p.broken }
	return a.frame && a.summary != "" && (len(a.facts) == 0 || slices.ContainsFunc(a.facts, whole))
}

// mostProblems bounds the list that goes back to the model.
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

// read reads a model's text as the answer to a task. inRange reports whether a
// message of that number was shown; it is nil for a task without facts.
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

// fact reads one fact; at is its place in the answer.
func (a *answer) fact(at string, raw json.RawMessage, inRange func(uint64) bool) (p proposal) {
	object := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &object) != nil || object == nil {
		a.wrong("%s: not an object", strings.TrimSuffix(at, "."))
		p.broken = true
		return p
	}
	p.text, p.quote = a.str(object, at, "text"), a.str(object, at, "quote")
	p.broken = p.text == "" // without a quote it is unquoted, as if its quote stood nowhere

	number, ok := a.number(object, at, "message")
	switch {
	case !ok:
		p.broken = true
	case number != math.Trunc(number) || number < 1 || number > 1<<53 || !inRange(uint64(number)):
		a.wrong("%smessage: not the number of one of the messages", at) // its quote may stand in another
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

// mostBytes is where a string is no answer any more: a hundred facts long.
const mostBytes = 32 << 10

// str reads a field that is a string with something in it.
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

// findObject takes the JSON object out of a model's text: the text itself, or what
// is left of it without reasoning; in a fence, or after and before some prose. It
// must have one of the fields that are asked for, so that an example in the
// prose is not taken for the answer.
func findObject(text string) (object map[string]json.RawMessage, problem string) {
	if text = strings.TrimSpace(text); text == "" {
		return nil, "the answer is empty"
	}
	// Whole JSON comes first: a fact that mentions a tag of reasoning would
	// otherwise be cut off with all that follows it.
	if json.Unmarshal([]byte(text), &object) == nil && asked(object) {
		return object, ""
	}
	text = guardrail.StripReasoning(text)
	if strings.TrimSpace(text) == "" {
		return nil, "the answer is thinking and nothing else"
	}
	const tries = 64 // each reads up to the whole text
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
		i += int(dec.InputOffset()) - 1 // what is inside belongs to it
	}
	if braces > 0 {
		return nil, "no complete JSON object with the fields that were asked for: it is cut off, malformed, or another one"
	}
	return nil, "it is prose and not a JSON object"
}

func asked(object map[string]json.RawMessage) bool {
	_, summary := object["summary"]
	_, facts := object["facts"]
	return summary || facts
}

// folder spells text as quotes are compared: lower case, one space for any white
// space and none within scripts that are written without, plain quotation marks
// and dashes, and parentheses for the brackets that rendering may have changed.
type folder struct {
	b      strings.Builder
	at     []int // for each byte of b, where its character starts in the text; nil when not asked for
	places bool
}

// fold returns text as quotes are compared.
func fold(text string) string {
	f := folder{}
	f.run(text)
	return f.b.String()
}

func (f *folder) run(text string) {
	f.b.Grow(len(text))
	var last rune // that was written
	space := -1   // where white space began that was not written yet
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

func (f *folder) write(s string, at int) {
	f.b.WriteString(s)
	if f.places {
		for range len(s) {
			f.at = append(f.at, at)
		}
	}
}

// spelling returns how a character is compared, and the character that counts as
// the neighbour of the next; "" for what is not compared.
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

// wording is the same for two facts that say the same in the same words.
func wording(text string) string {
	return strings.TrimRight(fold(text), " .!。！")
}
