package extract

import (
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/intent"
	"github.com/kenlayer/ken/internal/harvest/draft"
)

// maxEntities bounds the named things of a statement.
const maxEntities = 8

// statement is the candidate as the session taught it.
func (k *candidate) statement(limit int) draft.Statement {
	return draft.Statement{Text: k.attributed(limit), Quote: k.quote, Seq: k.from.entry.Seq, Sort: k.sort, Entities: k.entities(), Confidence: k.confidence}
}

// attributed is the text behind the speaker's name, with the dates that it means.
// The name is left out where an unnamed user speaks neither of anybody in the room
// nor to anybody.
func (k *candidate) attributed(limit int) string {
	prefix := k.prefix()
	if dated := prefix + capital(k.dated()) + k.question; characters(dated) <= limit {
		return dated
	}
	return prefix + capital(unmarked(k.text)) + k.question
}

// acceptedPrefix stands before a proposal of the assistant that the user accepted.
const acceptedPrefix = "Proposed by the assistant, accepted by the user: "

func (k *candidate) prefix() string {
	switch {
	case !k.from.person:
		return acceptedPrefix
	case k.from.name != "":
		return k.from.name + ": "
	}
	words := wordsOf(k.text)
	if k.sort != draft.Instruction && !has(words, len(words), self) && !has(words, len(words), other) {
		return ""
	}
	return userName + ": "
}

// dated is the text with the dates that it means.
func (k *candidate) dated() string {
	return explain(unmarked(k.text), k.from.entry.At)
}

// unmarked is text without the marks of emphasis.
func unmarked(text string) string { return strings.ReplaceAll(text, "**", "") }

// capital is s with its first letter in upper case, where that is a plain word.
func capital(s string) string {
	first, _, _ := strings.Cut(s, " ")
	if len(first) == 0 || first[0] < 'a' || first[0] > 'z' || strings.ContainsAny(first, "_./:()0123456789`") || first != strings.ToLower(first) {
		return s
	}
	return string(first[0]-'a'+'A') + s[1:]
}

// entities are the named things in the text, the speaker's name first.
func (k *candidate) entities() []string {
	s := intent.Analyze([]ken.Message{{Role: "user", Text: k.text + k.question}})
	var out []string
	for _, list := range [][]string{{k.from.name}, s.Entities, s.Symbols} {
		for _, e := range list {
			if e = squeeze(e); e != "" && !calendar(e) && len(out) < maxEntities && !containsFold(out, e) {
				out = append(out, e)
			}
		}
	}
	return out
}

// calendar reports the names of days, also of several.
func calendar(name string) bool {
	name = lower(name)
	_, day := weekdays[name]
	_, days := weekdays[strings.TrimSuffix(name, "s")]
	return day || days
}
