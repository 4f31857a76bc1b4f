package guardrail

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// cue is a word after which people write a secret.
type cue struct {
	word string // in lower case
	kind string
	fits func(v string) bool // whether a bare word can be the secret
}

// cues are checked in this order; a longer cue precedes its prefix.
var cues = []cue{
	{"passphrase", "password", isPassword}, {"passwort", "password", isPassword}, {"passwords", "password", isPassword}, {"password", "password", isPassword},
	{"passord", "password", isPassword}, {"passwd", "password", isPassword}, {"passcode", "pin", isNumericCode}, {"pass", "password", isPassword},
	{"pwd", "password", isPassword}, {"pw", "password", isPassword}, {"kennwort", "password", isPassword}, {"mot de passe", "password", isPassword},
	{"contraseña", "password", isPassword}, {"contrasena", "password", isPassword}, {"senha", "password", isPassword}, {"wachtwoord", "password", isPassword},
	{"hasło", "password", isPassword}, {"lösenord", "password", isPassword}, {"adgangskode", "password", isPassword}, {"salasana", "password", isPassword},
	{"heslo", "password", isPassword}, {"jelszó", "password", isPassword}, {"şifre", "password", isPassword},
	{"пароль", "password", isPassword}, {"密码", "password", isPassword}, {"密碼", "password", isPassword}, {"口令", "password", isPassword},
	{"パスワード", "password", isPassword}, {"暗証番号", "pin", isNumericCode}, {"비밀번호", "password", isPassword},
	{"credentials", "password", isPassword}, {"pin", "pin", isNumericCode}, {"recovery code", "recovery-code", isNumericCode}, {"recovery codes", "recovery-code", isNumericCode},
	{"backup code", "recovery-code", isNumericCode}, {"backup codes", "recovery-code", isNumericCode}, {"one-time code", "pin", isNumericCode},
	{"api key", "api-key", looksGenerated}, {"secret key", "api-key", looksGenerated}, {"access key", "api-key", looksGenerated},
	{"secret", "secret", looksGenerated}, {"token", "token", looksGenerated},
	{"2fa code", "pin", isNumericCode}, {"verification code", "pin", isNumericCode}, {"security code", "pin", isNumericCode}, {"private key", "api-key", looksGenerated},
	{"clave", "password", isPassword}, {"parola d'ordine", "password", isPassword}, {"creds", "password", isPassword}, {"zugangsdaten", "password", isPassword},
	{"log in", "login", isPassword}, {"login", "login", isPassword}, {"sign in", "login", isPassword}, {"logged in", "login", isPassword}, {"log into", "login", isPassword},
	{"license key", "license-key", isLicenceKey}, {"licence key", "license-key", isLicenceKey}, {"activation key", "license-key", isLicenceKey}, {"product key", "license-key", isLicenceKey},
	{"seed phrase", "recovery-phrase", nil}, {"recovery phrase", "recovery-phrase", nil}, {"mnemonic", "recovery-phrase", nil},
}

// cueAnchors holds four bytes of each cue, and their offset in it.
var cueAnchors = []struct {
	text string
	back int
}{
	{"pass", 0}, {"de p", 4}, {"cred", 0}, {"pwd ", 0}, {"pwd:", 0}, {"nnwo", 2}, {"rase", 4},
	{"senh", 0}, {"twoo", 4}, {"hasł", 0}, {"ösen", 1}, {"ngsk", 3}, {"lasa", 2}, {"hesl", 0}, {"lszó", 2}, {"şif", 0}, {"паро", 0}, {"密码", 0},
	{"密碼", 0}, {"口令", 0}, {"パス", 0}, {"暗証", 0}, {"비밀", 0}, {"pin:", 0}, {"pin ", 0}, {"ry c", 6}, {"up c", 4},
	{"me c", 6}, {"pi k", 1}, {"et k", 4}, {"ss k", 4}, {"ret ", 3}, {"ret:", 3}, {"ken ", 2}, {"ken:", 2},
	{"clav", 0}, {"a d'", 5}, {"angs", 3}, {"og i", 1}, {"logi", 0}, {"gn i", 2}, {"ed i", 4}, {"se k", 5}, {"ce k", 5}, {"on k", 8}, {"ct k", 5},
	{"ed p", 2}, {"ry p", 6}, {"mnem", 0},
	{"fa c", 1}, {"on c", 10}, {"ty c", 6}, {"te k", 5},
}

// findStated returns a detector for a secret in a sentence: "the password for staging is …".
// Its anchor is at offset back in the cue.
func findStated(anchor string, back int) detector {
	var here []*cue
	for k := range cues {
		w := cues[k].word
		if len(w) > back && (strings.HasPrefix(w[back:], strings.TrimRight(anchor, " :")) || strings.HasPrefix(anchor, w[back:])) {
			here = append(here, &cues[k])
		}
	}
	return func(s string, i int) (Finding, bool) {
		from := i - back
		if from < 0 || from > 0 && (wordDash(s[from-1]) && s[from] < 0x80 || s[from-1] == '$' || s[from-1] == '.' || s[from-1] == '/') {
			return Finding{}, false
		}
		for _, c := range here {
			end := from + len(c.word)
			if end == len(s) && strings.EqualFold(s[from:], c.word) {
				if f, ok := c.before(s, from); ok {
					return f, true
				}
				return c.near(s, from, end)
			}
			if end >= len(s) || s[end-1]|0x20 != c.word[len(c.word)-1]|0x20 || alnum(s[end]) || s[end] == '_' || s[end] == '(' || !strings.EqualFold(s[from:end], c.word) || isTestResult(s, from, end) {
				continue
			}
			if f, ok := c.find(s, from, end); ok {
				return f, true
			}
			return c.near(s, from, end)
		}
		return Finding{}, false
	}
}

// isLink reports whether a word may be directly before the secret.
func isLink(word string) bool {
	switch word {
	case "is", "are", "was", "'s", "ist", "lautet", "war", "est", "es", "è", "é", "är", "er", "je", "on", "to", "now", "nun", "still", "currently", "auf":
		return true
	}
	return false
}

// joinedLinks are links without spaces around them.
var joinedLinks = []string{"：", "是", "为", "為", "は", ":", "=", "→", "->", "—", "는", "은"}

// find searches the text after the cue, which ends at end, for a link and the secret.
func (c *cue) find(s string, from, end int) (Finding, bool) {
	switch c.kind {
	case "login": // says where a password is used, but not which one it is
		return Finding{}, false
	case "recovery-phrase":
		return c.phrase(s, end)
	case "token", "secret": // common words in programs
		if !followsCommonWord(s, end) {
			return Finding{}, false
		}
	}
	limit, plain := restOfLine(s, end)
	if f, ok := c.plainWord(s, from, end, limit); ok {
		return f, true
	}
	if plain && c.word != "passphrase" || limit <= end+1 { // plain words are no secret
		return c.before(s, from)
	}
	if hasRouterType(s[end:limit]) {
		v, stop := wordAt(s, end+3, limit)
		return Finding{c.kind, end + 3, stop}, isPassword(v)
	}
	if rest := s[end:limit]; strings.HasPrefix(rest, "'s ") || strings.HasPrefix(rest, "’s ") { // the password's …
		return c.value(s, end+strings.IndexByte(rest, ' '), limit, false)
	}
	if s[end] == '"' || s[end] == '`' || s[end] == '*' { // "password": the name is in quotes
		end++
	}
	return c.findLinked(s, from, end, limit)
}

// followsCommonWord reports whether a secret may follow the word "token" or "secret" that ends at end:
// "token: …", "the secret is …", "token for the …", "token 4f…".
func followsCommonWord(s string, end int) bool {
	rest := s[end:]
	return rest[0] == ':' || strings.HasPrefix(rest, " is ") || strings.HasPrefix(rest, " for the ") || len(rest) > 1 && rest[1] <= '9'
}

// restOfLine returns the end of the line of s[i:], or of what a cue reaches, and whether there are only plain
// words up to it.
func restOfLine(s string, i int) (end int, plain bool) {
	const reach = 96
	var seen byte
	for end = i; end < min(len(s), i+reach) && s[end] != '\n'; end++ {
		seen |= secretBytes[s[end]]
	}
	return end, seen == 0
}

// hasRouterType reports whether s begins with the type of a password in a router's configuration:
// "password 7 08…".
func hasRouterType(s string) bool {
	return len(s) > 3 && s[0] == ' ' && strings.IndexByte("0578", s[1]) >= 0 && s[2] == ' ' && (alnum(s[3]) || symbols(s[3:4]) > 0)
}

// findLinked searches s[i:limit] for a link and the secret, with a few other words before the link:
// "password for staging is …". The cue begins at from.
func (c *cue) findLinked(s string, from, i, limit int) (Finding, bool) {
	const most = 8
	changed := false
	for n := 0; n < most && i < limit; n++ {
		if i = blanks(s, i); i >= limit {
			break
		}
		if l := joinedLink(s[i:limit], n == 0); l != "" {
			if rest := s[i:limit]; strings.HasPrefix(rest, "==") || strings.HasPrefix(rest, "::") || strings.HasPrefix(rest, ":=") {
				return Finding{}, false
			}
			return c.value(s, i+len(l), limit, false)
		}
		if n > 0 && strings.IndexByte("\"'`«「(", s[i]) >= 0 {
			return Finding{}, false
		}
		if n == 0 && c.kind == "password" && suspicious(s[i:limit]) {
			if f, ok := c.value(s, i, limit, true); ok {
				return f, true
			}
		}
		word, _ := wordAt(s, i, limit)
		if k := strings.IndexAny(word, "=;()[]{}<>\"'`"); k >= 0 {
			word = word[:k]
		}
		if word == "" {
			break
		}
		i += len(word)
		word = strings.ToLower(word)
		switch last := word[len(word)-1]; {
		case isLink(word):
			if f, ok := c.value(s, i, limit, word == "to" && !changed && !wasSet(s, from)); ok {
				return f, true
			}
			if !goesOn(word, s[i:limit]) {
				return c.before(s, from)
			}
		case isChange(word):
			changed = true
		case last == ':':
			return c.value(s, i, limit, false)
		case last == '.' || last == ',' || last == '?':
			return c.before(s, from)
		}
	}
	return c.before(s, from)
}

// joinedLink returns the joined link at the start of s, "" for none. "=" is a link only directly after
// the cue.
func joinedLink(s string, direct bool) string {
	if letter(s[0]) {
		return ""
	}
	for _, l := range joinedLinks {
		if strings.HasPrefix(s, l) && (direct || l != "=") {
			return l
		}
	}
	return ""
}

// goesOn reports whether another link may follow a link without a value: "password on staging is …",
// "password is now …".
func goesOn(link, rest string) bool {
	switch link {
	case "on", "to", "auf":
		return true
	}
	switch next, _ := wordAt(rest, blanks(rest, 0), len(rest)); next {
	case "now", "nun", "still", "currently", "changed", "set", "reset":
		return true
	}
	return false
}

// wasSet reports whether "set the password", with a word or two between, is before s[from:].
func wasSet(s string, from int) bool {
	words := strings.Fields(s[max(0, from-40):from])
	for k := len(words) - 1; k >= 0 && k >= len(words)-4; k-- {
		if w := strings.ToLower(words[k]); w == "change" || isChange(w) {
			return true
		}
	}
	return false
}

// isChange reports whether a word says that a secret was set: "password changed to …".
func isChange(word string) bool {
	switch word {
	case "set", "reset", "changed", "rotated", "updated":
		return true
	}
	return false
}

// suspicious reports whether the word at the start of s has other characters than letters.
func suspicious(s string) bool {
	for k := range len(s) {
		if s[k] <= ' ' {
			return false
		}
		if !letter(s[k]) && (s[k] != '.' && s[k] != ',') {
			return true
		}
	}
	return false
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// secretBytes marks bytes of which a secret has at least one, unless it is in quotes.
var secretBytes = func() (out [256]byte) {
	for c := range out {
		if b := byte(c); '0' <= b && b <= '9' || b >= 0x80 || strings.IndexByte("!@#$%^&*+=?~\"'`", b) >= 0 {
			out[c] = 1
		}
	}
	return out
}()

func wordAt(s string, i, limit int) (string, int) {
	w := i
	for w < limit && s[w] > ' ' {
		w++
	}
	return s[i:w], w
}

// before finds the secret in "use … as the password".
func (c *cue) before(s string, from int) (Finding, bool) {
	const reach = 80
	if from < 6 || s[from-1] != ' ' || c.kind != "password" {
		return Finding{}, false // no room for " as "
	}
	if t := s[max(0, from-9):from]; !strings.HasSuffix(t, " as the ") && !strings.HasSuffix(t, " as a ") && !strings.HasSuffix(t, " as your ") &&
		!strings.HasSuffix(t, " as ") && !strings.HasSuffix(t, " als ") {
		return Finding{}, false
	}
	head := strings.TrimRight(s[max(0, from-reach):from], " ")
	for _, w := range []string{" as the", " as a", " as your", " as", " als"} {
		rest, ok := strings.CutSuffix(head, w)
		if !ok {
			continue
		}
		rest = strings.TrimRight(rest, " \"'`")
		start := strings.LastIndexAny(rest, " \"'`\n") + 1
		end := from - len(s[max(0, from-reach):from]) + len(rest)
		start += end - len(rest)
		return Finding{c.kind, start, end}, c.fits(s[start:end])
	}
	return Finding{}, false
}

// value finds the secret at s[i:limit]. If it follows the cue directly, without a link, it
// must look more like a secret.
func (c *cue) value(s string, i, limit int, direct bool) (Finding, bool) {
	if i = blanks(s, i); i >= limit {
		return Finding{}, false
	}
	for _, open := range [...][2]string{{`"`, `"`}, {"`", "`"}, {"'", "'"}, {"「", "」"}, {"“", "”"}, {"„", "“"}, {"**", "**"}} {
		if rest, ok := strings.CutPrefix(s[i:limit], open[0]); ok {
			v, _, closed := strings.Cut(rest, open[1])
			start := i + len(open[0])
			if !closed || !direct && !c.quoted(v) || direct && !c.fits(v) {
				return Finding{}, false
			}
			return Finding{c.kind, start, start + len(v)}, true
		}
	}
	end := i
	for end < limit {
		r, n := utf8.DecodeRuneInString(s[end:limit])
		if r <= ' ' || strings.ContainsRune("，。、；」\"`<>", r) {
			break
		}
		end += n
	}
	for end > i && strings.IndexByte(".,;:?)]'*", s[end-1]) >= 0 {
		end--
	}
	v := s[i:end]
	if c.kind == "recovery-code" && isNumericCode(v) { // there may be several on the line
		end = len(strings.TrimRight(s[:limit], " ."))
		for k := end; k > i; k-- {
			if part := s[i:k]; strings.Trim(part, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ- ,") == "" && digits(part)*2 >= letters(part) {
				return Finding{c.kind, i, k}, true
			}
		}
	}
	if k := c.words(s, i, limit); k > 0 && !direct {
		return Finding{c.kind, i, k}, true
	}
	if direct && (symbols(v) == 0 && !mixed(v) || strings.ContainsAny(v, "_/=:")) {
		return Finding{}, false
	}
	if user, pass, ok := strings.Cut(s[i:limit], " / "); ok && user == v && !strings.Contains(user, " ") { // user / password
		start := blanks(s, i+len(user)+len(" / "))
		v, stop := wordAt(s, start, limit)
		v = strings.TrimRight(v, ".,;)")
		return Finding{c.kind, start, stop - (stop - start - len(v))}, pass != "" && c.fits(v)
	}
	return Finding{c.kind, i, end}, c.fits(v)
}

// words returns the end of the words of a passphrase, or 0. There must be three or more, and
// none may be a usual word of a sentence.
func (c *cue) words(s string, i, limit int) int {
	const grammar = "|is|the|a|an|in|at|on|of|to|and|or|not|by|for|from|with|must|be|it|its|we|you|your|our|should|never|always|used|was|are|has|have|as|" +
		"stored|required|this|that|when|if|then|than|can|will|same|only|no|please|see|set|use|may|do|does|your|their|via|into|under|"
	if c.word != "passphrase" || !strings.HasSuffix(s[:i], " ") {
		return 0
	}
	end := limit
	if k := strings.IndexAny(s[i:limit], ".,;"); k >= 0 {
		end = i + k
	}
	parts := strings.Fields(s[i:end])
	if len(parts) < 3 || len(parts) > 12 {
		return 0
	}
	for _, w := range parts {
		if strings.Contains(grammar, "|"+strings.ToLower(w)+"|") || strings.ContainsAny(w, "\"'`$<>{}()[]/=:") {
			return 0
		}
	}
	return i + len(strings.TrimRight(s[i:end], " "))
}

// quoted reports whether a text in quotes can be a secret: a single word, which may be a
// plain one.
func (c *cue) quoted(v string) bool {
	if c.kind != "password" {
		return c.fits(v)
	}
	return isPassword(v) || len(v) >= 6 && len(v) <= 64 && !strings.ContainsAny(v, " \t\\/()[]|.:") && !isNoSecret(v)
}

// notSecret holds words about passwords, types, and words for them in other languages.
const notSecret = "|string|strings|text|none|null|nil|true|false|undefined|required|optional|empty|boolean|bool|object|unknown|value|hidden|input|field|varchar|" +
	"invalid|missing|wrong|incorrect|correct|forgotten|expired|disabled|enabled|default|username|email|login|number|bytes|strong|weak|short|plain|" +
	"plaintext|cleartext|encrypted|hashed|stored|masked|blank|unset|never|always|clave|senha|kennwort|hasło|пароль|prompt|random|generated|static|public|" +
	"private|server|client|manual|basic|bearer|digest|oauth|ldap|vault|keychain|keyring|environment|inherit|ephemeral|sensitive|hunter|foobar|bcrypt|" +
	"argon|sha|md|utf|base|pbkdf|scrypt|aes|rsa|ed|tls|ssl|ipv|http|https|rfc|wpa|pkcs|python|node|java|es|ascii|iso|bit|bits|byte|" +
	"char|chars|character|characters|digit|digits|day|days|hour|hours|minute|minutes|second|seconds|min|max|st|nd|rd|th|kb|mb|gb|ms|times|words|letters|"

// isNoSecret reports whether a word is no secret, but a placeholder, a description or a name for
// one.
func isNoSecret(v string) bool {
	l := strings.ToLower(v)
	if isPlaceholder(l) || strings.Contains(knownPasswords, "|"+l+"|") {
		return true
	}
	for _, w := range [...]string{"pass", "pwd", "secret", "token", "credential", "wort", "encod", "encrypt", "hash", "sensitiv", "sha256", "sha512", "bcrypt", "argon2", "base64"} {
		if strings.Contains(l, w) {
			return true
		}
	}
	return strings.Contains(notSecret, "|"+l+"|")
}

// describesSecret reports whether a word like SHA-256, 12-character or UTF-8-BOM describes a secret:
// the first of its parts is in notSecret.
func describesSecret(v string) bool {
	parts := strings.FieldsFunc(strings.ToLower(v), func(r rune) bool { return !unicode.IsLetter(r) })
	if strings.Contains(v, "=") && slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(notSecret, "|"+p+"|") }) {
		return true // an argument
	}
	return len(parts) > 0 && strings.Contains(notSecret, "|"+parts[0]+"|") && (symbols(v) == 0 || len(parts) == 1)
}

// isPassword reports whether a bare word in a sentence is a password. Plain words are not;
// it must have a digit or a sign among its letters.
func isPassword(v string) bool {
	l := letters(v)
	return len(v) >= 5 && len(v) <= 64 && l >= 2 && (digits(v) > 0 || symbols(v) > 0) && !isNoSecret(v) && !describesSecret(v) && !isExpression(v)
}

// isNumericCode reports whether v is a number of four to ten digits, or groups of digits and letters.
func isNumericCode(v string) bool {
	d, n := digits(v), digits(v)+letters(v)
	return len(v) >= 4 && len(v) <= 40 && n+strings.Count(v, "-") == len(v) && (d == len(v) && d <= 10 || d >= 3 && strings.Contains(v, "-")) && n >= 4 &&
		!isUUID(v) && !(len(v) == 10 && v[4] == '-' && v[7] == '-' && d == 8) // a date
}

// looksGenerated reports whether v looks like a generated token.
func looksGenerated(v string) bool {
	return len(v) >= 12 && len(v) <= 256 && digits(v) >= 2 && letters(v) >= 2 && entropy(v) > 2.75 && !isNoSecret(v) && !isExpression(v) && !isUUID(v) &&
		!strings.ContainsAny(v, "/:") && strings.Count(v, "-") < 4
}

// isExpression reports whether v is code, a path or an address.
func isExpression(v string) bool {
	if strings.ContainsAny(v, "()[]{}<>|\\\"`,;") || strings.Contains(v, "://") || strings.Contains(v, "->") || strings.Contains(v, "::") || strings.Contains(v, "==") {
		return true
	}
	if strings.IndexByte("$%&*/.~@-+#=", v[0]) >= 0 || strings.HasPrefix(v, "!=") {
		return true
	}
	return symbols(v) == 0 && strings.ContainsAny(v, "./:") && !dotted(v) || strings.Count(v, "/") > 1
}

// dotted reports whether v is two words with a dot between, the second of which has a letter
// and three digits. It is then no field name, file extension or version.
func dotted(v string) bool {
	head, last, ok := strings.Cut(v, ".")
	return ok && head != "" && letters(last) > 0 && digits(last) >= 3 && !strings.ContainsAny(v, "/:") && !strings.Contains(last, ".")
}

func symbols(v string) int {
	n := 0
	for i := range len(v) {
		if strings.IndexByte("!@#$%^&*+=?~", v[i]) >= 0 {
			n++
		}
	}
	return n
}

// mixed reports whether v has a digit and letters of both cases.
func mixed(v string) bool {
	return digits(v) > 0 && strings.ToLower(v) != v && strings.ToUpper(v) != v
}

// flag is an option of a program whose value is a password.
type flag struct {
	name     string
	programs []string
	pair     bool // the value is user:password
	attached bool // the value follows without a space; after a space, it would be another argument
}

var flags = []flag{
	{name: "-u", programs: []string{"curl"}, pair: true},
	{name: "-U", programs: []string{"curl"}, pair: true},
	{name: "--user", programs: []string{"curl"}, pair: true},
	{name: "--proxy-user", programs: []string{"curl"}, pair: true},
	{name: "-p", programs: []string{"mysql", "mysqldump", "mysqladmin", "mariadb", "mariadb-dump"}, attached: true},
	{name: "-p", programs: []string{"sshpass", "login"}},
	{name: "-p", programs: []string{"7z", "7za"}, attached: true},
	{name: "-P", programs: []string{"zip", "unzip"}},
	{name: "-w", programs: []string{"ldapsearch", "ldapadd", "ldapmodify", "ldapwhoami"}},
	{name: "-a", programs: []string{"redis-cli"}},
}

// findFlag finds the password after a command-line flag. i is the space before the flag.
func findFlag(s string, i int) (Finding, bool) {
	if s[i] != ' ' && s[i] != '\t' {
		return Finding{}, false
	}
	for _, f := range flags {
		if !strings.HasPrefix(s[i+1:], f.name) {
			continue
		}
		at := i + 1 + len(f.name)
		switch {
		case at == len(s):
			return Finding{}, false
		case f.attached && s[at] <= ' ', len(f.name) > 2 && s[at] > ' ' && s[at] != '=':
			continue
		}
		start, end := word(s, at)
		user := ""
		if f.pair {
			name, _, ok := strings.Cut(s[start:end], ":")
			if !ok {
				continue
			}
			user, start = name, start+len(name)+1
		}
		if chosen(user, s[start:end]) && runsProgram(s, i, f.programs) {
			return Finding{"password", start, end}, true
		}
	}
	return behindUser(s, i)
}

// behindUser finds the password after "-u NAME -p", with any program.
func behindUser(s string, i int) (Finding, bool) {
	const flag = " -p "
	if !strings.HasPrefix(s[i:], flag) || i+len(flag) >= len(s) {
		return Finding{}, false
	}
	before := strings.Fields(s[max(0, i-80):i])
	if n := len(before); n < 2 || before[n-2] != "-u" && before[n-2] != "--username" && before[n-2] != "--user" {
		return Finding{}, false
	}
	start, end := word(s, i+len(flag))
	v := s[start:end]
	return Finding{"password", start, end}, chosen("", v) && letters(v) > 0 && !strings.HasPrefix(v, "-")
}

// word returns the range of the argument at s[at:], after = or spaces and without its
// quotes.
func word(s string, at int) (start, end int) {
	const maxWord = 256
	if s[at] == '=' {
		at++
	}
	at = blanks(s, at)
	if at < len(s) && (s[at] == '"' || s[at] == '\'') {
		if n := strings.IndexByte(s[at+1:min(len(s), at+1+maxWord)], s[at]); n >= 0 {
			return at + 1, at + 1 + n
		}
	}
	for end = at; end < len(s) && end-at < maxWord && s[end] > ' ' && strings.IndexByte("\"'`;|<>", s[end]) < 0; end++ {
	}
	return at, end
}

// runsProgram reports whether the command that contains s[i] is one of programs. A line that ends
// with a backslash is continued.
func runsProgram(s string, i int, programs []string) bool {
	const reach = 1024
	lo := max(0, i-reach)
	for j := i - 1; j >= lo; j-- {
		if s[j] == ';' || s[j] == '|' || s[j] == '`' || s[j] == '\n' && !strings.HasSuffix(s[:j], "\\") {
			lo = j + 1
			break
		}
	}
	for _, w := range strings.FieldsFunc(s[lo:i], func(r rune) bool { return r <= ' ' || strings.ContainsRune("\"'([{$&", r) }) {
		if slices.Contains(programs, w[strings.LastIndexByte(w, '/')+1:]) {
			return true
		}
	}
	return false
}
