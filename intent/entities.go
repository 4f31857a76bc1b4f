package intent

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/analysis"
)

// findEntities ranks names: text that is quoted, mentioned with an @, in backticks, before a
// possessive, or capitalized inside a sentence. It ignores code, whose names are symbols.
func findEntities(out *ranking, text string, words []word) {
	shout := mostlyCapitals(words)
	for i := 0; i < len(words); i++ {
		w := &words[i]
		switch {
		case w.code:
		case w.quoted != 0 && quotation(text, words, i) >= 0:
			last := quotation(text, words, i)
			out.add(text[w.start:words[last].end], 4)
			i = last
		case w.unspaced:
		case w.at && !strings.ContainsAny(w.text, "/@"):
			out.add(w.text, 4)
		case w.possessive && !capital(w.text):
			if owner(words, i) {
				out.add(w.text, 3)
			}
		case !shout && names(words, i):
			last := sequence(words, i)
			if last > i || isName(words, i) {
				out.add(text[w.start:words[last].end], 3)
			}
			i = last
		}
	}
}

// names reports whether a name may start at word i.
func names(words []word, i int) bool {
	w := &words[i]
	if !capital(w.text) || w.not || len(w.text) > 40 {
		return false
	}
	low := w.low
	if analysis.IsStopWord(low) && !(acronym(w.text) && (low == "it" || low == "us" || low == "who")) {
		return false
	}
	return fillers[low] != never && !calendar[low] && exceptionName(w.text) == "" && !errorCode(w.text) && !failureWords[low]
}

// sequence returns the index of the last word of the name that starts at i, such as Golden Gate
// Bridge or Ludwig van Beethoven.
func sequence(words []word, i int) int {
	last := i
	for k := i + 1; k < len(words) && k-i < 6; k++ {
		w, before := &words[k], &words[k-1]
		if before.possessive || w.first || w.opens || w.comma || w.quoted != 0 || w.code || before.colon || before.asks {
			break
		}
		if capital(w.text) && !analysis.IsStopWord(w.low) && !calendar[w.low] {
			last = k
			continue
		}
		switch w.text {
		case "of", "de", "del", "della", "da", "di", "van", "von", "der", "den", "la", "le", "bin", "al", "the":
			continue // only counts if a capitalized word follows
		}
		break
	}
	return last
}

// isName reports whether the single capitalized word at i is a name. Inside a sentence it always is.
// At a sentence's start it must be an acronym, own something, be addressed, or be followed by a
// verb.
func isName(words []word, i int) bool {
	w := &words[i]
	if w.possessive || acronym(w.text) {
		return true
	}
	if isSymbol(w) != notSymbol || vague[w.low] {
		return false // findSymbols lists it
	}
	if !w.opens {
		return true
	}
	for k := range words { // it is also capitalized elsewhere
		if k != i && !words[k].opens && words[k].text == w.text {
			return true
		}
		if k > 100 {
			break
		}
	}
	if i+1 == len(words) || words[i+1].opens {
		return false
	}
	return verbs[words[i+1].low] || i == 0 && words[1].comma
}

// owner reports whether the lower-case possessive at i is a name: "mel's dog" has one, "the user's
// dog" and "today's" do not.
func owner(words []word, i int) bool {
	low := words[i].low
	if len(low) < 2 || analysis.IsStopWord(low) || vague[low] || calendar[low] || fillers[low] == never || digits(low) ||
		isSymbol(&words[i]) != notSymbol {
		return false
	}
	if i == 0 || words[i].opens {
		return true
	}
	switch words[i-1].low {
	case "the", "a", "an", "my", "your", "our", "his", "her", "their", "its", "this", "that", "each", "every", "any", "another":
		return false
	}
	return true
}

// mostlyCapitals reports whether capitals mean nothing in a text, because most words have one.
func mostlyCapitals(words []word) bool {
	capitals, n := 0, 0
	for i := range words {
		if w := &words[i]; !w.code && !w.unspaced {
			n++
			if capital(w.text) {
				capitals++
			}
		}
	}
	return n >= 5 && capitals*10 > n*7
}

// quotation returns the index of the last word of the quotation or backticked name that starts at
// i: at most six words on one line. It returns -1 if there is none.
func quotation(text string, words []word, i int) int {
	quote := words[i].quoted
	if quote == 0 || strings.IndexByte("`\"'", quote) < 0 {
		return -1
	}
	for k := i; k < min(i+6, len(words)) && (k == i || !words[k].first); k++ {
		if n := closing(text[words[k].end:], quote); n > 0 {
			if next := words[k].end + n; quote == '\'' && next < len(text) && isLetter(text[next]) {
				continue // an apostrophe
			}
			return k
		}
	}
	return -1
}

// closing returns the length of a closing quote at the start of s, including a few punctuation
// marks before it; 0 if there is none.
func closing(s string, open byte) int {
	for i, r := range s {
		switch {
		case i > 3:
			return 0
		case open == '"' && strings.ContainsRune("\"”“»«」』》", r), r == rune(open):
			return i + utf8.RuneLen(r)
		case r == '\n' || r == ' ' || r < utf8.RuneSelf && (isLetter(byte(r)) || isDigit(byte(r))):
			return 0
		}
	}
	return 0
}

func capital(s string) bool {
	if s == "" {
		return false
	}
	if s[0] < utf8.RuneSelf {
		return isUpper(s[0])
	}
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r)
}

// acronym reports whether s has two to six capitals, with digits allowed: LGBTQ, AWS, S3.
func acronym(s string) bool {
	for i := range len(s) {
		if !isUpper(s[i]) && (i == 0 || !isDigit(s[i])) {
			return false
		}
	}
	return len(s) >= 2 && len(s) <= 6
}

var (
	// calendar words are capitalized but are not names.
	calendar = analysis.Set(`monday tuesday wednesday thursday friday saturday sunday january february march april may june july
		august september october november december mon tue wed thu fri sat sun jan feb mar apr jun jul aug sep sept oct nov dec
		today yesterday tomorrow tonight christmas`)
	// vague words are used like names but name nothing.
	vague = analysis.Set(`nothing everything something anything someone somebody everyone everybody anyone nobody people one other
		another user users thing let today yesterday tomorrow week month year last
		however also additionally finally first second third next sorry sure since after before note example`)
	// verbs lists verbs that follow a name at the start of a statement.
	verbs = analysis.Set(`is was has had does did will would can could should said says told wants wanted went likes loves got gave made
		moved started works worked lives lived uses used bought thinks and or`)
)

// maxName is the maximum length of a name or path in bytes. Longer words are data.
const maxName = 200

// symbolKind says which form of symbol a word has.
type symbolKind uint8

const (
	notSymbol  symbolKind = iota
	identifier            // camelCase, PascalCase, snake_case, a::b
	dotted                // ken.NewClaim
	path                  // internal/store/bolt/log.go, log.go
)

// findSymbols ranks identifiers and paths, in the user's spelling. Those in backticks or prose rank
// before those in pasted code.
func findSymbols(out *ranking, words []word) {
	for i := range words {
		w := &words[i]
		score := 1
		if !w.code {
			score += 4
		}
		if i+1 < len(words) && joined(w, &words[i+1]) {
			out.add(w.text+words[i+1].text, score+1)
			continue
		}
		switch kind := isSymbol(w); {
		case kind != notSymbol:
			out.add(location(w.text), score)
		case (w.quoted == '`' || w.call) && !w.code && plainName(w.text):
			out.add(w.text, score+1) // `retry`, retry(): code, whatever its form
		}
	}
}

// joined reports whether two words are a method with its receiver, such as "(*Conn).Drain".
func joined(w, next *word) bool {
	return next.start == w.end+1 && next.text[0] == '.' && len(next.text) > 2 && plainName(w.text) && isSymbol(next) != notSymbol
}

// isSymbol returns the form of symbol that a word has.
func isSymbol(w *word) symbolKind {
	s := location(w.text)
	if len(s) < 2 || len(s) > maxName || w.unspaced {
		return notSymbol
	}
	has := marksIn(s)
	switch {
	case !has.letters || strings.Contains(s, "://"):
		return notSymbol
	case has.slash:
		if isPath(s) || w.quoted == '`' {
			return path
		}
		return notSymbol
	case has.at:
		return notSymbol // a URL
	case has.dot:
		return isDotted(s)
	case has.colons, has.under:
		return identifier
	case strings.Contains(s, "-") || strings.HasPrefix(s, "Mc") || strings.ContainsAny(s, "'&%+"):
		return notSymbol // kebab-case is usually prose
	case has.hump:
		return identifier
	}
	return notSymbol
}

// marks are the features of a word by which code is told from prose.
type marks struct {
	letters, slash, at, dot, colons bool
	under                           bool // between other characters
	hump                            bool // as in camelCase
}

// marksIn returns the marks of a word.
func marksIn(s string) (has marks) {
	for i := range len(s) {
		switch c := s[i]; {
		case c == '/' || c == '\\':
			has.slash = true
		case c == '.':
			has.dot = true
		case c == ':' && i+1 < len(s) && s[i+1] == ':':
			has.colons = true
		case c == '_':
			has.under = has.under || i > 0 && i < len(s)-1
		case c == '@':
			has.at = true
		case isUpper(c):
			has.letters = true
			has.hump = has.hump || i > 0 && isLower(s[i-1])
		case isLower(c):
			has.letters = true
			has.hump = has.hump || endsCapitals(s, i)
		}
	}
	return has
}

// endsCapitals reports whether the small letter at i ends a run of capitals, as in HTTPServer, but not as a plural: URLs.
func endsCapitals(s string, i int) bool {
	if i < 2 || !isUpper(s[i-1]) || !isUpper(s[i-2]) {
		return false
	}
	return s[i] != 's' || i+1 < len(s) && isLower(s[i+1])
}

// isPath reports whether a word with a slash is a path, unlike "and/or".
func isPath(s string) bool {
	switch {
	case strings.HasPrefix(s, "/"), strings.HasPrefix(s, "./"), strings.HasPrefix(s, "../"), strings.HasPrefix(s, "~/"):
		return len(s) > 3
	case strings.Count(s, "/")+strings.Count(s, "\\") >= 2:
		return true
	}
	i := strings.LastIndexAny(s, "/\\")
	return i == len(s)-1 || strings.Contains(s[i:], ".") || strings.Contains(s, "_")
}

// isDotted returns the form of a word with a dot. It distinguishes names such as os.path.join and
// log.go from abbreviations, host names and a missing space after a full stop.
func isDotted(s string) symbolKind {
	i := strings.LastIndexByte(s, '.')
	head, tail := s[:i], s[i+1:]
	switch {
	case extensions[tail]:
		return path
	case strings.HasPrefix(s, "."):
		return path // .gitignore
	case len(head) < 2 && len(tail) < 2, tail == "":
		return notSymbol
	}
	switch tail {
	case "com", "org", "net", "edu", "gov", "io":
		return notSymbol
	}
	for seg := range strings.SplitSeq(s, ".") {
		if seg == "" || !isLetter(seg[0]) && seg[0] != '_' || strings.ContainsAny(seg, "'%&+$#~") {
			return notSymbol
		}
	}
	if isUpper(tail[0]) && analysis.IsStopWord(strings.ToLower(tail)) {
		return notSymbol // "it broke.The"
	}
	return dotted
}

// location returns a path without a line and column number.
func location(s string) string {
	for range 2 {
		i := len(s)
		for i > 0 && isDigit(s[i-1]) {
			i--
		}
		if i == len(s) || i < 2 || s[i-1] != ':' || s[i-2] == ':' {
			break
		}
		s = s[:i-1]
	}
	return s
}

// plainName reports whether a single word may be a name in code.
func plainName(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && !isDigit(c) && c != '_' && c != '-' {
			return false
		}
	}
	return len(s) > 1 && len(s) <= maxName && isLetter(s[0])
}

// extensions lists extensions of files that people mention in conversations with an agent.
var extensions = analysis.Set(`go mod sum py pyi ipynb java kt kts scala js jsx ts tsx mjs cjs vue svelte rs c h cc cpp hpp cxx cs
		fs rb php swift lua sh bash zsh ps1 sql proto graphql html css scss xml json jsonl yaml yml toml ini cfg conf env lock
		md txt rst csv tsv log pdf png jpg svg zip gz tar tf hcl gradle cmake mk db wasm ex exs erl hs ml clj dart zig nix`)
