package simulate

import (
	"slices"
	"strings"
	"unicode"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

var (
	// named matches something that can be asked for by name: a path, an identifier,
	// quoted text, a number, an acronym.
	named = lazyregexp.New("`[^`]+`|\"[^\"]+\"|\\d|[\\w.-]+/[\\w./-]+|\\w+\\.\\w+|[a-z]+[A-Z]\\w*|[A-Z][a-z]+[A-Z]\\w*|\\w+_\\w+|\\b[A-Z]{2,}\\b|@\\w+|--\\w+")
	// properName matches a capitalized word that is not at the start of a sentence.
	properName = lazyregexp.New(`[\pL\d,;:] \p{Lu}\pL+`)
	instructs  = lazyregexp.New(`(?i)^(?:please\s+)?(?:always|never|don't|do not|use|prefer|avoid|run|keep|write|answer|call|make sure|ask|the user (?:prefers|wants|likes|avoids))\b`)
	ofSession  = lazyregexp.New(`(?i)\b(?:(?:in|during) this (?:session|conversation|chat|turn)|the (?:assistant|agent|user) (?:said|asked|thanked|greeted|replied|says|asks)|as an ai|let me (?:look|check|read|see|try)|i(?:'ll| will) (?:now|look|read|check|try)|tool (?:call|result) (?:returned|said)|you're welcome|happy to help)\b`)
	passing    = lazyregexp.New(`(?:^|[\s"'(])(?:/tmp/|/var/folders/|/private/)\S+`)
	oneWord    = lazyregexp.New(`^\S*$`)
)

// Junk reports whether a claim is junk, and why. A claim is junk if its text
//
//   - says nothing: it is a single word, or has fewer than 12 characters;
//   - names nothing: no path, identifier, number, name, quoted text, nor an entity
//     of its own of more than one word, such as a command, and it is no instruction
//     either, so that nobody could ask for it;
//   - speaks of the session itself, such as "the user asked" or "let me check"
//     (an episode may: that is what it is for);
//   - is a question;
//   - is a copy rather than a statement: more than six lines, unless an episode;
//   - rests on what does not last: a path in a temporary folder.
//
// Whether a claim repeats another one depends on the other claims: see Repeats.
func Junk(c *ken.Claim) (reason string, junk bool) {
	text := strings.TrimSpace(c.Text)
	episode := c.Kind == ken.KindEpisode
	switch {
	case len(text) < 12 || oneWord.MatchString(text):
		return "says nothing", true
	case ofSession.MatchString(text) && !episode:
		return "speaks of the session", true
	case strings.HasSuffix(text, "?"):
		return "is a question", true
	case strings.Count(text, "\n") > 6 && !episode:
		return "is a copy", true
	case passing.MatchString(text):
		return "does not last", true
	case !named.MatchString(text) && !namesEntity(c) && !properName.MatchString(text) && !instructs.MatchString(text) && analysis.FormOf(text).Traits&analysis.Instructs == 0:
		return "names nothing", true
	}
	return "", false
}

// namesEntity reports whether a claim's text contains one of its entities that is more
// than an ordinary word.
func namesEntity(c *ken.Claim) bool {
	return slices.ContainsFunc(c.Entities, func(e string) bool {
		return strings.ContainsAny(e, " /-_.") && strings.Contains(c.Text, e)
	})
}

// Repeats returns the claims that say the same as an earlier one in the list: the same
// words, ignoring case, punctuation and order. Numbers are words.
func Repeats(claims []ken.Claim) []int {
	seen := map[string]bool{}
	var out []int
	for i := range claims {
		key := bag(claims[i].Text)
		if seen[key] {
			out = append(out, i)
		}
		seen[key] = true
	}
	return out
}

// bag returns the words of a text in a canonical order.
func bag(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;:!?\"'`()", r) })
	for i := range words {
		words[i] = strings.Trim(words[i], ".")
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}
