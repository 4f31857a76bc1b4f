package repository

import (
	"strings"
	"unicode"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// maxFrontMatter is the number of lines after which an unclosed opening rule is
// taken for what it looks like in the text: a thematic break.
const maxFrontMatter = 200

// frontMatter reads the block of settings that a document may start with, and
// returns its top-level words and the index of the line after it. The block
// stays part of the document's text; only what it says of title and status is
// used.
func frontMatter(lines []line) (map[string]string, int) {
	if len(lines) == 0 {
		return nil, 0
	}
	rule := strings.TrimRight(lines[0].text, " \t")
	if rule != "---" && rule != "+++" {
		return nil, 0
	}
	fields := map[string]string{}
	for i := 1; i < min(len(lines), maxFrontMatter); i++ {
		text := strings.TrimRight(lines[i].text, " \t")
		if text == rule || rule == "---" && text == "..." {
			return fields, i + 1
		}
		key, value, ok := strings.Cut(text, map[string]string{"---": ":", "+++": "="}[rule])
		if ok && lines[i].indent == 0 {
			fields[strings.ToLower(strings.TrimSpace(key))] = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return nil, 0
}

// statusWords are what decision records call their states. A record in force
// needs no mark; the others must not be read as if they were.
var statusWords = map[string]bool{
	"proposed": true, "draft": true, "rejected": true, "withdrawn": true, "deprecated": true,
	"superseded": true, "obsolete": true, "archived": true, "abandoned": true, "replaced": true, "deferred": true,
	"accepted": false, "done": false, "active": false, "final": false, "approved": false, "implemented": false,
}

var (
	statusLine    = lazyregexp.New(`(?i)^[\s>*+-]*\**status\**\s*:\s*\**\s*(.+)$`)
	statusHeading = lazyregexp.New(`(?i)^#{1,6}\s+status\s*#*$`)
)

// statusLines is how far from the top a document states its status.
const statusLines = 40

// documentStatus returns what a document says of itself when that is one of the
// states in which nobody should rely on it: from its front matter, or the first
// line like "Status: …", or the section of that name.
func documentStatus(lines []line, front string) string {
	if front != "" {
		return notInForce(front)
	}
	heading := false
	for i, l := range lines[:min(len(lines), statusLines)] {
		t := l.trimmed()
		switch {
		case heading && t != "" && !setextRule.MatchString(l.text):
			return notInForce(t)
		case statusHeading.MatchString(t), i+1 < len(lines) && strings.EqualFold(t, "status") && setextRule.MatchString(lines[i+1].text):
			heading = true
		default:
			if m := statusLine.FindStringSubmatch(t); m != nil {
				return notInForce(m[1])
			}
		}
	}
	return ""
}

// notInForce returns the first clause of a status, without markup, when its
// first word is a state that is not in force.
func notInForce(s string) string {
	s = strings.Trim(plainTitle(strings.ReplaceAll(s, "*", "")), " _")
	word, _, _ := strings.Cut(s, " ")
	word = strings.ToLower(strings.TrimRightFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }))
	if !statusWords[word] {
		return ""
	}
	for _, end := range []string{". ", " — ", "; ", " (", ", "} {
		s, _, _ = strings.Cut(s, end)
	}
	return clip(strings.TrimRight(s, ".,;:"), maxStatus)
}
