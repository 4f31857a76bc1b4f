package guardrail

import (
	"encoding/base64"
	"math"
	"strings"
)

// near finds a password on the line of the cue s[from:end] without a link between the two:
// "log in as admin with …", "… is the password", "changed from … to …". It only accepts
// words that are almost certainly passwords.
func (c *cue) near(s string, from, end int) (Finding, bool) {
	const reach = 120
	fits := isStrong
	switch c.kind {
	case "api-key", "token", "secret":
		fits = isRandom
	case "password", "login":
		if c.word == "pass" {
			return Finding{}, false
		}
	default:
		return Finding{}, false
	}
	if rest := strings.TrimLeft(s[end:min(len(s), end+8)], " "); strings.HasPrefix(rest, "==") || strings.HasPrefix(rest, "!=") {
		return Finding{}, false // a comparison in code
	}
	lo, hi := max(0, from-reach), min(len(s), end+reach)
	if k := strings.LastIndexByte(s[lo:from], '\n'); k >= 0 {
		lo += k + 1
	}
	if k := strings.IndexByte(s[end:hi], '\n'); k >= 0 {
		hi = end + k
	}
	for lo > 0 && lo < from && s[lo-1] > ' ' { // not in the middle of a word
		lo++
	}
	for hi < len(s) && hi > end && s[hi] > ' ' {
		hi--
	}
	if strings.Contains(s[end:hi], "[redacted:") {
		return Finding{}, false // it was redacted already
	}
	if f, ok := c.first(fits, s, end, hi); ok {
		return f, true
	}
	if f, ok := c.first(fits, s, lo, from); ok {
		return f, true
	}
	return c.below(s, end, hi)
}

// below finds a secret that is the only word on the next line. The cue ends at end and its
// line at hi, with only a colon between them.
func (c *cue) below(s string, end, hi int) (Finding, bool) {
	if c.kind == "login" || hi >= len(s) || s[hi] != '\n' || strings.Trim(s[end:hi], " \t\r*") != ":" {
		return Finding{}, false
	}
	i := hi
	for i < len(s) && s[i] <= ' ' {
		i++
	}
	if strings.HasPrefix(s[i:], "```") { // a code block with one line
		if k := strings.IndexByte(s[i:], '\n'); k >= 0 {
			i += k + 1
		}
	}
	v, stop := wordAt(s, i, len(s))
	if rest, _, _ := strings.Cut(s[stop:], "\n"); strings.TrimSpace(rest) != "" {
		return Finding{}, false
	}
	start := i + len(v) - len(strings.TrimLeft(v, "\"'`*"))
	v = strings.Trim(v, "\"'`*")
	return Finding{c.kind, start, start + len(v)}, v != "" && c.fits(v)
}

// first returns the first word in s[lo:hi] that fits.
func (c *cue) first(fits func(string) bool, s string, lo, hi int) (Finding, bool) {
	for i := lo; i < hi; {
		w, digit := i, false
		for w < hi && s[w] > ' ' {
			digit = digit || '0' <= s[w] && s[w] <= '9'
			w++
		}
		if digit && w-i >= shortestStrong {
			start, end := i, w
			for start < end && strings.IndexByte("\"'`(*", s[start]) >= 0 {
				start++
			}
			for end > start && strings.IndexByte("\"'`)*.,;:?", s[end-1]) >= 0 {
				end--
			}
			known := false // a password is expected here
			if k := strings.IndexAny(s[start:end], ":/"); k > 0 && c.kind != "api-key" && plainName(s[start:start+k]) {
				pass := s[start+k+1 : end]
				if known = strings.Contains(users, "|"+strings.ToLower(s[start:start+k])+"|") && isPassword(pass); known || fits(pass) {
					start += k + 1
				}
			}
			if known || fits(s[start:end]) {
				kind := c.kind
				if kind == "login" {
					kind = "password"
				}
				return Finding{kind, start, end}, true
			}
		}
		i = w + 1
	}
	return Finding{}, false
}

// users are names that only a password follows after a colon or a slash.
const users = "|admin|administrator|root|user|sa|postgres|ubuntu|pi|guest|operator|oracle|ec2-user|deploy|"

// plainName reports whether s can be the name of a user or a field.
func plainName(s string) bool {
	for i := range len(s) {
		if !wordDash(s[i]) && s[i] != '.' {
			return false
		}
	}
	return true
}

// plainWord finds a password of letters alone: "the admin password is WORD", with the word at the end of
// the sentence. The cue is s[from:end]. It finds no word that describes a password, and nothing in a
// condition or in a sentence about passwords in general.
func (c *cue) plainWord(s string, from, end, limit int) (Finding, bool) {
	const least, most, reach = 8, 40, 48
	if c.word != "password" && c.word != "passphrase" {
		return Finding{}, false
	}
	k := strings.Index(s[end:limit], " is ")
	if k < 0 || k > 0 && !strings.HasPrefix(s[end:], " for ") && !strings.HasPrefix(s[end:], " of ") && !strings.HasPrefix(s[end:], " on ") && !strings.HasPrefix(s[end:], " to ") ||
		strings.ContainsAny(s[end:end+k], ".,;:!?()\"'`") {
		return Finding{}, false
	}
	start := end + k + len(" is ")
	stop := start
	for stop < len(s) && letter(s[stop]) {
		stop++
	}
	v := strings.ToLower(s[start:stop])
	if len(v) < least || len(v) > most || stop < len(s) && strings.IndexByte(".,;\n", s[stop]) < 0 || stop+1 < len(s) && s[stop] == '.' && s[stop+1] > ' ' || isNoSecret(v) || describesPassword(v) {
		return Finding{}, false
	}
	before := s[max(0, from-reach):from]
	before = strings.ToLower(before[strings.LastIndexAny(before, ".!?:;\n")+1:])
	for i, w := range strings.Fields(before) {
		if i == 0 && strings.HasSuffix(w, "ing") { // changing the password is …
			return Finding{}, false
		}
		switch w {
		case "if", "when", "whether", "unless", "until", "once", "sure", "ensure", "that", "how", "why", "what", "where", "with", "of", "about", "without", "behind", "a", "an", "any", "every", "each", "no":
			return Finding{}, false
		}
	}
	return Finding{c.kind, start, stop}, true
}

// describesPassword reports whether a word in lower case says something of a password: most such words
// have the ending of an adjective, a participle or an adverb.
func describesPassword(v string) bool {
	for _, end := range [...]string{"ed", "tten", "oken", "dden", "osen", "olen", "iven", "aken", "ing", "able", "ible", "ive", "ory", "ary", "ful", "less", "ous", "al", "ic", "ent", "ant", "ate", "ete", "ect", "ly", "word", "where", "thing",
		"body", "text", "case", "ness", "tion", "sion", "ment", "ance", "ence", "ity", "ism", "stream", "day", "ware", "side"} {
		if strings.HasSuffix(v, end) {
			return true
		}
	}
	switch v {
	case "insecure", "obsolete", "whatever", "overdue", "together", "familiar", "similar", "singular", "complex", "offline", "overkill", "nonsense", "bitwarden",
		"standard", "straightforward", "security", "trouble", "yourself", "yours":
		return true
	}
	return false
}

// isRandom reports whether v is a generated key or token. Digests with their algorithm's
// name, paths and UUIDs are not.
func isRandom(v string) bool {
	if len(v) < 24 || len(v) > 256 || digits(v) < 4 && !(digits(v) > 0 && shuffled(v)) || letters(v) < 4 || strings.ContainsAny(v, "()[]{}<>|\\\"'`,;:$%&@#*?!") || strings.Contains(v, "..") ||
		strings.Count(v, "/") > 2 || isUUID(v) || isPlaceholder(v) || entropy(v) < 3.4 {
		return false
	}
	run, longest := 0, 0 // lengths of runs without separators
	for i := range len(v) {
		if run++; !alnum(v[i]) && v[i] != '+' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest >= 16
}

const shortestStrong = 7

// isStrong reports whether a word is almost certainly a password: it has letters, digits and
// a sign among them, or letters of both cases with digits in two places.
func isStrong(v string) bool {
	if len(v) < shortestStrong || len(v) > 64 || letters(v) < 3 || digits(v) < 1 || !alnum(v[0]) || !isASCII(v) || strings.ContainsAny(v, "()[]{}<>|\\\"'`,;:/=+") ||
		isPlaceholder(v) || describesSecret(v) || isNoSecret(v) {
		return false
	}
	n := signs(v)
	if reference := strings.IndexByte(v, '#'); n == 1 && reference > 0 && letters(v[reference:]) == 0 || strings.Contains(v, "%2") || strings.HasSuffix(v, "%") {
		return false // an issue number, or an escape
	}
	return n > 0 || mixed(v) && digitGroups(v) >= 2 && digits(v)+letters(v) == len(v) && changes(v) >= 5
}

// signs counts the signs in a word that begins with a letter or a digit, without an @ of an address or a version.
func signs(v string) int {
	n := 0
	for i := range len(v) {
		if strings.IndexByte("!#$%^&?~", v[i]) >= 0 {
			n++
		} else if host := v[i+1:]; v[i] == '@' && (letters(host) == 0 && !strings.Contains(host, ".") || i <= 2 && mixed(v)) {
			n++
		}
	}
	return n
}

// digitGroups counts the runs of digits.
func digitGroups(v string) int {
	n, within := 0, false
	for i := range len(v) {
		digit := '0' <= v[i] && v[i] <= '9'
		if digit && !within {
			n++
		}
		within = digit
	}
	return n
}

// changes counts the changes between digits, capitals and small letters.
func changes(v string) int {
	class := func(c byte) byte { return c & 0x60 }
	n := 0
	for i := 1; i < len(v); i++ {
		if class(v[i]) != class(v[i-1]) {
			n++
		}
	}
	return n
}

// isLicenceKey reports whether v looks like a licence key: groups of capitals and digits, or a
// generated token.
func isLicenceKey(v string) bool {
	groups := strings.Split(v, "-")
	for _, g := range groups {
		if len(g) < 4 || strings.Trim(g, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
			return looksGenerated(v)
		}
	}
	return len(groups) >= 3 && digits(v) >= 2 && letters(v) >= 2 && !isPlaceholder(v)
}

// phrase finds the twelve or more plain words of a wallet's recovery phrase after the cue
// that ends at end.
func (c *cue) phrase(s string, end int) (Finding, bool) {
	const reach, least, most = 48, 12, 24
	// words counts the plain words from i on, and returns their end.
	words := func(i int) (n, stop int) {
		for stop = i; n < most; n++ {
			w := stop
			if n > 0 {
				for w < len(s) && strings.IndexByte(" ,\n\t", s[w]) >= 0 {
					w++
				}
			}
			k := w
			for k < len(s) && 'a' <= s[k] && s[k] <= 'z' {
				k++
			}
			if k-w < 3 || k-w > 8 || k < len(s) && strings.IndexByte(" ,\n\t.\"'`", s[k]) < 0 {
				break
			}
			stop = k
		}
		return n, stop
	}
	for i := end; i < min(len(s), end+reach); i++ {
		if s[i-1] <= ' ' || strings.IndexByte("\"'`:", s[i-1]) >= 0 {
			if n, stop := words(i); n >= least && !hasSentenceWord(s[i:stop]) {
				return Finding{c.kind, i, stop}, true
			}
		}
	}
	return Finding{}, false
}

// hasSentenceWord reports whether s has a common word of sentences. The list of BIP 39 contains
// none of them.
func hasSentenceWord(s string) bool {
	for w := range strings.FieldsSeq(s) {
		switch w {
		case "the", "and", "for", "are", "was", "with", "from", "has", "have", "not", "must", "when", "your", "its", "our", "but", "into", "which", "were", "never", "should":
			return true
		}
	}
	return false
}

// findAuthorization finds the credentials of an Authorization or Proxy-Authorization
// header: in a request, in a program that sets it, or in JSON. i is the start of the word.
func findAuthorization(s string, i int) (Finding, bool) {
	const name = "authorization"
	if i+len(name) >= len(s) || !strings.EqualFold(s[i:i+len(name)], name) {
		return Finding{}, false
	}
	at := i + len(name)
	for n := 0; at < len(s) && n < 12 && strings.IndexByte("\\\"'` \t:=,>)]", s[at]) >= 0; n++ {
		at++
	}
	if at == i+len(name) {
		return Finding{}, false
	}
	first, end := headerWord(s, at)
	second, last := headerWord(s, blanks(s, end))
	if end < len(s) && s[end] == ' ' && scheme(first) != "" {
		start := last - len(second)
		switch kind := scheme(first); kind {
		case "basic-auth":
			return Finding{kind, start, last}, isBasicAuth(second)
		default:
			return Finding{kind, start, last}, headerToken(second, 12)
		}
	}
	return Finding{"authorization", at, end}, headerToken(first, 16)
}

// headerWord reads a token as defined in RFC 7235.
func headerWord(s string, at int) (w string, end int) {
	for end = at; end < len(s) && tokenByte(s[end]); end++ {
	}
	return s[at:end], end
}

// scheme returns the kind of credentials of an authentication scheme; "" for a scheme
// without secret credentials, or for another word.
func scheme(name string) string {
	switch strings.ToLower(name) {
	case "basic":
		return "basic-auth"
	case "bearer":
		return "bearer-token"
	case "token", "apikey", "api-key", "key", "genie-key", "bot", "pve", "oauth":
		return "authorization"
	}
	return ""
}

// isBasicAuth reports whether v is a user and a password in base64.
func isBasicAuth(v string) bool {
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "="))
	if err != nil {
		return false
	}
	user, pass, ok := strings.Cut(string(b), ":")
	for _, c := range b {
		ok = ok && ' ' <= c && c != 0x7f
	}
	return ok && (pass == "" && len(user) >= 16 || chosen(user, pass))
}

// headerToken reports whether v is a generated token with at least this length.
func headerToken(v string, least int) bool {
	return len(v) >= least && digits(v) >= 2 && letters(v) >= 2 && entropy(v) > 2.75 && !isPlaceholder(v)
}

// credible reports whether an assigned value looks like a secret, and not like a word, a
// placeholder or an expression. The limits were chosen so that Go and Markdown sources have
// almost no findings except those that their authors wrote as a secret.
func credible(v string, quoted, chosen bool) bool {
	least, bits := 16, 3.0 // generated: a token or a key
	if chosen {            // chosen by a person: shorter and less random
		least, bits = 8, 2.75
	}
	if !quoted { // more often an expression
		bits += 0.25
		if !chosen {
			least += 4
		}
		if strings.Contains(v, "->") || strings.Contains(v, "::") || strings.HasPrefix(v, "&") || strings.HasPrefix(v, "*") {
			return false
		}
	}
	// Brackets and backslashes are parts of expressions and escapes, blanks of prose.
	if len(v) < least || isUUID(strings.TrimPrefix(v, "urn:uuid:")) || isPlaceholder(v) || strings.ContainsAny(v, "\\()[]") || !isASCII(v) || strings.ContainsFunc(v, isBlank) {
		return false
	}
	if n := digits(v); n < 2 && (!quoted || !chosen) || symbols(v) == 0 && (n == 0 || letters(v) == 0 || isAddress(v, chosen)) {
		return false
	}
	return entropy(v) >= bits
}

// isAddress reports whether a value without signs has the separators of a path, an address or a selector. In a
// value that nobody has chosen, two may be there by chance.
func isAddress(v string, chosen bool) bool {
	n := strings.Count(v, ".") + strings.Count(v, "/") + strings.Count(v, ":")
	return n > 2 || n > 0 && chosen
}

// isASCII reports whether v has no bytes above those of printed ASCII.
func isASCII(v string) bool { return !strings.ContainsFunc(v, func(r rune) bool { return r >= 0x7f }) }

func isBlank(r rune) bool { return r <= ' ' }

// isPlaceholder reports whether a value stands for a secret and is none.
func isPlaceholder(v string) bool {
	if strings.HasPrefix(v, "$") || strings.HasPrefix(v, "%") || strings.ContainsAny(v, "<>{}") {
		return true
	}
	lower := strings.ToLower(v)
	for _, w := range [...]string{"...", "***", "xxxx", "$(", "example", "changeme", "change-me", "change_me", "your",
		"placeholder", "dummy", "redacted", "replace", "insert", "sample", "todo", "abcdefgh", "123456789"} {
		if strings.Contains(lower, w) {
			return true
		}
	}
	return false
}

// isUUID reports whether v is a UUID in the 8-4-4-4-12 form.
func isUUID(v string) bool {
	if len(v) != 36 {
		return false
	}
	for i := range len(v) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (v[i] == '-') || !dash && !('0' <= v[i] && v[i] <= '9' || 'a' <= v[i]|0x20 && v[i]|0x20 <= 'f') {
			return false
		}
	}
	return true
}

// entropy returns the Shannon entropy of v's bytes, in bits per byte.
func entropy(v string) float64 {
	var count [256]int
	for i := range len(v) {
		count[v[i]]++
	}
	h := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(v))
			h -= p * math.Log2(p)
		}
	}
	return h
}

func distinct(v string) int {
	var seen [256]bool
	n := 0
	for i := range len(v) {
		if !seen[v[i]] {
			seen[v[i]] = true
			n++
		}
	}
	return n
}

func digits(v string) int {
	n := 0
	for i := range len(v) {
		if '0' <= v[i] && v[i] <= '9' {
			n++
		}
	}
	return n
}

func letters(v string) int {
	n := 0
	for i := range len(v) {
		if 'a' <= v[i]|0x20 && v[i]|0x20 <= 'z' {
			n++
		}
	}
	return n
}

func alnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

func upperDigit(c byte) bool { return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' }

func wordDash(c byte) bool { return alnum(c) || c == '_' || c == '-' }

func wordSlash(c byte) bool { return alnum(c) || c == '/' }

func base64Byte(c byte) bool { return alnum(c) || c == '+' || c == '/' || c == '=' }

func percentBase64(c byte) bool { return base64Byte(c) || c == '%' }

func tokenByte(c byte) bool { return base64Byte(c) || c == '_' || c == '-' || c == '.' || c == '~' }
