package knownitem

import (
	"math/rand/v2"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// question turns one of the claim's sentences into a question. It uses the first one, in random
// order, that matches a form and whose words identify the claim.
func question(c *collection, claim *ken.Claim, rng *rand.Rand) (text, hidden string) {
	who, list := said(claim)
	for _, i := range rng.Perm(len(list)) {
		s := strings.TrimSpace(list[i])
		if n := len(strings.Fields(s)); n < 4 || n > 40 || looksLikeCode(s) || phrase.MatchString(s) {
			continue
		}
		for _, ask := range forms {
			if q := ask(who, s); askable(q) && c.identifies(q) && len(analysis.Terms(q)) >= 2 {
				return q, ""
			}
		}
	}
	return "", ""
}

// askable reports whether a question has a usual length.
func askable(q string) bool {
	n := len(strings.Fields(q))
	return n >= 4 && n <= 24
}

// phrase matches what assistants say at the end of any answer.
var phrase = lazyregexp.New(`(?i)\b(?:any|more|specific) (?:more |other )?questions\b|\bfurther (?:assistance|help|clarification)\b|\blet me know\b`)

// looksLikeCode reports whether a text has characters that sentences seldom have.
func looksLikeCode(s string) bool {
	return strings.ContainsAny(s, "={}<>[]\\$|\"") || strings.Contains(s, "()")
}

// forms are tried in order. Each returns a question for a sentence s of speaker who, or "".
var forms = []func(who, s string) string{askWhen, askHow, askWhy, askWhatIf, askWhatIs, askModal, askWhich, askAbout}

var (
	timePhrase = lazyregexp.New(`(?i)[ ,]*\b(?:yesterday|today|tonight|recently|ago|(?:a|one|two|three|four|five|six|seven|ten|a few|several|\d+) (?:days?|weeks?|months?|years?|hours?|minutes?) ago` +
		`|(?:last|this|next) (?:night|week(?:end)?|month|year|summer|spring|autumn|fall|winter|mon|tues|wednes|thurs|fri|satur|sun)(?:day)?` +
		`|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:on|in|since|by) (?:january|february|march|april|may|june|july|august|september|october|november|december)(?: \d{1,2}(?:st|nd|rd|th)?)?(?:,? \d{4})?` +
		`|in (?:19|20)\d\d|on \d{4}-\d\d-\d\d|the other day)\b`)
	subjectPast = lazyregexp.New(`^((?i:I|we|they|he|she|you)|[A-Z][\p{L}'-]+|(?i:the) [\p{L}-]+) (?i:just |finally |also |actually |even |recently )?([\p{L}]+) (.+)$`)
	toDo        = lazyregexp.New(`^(?i:to) ([a-z]+ [^,:]{4,80})[,:]`)
	useTo       = lazyregexp.New(`^(?i:use|run|call|set|pass|see|start|try|add|open|create|edit|change|with|put|type|press|write)\b[^.;]{2,80}? to ([a-z]+ [^,.;:]{4,80})[.!]?$`)
	because     = lazyregexp.New(`^([^,;:]{12,100}?),? (?:because|since it|since they|so that|in order to)\b`)
	whenIf      = lazyregexp.New(`^(?i:when|if|once|whenever) ((?:an?|the|it|there|no|[\p{L}]+) [^,;:]{4,90}), `)
	lateIf      = lazyregexp.New(`^[^,;:]{8,90}? (?:when|if|whenever) ((?:an?|the|there|no) [^,;:.]{6,90})\.?$`)
	definition  = lazyregexp.New(`^((?i:(?:an?|the) )?[\p{L}\d][\p{L}\d ._/-]{1,50}?) (is|are|was|were) (.+)$`)
	modal       = lazyregexp.New(`^((?i:(?:an?|the|each|every|all|no) )?[\p{L}\d][\p{L}\d ._/'-]{1,50}?) (must|should|can|can't|cannot|may|will|won't|would) (?:(not|never|only) )?(.+)$`)
	transitive  = lazyregexp.New(`^((?i:(?:an?|the|each|every) )?[\p{L}\d][\p{L}\d ._/'()-]{1,50}?) (` + strings.Join(doing, "|") + `) (.+)$`)
)

// doing lists verbs that sentences about software use with their subject.
var doing = strings.Fields(`accepts adds allows answers applies asks avoids builds calls carries catches checks cleans closes compares
	computes contains controls converts copies counts covers creates cuts decides decodes defines deletes describes drops
	embeds encodes ends ensures expects exports fails fetches fills filters finds flushes follows formats gathers generates
	gets gives groups handles has hides holds ignores imports indexes inserts installs joins keeps lets limits lists loads locks
	logs looks makes manages maps marks matches means measures merges moves names needs notes opens orders owns parses passes
	picks prevents prints processes produces protects provides publishes puts reads rebuilds receives records reduces refuses
	registers rejects releases removes renames renders replaces replays reports requires resets resolves returns retries reverts runs
	says scales schedules searches selects sends serves sets shows skips sorts speaks splits starts stops stores strips supports
	switches takes tells tests tracks translates tries turns updates uses validates verifies waits walks watches works wraps writes yields`)

// askWhen turns a sentence about something that happened at some time into a question for the time.
func askWhen(who, s string) string {
	at := timePhrase.FindStringIndex(s)
	if at == nil {
		return ""
	}
	s = strings.TrimSpace(s[:at[0]] + s[at[1]:])
	s = strings.TrimLeft(s, ", ")
	m := subjectPast.FindStringSubmatch(end(s))
	if m == nil {
		return ""
	}
	verb, ok := infinitive(m[2])
	if !ok {
		return ""
	}
	return "When did " + asker(who, m[1]) + " " + verb + " " + clause(asked(who, m[3])) + "?"
}

// askHow turns "To reset it, …" and "Use this to reset it" into "How do I …".
func askHow(who, s string) string {
	for _, form := range []*lazyregexp.Regexp{toDo, useTo} {
		if m := form.FindStringSubmatch(s); m != nil && actions()[strings.Fields(m[1])[0]] {
			return "How do I " + asked(who, m[1]) + "?"
		}
	}
	return ""
}

// askWhy asks for the reason that a sentence states.
func askWhy(who, s string) string {
	m := because.FindStringSubmatch(s)
	if m == nil {
		return ""
	}
	d := definition.FindStringSubmatch(m[1])
	if d == nil || !nominal(d[1]) {
		return ""
	}
	return "Why " + d[2] + " " + asker(who, uncapital(d[1])) + " " + asked(who, d[3]) + "?"
}

// askWhatIf asks for the consequence of a condition.
func askWhatIf(who, s string) string {
	for _, form := range []*lazyregexp.Regexp{whenIf, lateIf} {
		if m := form.FindStringSubmatch(s); m != nil && !strings.HasPrefix(m[1], "to ") {
			return "What happens when " + asked(who, m[1]) + "?"
		}
	}
	return ""
}

// askWhatIs asks for a definition. It adds the predicate if the subject alone is too short.
func askWhatIs(who, s string) string {
	m := definition.FindStringSubmatch(end(s))
	if m == nil || !nominal(m[1]) {
		return ""
	}
	subject := asker(who, uncapital(m[1]))
	if len(analysis.Terms(subject)) >= 2 {
		return "What " + m[2] + " " + subject + "?"
	}
	if first, _, _ := strings.Cut(m[3], " "); first != "a" && first != "an" && first != "the" {
		return ""
	}
	return "What " + m[2] + " " + clause(asked(who, m[3])) + "?"
}

// askModal turns a rule into a question about it.
func askModal(who, s string) string {
	m := modal.FindStringSubmatch(end(s))
	if m == nil || !nominal(m[1]) {
		return ""
	}
	verb := map[string]string{"can't": "can", "cannot": "can", "won't": "will"}[m[2]]
	if verb == "" {
		verb = m[2]
	}
	return capital(verb) + " " + asker(who, uncapital(m[1])) + " " + clause(asked(who, m[4])) + "?"
}

// askWhich asks for the subject of an action.
func askWhich(who, s string) string {
	m := transitive.FindStringSubmatch(end(s))
	if m == nil || strings.HasPrefix(m[3], "(") {
		return ""
	}
	return "What " + m[2] + " " + clause(asked(who, m[3])) + "?"
}

// askAbout asks what a speaker said, with the last words of the sentence.
func askAbout(who, s string) string {
	if who == "" || strings.HasSuffix(s, "?") {
		return ""
	}
	words := strings.Fields(clause(end(s)))
	for i := len(words) - 2; i > 0 && len(words)-i <= 6; i-- {
		switch strings.ToLower(words[i]) {
		case "is", "are", "was", "were", "that", "to", "it", "me", "i", "you":
			return ""
		case "a", "an", "the", "my", "our", "their", "his", "her", "some":
			return "What did " + who + " say about " + asked(who, strings.Join(words[i:], " ")) + "?"
		}
	}
	return ""
}

// asker returns the subject of a question about a statement of who.
func asker(who, subject string) string {
	switch strings.ToLower(subject) {
	case "i":
		if who != "" {
			return who
		}
		return "I"
	case "we":
		if who != "" {
			return who
		}
		return "we"
	}
	if strings.HasPrefix(subject, "The ") {
		return uncapital(subject)
	}
	return subject
}

var firstPerson = lazyregexp.New(`\b(?i:my|our)\b`)

// asked rewrites a part of a sentence for the asker: "my dog" becomes "Anna's dog".
func asked(who, s string) string {
	s = end(s)
	if who == "" {
		return s
	}
	return firstPerson.ReplaceAllString(s, "their")
}

// clause returns the first clause, up to a comma or a dash.
func clause(s string) string {
	if i := strings.IndexAny(s, ",;:—("); i > 0 {
		s = s[:i]
	}
	for _, cut := range []string{" and I ", " and it ", " but ", " which ", " so ", " because "} {
		if i := strings.Index(s, cut); i > 12 {
			s = s[:i]
		}
	}
	return strings.TrimSpace(s)
}

// end removes the punctuation at the end of a sentence.
func end(s string) string { return strings.TrimRight(strings.TrimSpace(s), ".!?:;, ") }

// nominal reports whether s can be the subject of a sentence: at most five words, none of which
// begins a clause, is only a pronoun, or gives an order.
func nominal(s string) bool {
	words := strings.Fields(strings.ToLower(s))
	if len(words) == 0 || len(words) > 5 || strings.Contains(words[0], "'") {
		return false
	}
	for i, w := range words {
		switch w {
		case "that", "if", "when", "given", "assumes", "assuming", "note", "because", "what", "which", "who", "how", "where", "why", "so",
			"and", "but", "or", "then", "while", "as", "to", "i", "you", "we", "he", "she", "they", "there", "here", "it":
			return false
		case "this", "these", "those":
			return i == 0 && len(words) > 1 && len(words) < 4
		}
		if i == 0 && actions()[w] || i > 0 && i+1 < len(words) && actions()[w] && words[i-1] == "the" {
			return i > 0
		}
	}
	return true
}

// actions are the base forms of verbs that a question can begin with, as in "How do I …".
var actions = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for _, v := range doing {
		for _, base := range bases(v) {
			m[base.word] = true
		}
	}
	for v := range strings.FieldsSeq(`apply attach avoid backup begin bring change choose clear click commit connect debug detect disable do download
		edit enable enter execute extend find fix force help inspect learn log migrate monitor obtain override perform prevent
		reach refresh reproduce restart restore review rewrite see specify switch tune type upgrade upload view visit`) {
		m[v] = true
	}
	delete(m, "doe")
	return m
})

// uncapital makes the first letter of a sentence lower case, unless the word is a name or an
// identifier.
func uncapital(s string) string {
	first, _, _ := strings.Cut(s, " ")
	low := strings.ToLower(first)
	if analysis.IsStopWord(low) || low == "each" || low == "every" || low == "all" || low == "no" {
		r, n := utf8.DecodeRuneInString(s)
		return string(unicode.ToLower(r)) + s[n:]
	}
	return s
}

func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}
