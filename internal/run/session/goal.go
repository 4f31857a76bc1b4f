package session

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/intent"
	"github.com/kenlayer/ken/internal/analysis"
)

// A request has at least so many terms: "fix it" says nothing by itself. One that
// turns away from a task says more of what it turns to, and one that says this much
// stands by itself.
const (
	firstTerms = 2
	turnTerms  = 3
	longTerms  = 20
)

// turnsAway reports whether the user's text is the goal from now on. It is when it
// asks for something and there is no goal yet, when it says that it is about
// something else, and when it shares no term with the task so far (the goal, the
// open questions, files, entities and the last step) without pointing back at it.
// So "also add a test for that" stays with the task, and "write the release notes
// for June" leaves it.
func (c *Checkpoint) turnsAway(text string) bool {
	terms := analysis.Terms(text)
	if len(terms) < firstTerms || smallTalk(text) {
		return false
	}
	switch {
	case c.Goal == "":
		return true
	case len(terms) < turnTerms:
		return false
	case saysElse(text):
		return true
	case len(terms) < longTerms && pointsBack(text):
		return false
	}
	task := map[string]bool{}
	for _, list := range [][]string{{c.Goal, c.LastStep}, c.Open, c.Files, c.Entities} {
		for _, s := range list {
			for _, t := range analysis.Terms(s) {
				task[t] = true
			}
		}
	}
	return !slices.ContainsFunc(terms, func(t string) bool { return task[t] })
}

func smallTalk(text string) bool {
	return !intent.Analyze([]ken.Message{{Role: "user", Text: text}}).Asks
}

// elsewhere are ways to say that what follows is another task.
var elsewhere = []string{"new task", "next task", "another task", "different task", "different topic", "another topic", "new topic",
	"something else", "something different", "something completely different", "switch to", "moving on", "move on to", "on another note", "unrelated"}

func saysElse(text string) bool {
	head := strings.ToLower(text[:min(len(text), 120)])
	return slices.ContainsFunc(elsewhere, func(s string) bool { return strings.Contains(head, s) })
}

// back are words that need what was said before. English only: elsewhere, terms
// alone decide. "This" is left out: what is pasted below is this as well.
var back = []string{"it", "its", "it's", "those", "them", "they", "also", "too", "again", "instead", "same", "still", "both", "above",
	"previous", "earlier", "then"}

// pointsBack looks at the first words: further on, such a word mostly points at
// something in the same message. "That" does so from the third word on.
func pointsBack(text string) bool {
	const first, firstThat = 12, 3
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' })
	for i, w := range words[:min(len(words), first)] {
		if slices.Contains(back, w) || w == "that" && (i < firstThat || i == len(words)-1) {
			return true
		}
	}
	return false
}

// prose is a text without what is between code fences.
func prose(s string) string {
	if !strings.Contains(s, "```") {
		return s
	}
	var b strings.Builder
	for i, part := range strings.Split(s, "```") {
		if i%2 == 0 {
			b.WriteString(part)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// asks reports a question that says what it asks: "ok?" does not.
func asks(sentence string) bool {
	const leastBytes = 8 // of a single word
	return question(sentence) && len(analysis.Terms(sentence)) > 0 && (strings.Contains(sentence, " ") || len(sentence) > leastBytes)
}

func question(sentence string) bool {
	return strings.HasSuffix(sentence, "?") || strings.HasSuffix(sentence, "？")
}

// sentences splits prose at line breaks, at marks that end a sentence in scripts
// without spaces, and at others when a space follows. A list's or a heading's marks
// go.
func sentences(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(strings.TrimSpace(line), "#>*- \t")
		start := 0
		for i, r := range line {
			end := i + utf8.RuneLen(r)
			switch {
			case end == len(line):
			case strings.ContainsRune("。！？", r):
			case strings.ContainsRune(".!?", r) && line[end] == ' ':
			default:
				continue
			}
			if s := strings.TrimSpace(line[start:end]); s != "" {
				out = append(out, s)
			}
			start = end
		}
	}
	return out
}
