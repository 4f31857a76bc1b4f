package guardrail

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The rules in gitleaks_rules.go are derived from those of gitleaks. To update them,
// download its module with "go mod download -json
// github.com/zricethezav/gitleaks/v8@latest" in a separate folder, pass the version and
// the path of its configuration, and run the tests:
//
//	GITLEAKS_VERSION=v8.30.1 GITLEAKS_TOML=…/config/gitleaks.toml go generate ./guardrail
//
//go:generate go run ./internal/genrules -version $GITLEAKS_VERSION -out gitleaks_rules.go $GITLEAKS_TOML

// rule is a parsed rule of gitleaks. It finds either a value after a name that contains a
// service's name (names), or a secret by its own format (anchors).
type rule struct {
	id    string // gitleaks' id of the rule
	kind  string // kind in the marker of Redact
	names []string

	anchors []anchor
	pattern string // matches only the secret
	group   int    // group of pattern that is the secret; 0 is the whole match
	starts  bool   // the secret starts a word
	ends    bool   // a delimiter must follow; otherwise the rest of the word is part of the secret
	max     int    // maximum length of a match in bytes; 0 means no limit
	min     int    // minimum length of a match in bytes, if no match contains white space; otherwise 0

	entropy float64  // minimum entropy of a secret, exclusive, in bits per character; 0 is not checked
	allow   []string // patterns of values that are no secrets
}

// anchor is a part that every match has at a fixed position: letters in lower case, and
// character classes in brackets.
type anchor struct {
	back int // distance in bytes from the start of the match to the anchor
	text string
}

// leftOut is a rule that differs from gitleaks' or is missing, and the reason.
type leftOut struct{ id, why string }

// maxSecret is how many bytes a rule without a limit matches. A longer secret is matched
// up to there, and then extended to its end.
const maxSecret = 4096

// compiled is a rule ready for use. Its patterns are compiled at the first use, because
// compiling all of them at once would slow down every start of a program.
type compiled struct {
	*rule
	re    func() *regexp.Regexp
	allow func() []*regexp.Regexp
}

func compile(r *rule) compiled {
	return compiled{r,
		sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:` + r.pattern + `)`) }),
		sync.OnceValue(func() []*regexp.Regexp { return compileAll(r.allow) })}
}

func compileAll(patterns []string) []*regexp.Regexp {
	out := make([]*regexp.Regexp, len(patterns))
	for i, p := range patterns {
		out[i] = regexp.MustCompile(p)
	}
	return out
}

var allowed = sync.OnceValue(func() []*regexp.Regexp { return compileAll(gitleaksAllow) })

// at matches the secret that starts at s[start].
func (c compiled) at(s string, start int) (Finding, bool) {
	if c.starts && start > 0 && (alnum(s[start-1]) || s[start-1] == '_') {
		return Finding{}, false
	}
	if start+c.min > len(s) {
		return Finding{}, false
	}
	for i := start; i < start+c.min; i++ { // cheaper than the pattern, and usually sufficient
		if s[i] <= ' ' {
			return Finding{}, false
		}
	}
	limit := c.max
	limit = cmp.Or(limit, maxSecret)
	// part has one byte more than the longest match, so that its end is never taken for
	// the end of the text.
	part := s[start:min(len(s), start+limit+1)]
	var from, to int
	if c.group > 0 {
		m := c.re().FindStringSubmatchIndex(part)
		if m == nil || m[2*c.group] < 0 {
			return Finding{}, false
		}
		from, to = m[2*c.group], m[2*c.group+1]
	} else {
		m := c.re().FindStringIndex(part)
		if m == nil {
			return Finding{}, false
		}
		to = m[1]
	}
	from, to = start+from, start+to
	if c.ends && c.max > 0 && !ended(s, to) {
		return Finding{}, false
	}
	if !c.secret(s[from:to]) {
		return Finding{}, false
	}
	if !c.ends || c.max == 0 {
		for c.group == 0 && to < len(s) && wordDash(s[to]) {
			to++
		}
	}
	return Finding{c.kind, from, to}, true
}

// secret applies gitleaks' checks of a value, and guardrail's check that the value is no
// placeholder.
func (c compiled) secret(v string) bool {
	if isPlaceholder(v) || c.entropy > 0 && entropy(v) <= c.entropy {
		return false
	}
	if c.entropy == 0 && entropy(v) < 2.5 {
		return false // xxxx, 1111, abcabc
	}
	if len(c.names) > 0 && (digits(v) == 0 || digits(v) == len(v)) {
		return false // a word or a number; its name is not specific enough
	}
	for _, w := range gitleaksStop {
		if strings.Contains(strings.ToLower(v), w) {
			return false
		}
	}
	for _, list := range [][]*regexp.Regexp{allowed(), c.allow()} {
		for _, re := range list {
			if re.MatchString(v) {
				return false
			}
		}
	}
	return true
}

// ended reports whether a secret can end before s[i]: at white space, a quote, a closing
// bracket, or the punctuation of a sentence.
func ended(s string, i int) bool {
	if i == len(s) || s[i] <= ' ' || s[i] >= 0x7f || strings.IndexByte("`'\";,)]}<>|*\\&", s[i]) >= 0 {
		return true
	}
	return strings.IndexByte(".:!?", s[i]) >= 0 && (i+1 == len(s) || s[i+1] <= ' ' || s[i+1] >= 0x7f)
}

// anchorDetector returns the detector for an anchor of the rule.
func (c compiled) anchorDetector(a anchor) detector {
	sets := classes(a.text)
	return func(s string, i int) (Finding, bool) {
		if i < a.back || i+len(sets) > len(s) {
			return Finding{}, false
		}
		for j := 4; j < len(sets); j++ {
			if strings.IndexByte(sets[j], lower(s[i+j])) < 0 {
				return Finding{}, false
			}
		}
		return c.at(s, i-a.back)
	}
}

// nameDetector returns the detector for a name of the rule.
func (c compiled) nameDetector(name string) detector {
	return func(s string, i int) (Finding, bool) {
		if i+len(name) >= len(s) || !strings.EqualFold(s[i:i+len(name)], name) {
			return Finding{}, false
		}
		at, ok := operand(s, i+len(name))
		if !ok {
			return Finding{}, false
		}
		return c.at(s, at)
	}
}

// operand skips what gitleaks allows between a name and its value: the rest of the name,
// closing quotes, an operator, opening quotes.
func operand(s string, i int) (at int, ok bool) {
	skip := func(most int, in string, letters bool) {
		for ; most > 0 && i < len(s) && (letters && alnum(s[i]) || strings.IndexByte(in, s[i]) >= 0); most-- {
			i++
		}
	}
	skip(20, " \t_.-", true)
	skip(3, " \t\r\n\f'\"", false)
	switch rest := s[i:]; {
	case strings.HasPrefix(rest, "=>"), strings.HasPrefix(rest, "||"), strings.HasPrefix(rest, "?="), strings.HasPrefix(rest, ":="):
		i += 2
	case strings.HasPrefix(rest, "::="):
		i += 3
	case strings.HasPrefix(rest, ":::="):
		i += 4
	case rest != "" && strings.IndexByte("=>:,", rest[0]) >= 0:
		i++
	default:
		return 0, false
	}
	skip(5, "`'\" \t\r\n\f=", false)
	return i, true
}

// addRules registers the detectors of gitleaks' rules.
func addRules(add func(sets []string, find detector)) {
	for i := range gitleaksRules {
		c := compile(&gitleaksRules[i])
		for _, a := range c.anchors {
			add(classes(a.text), c.anchorDetector(a))
		}
		for _, name := range c.names {
			sets := classes(name)
			if len(sets) < 4 { // bytes that may follow such a short name
				sets = append(sets, "abcdefghijklmnopqrstuvwxyz0123456789_ \t.-'\"=>:|?,")
			}
			add(sets, c.nameDetector(name))
		}
	}
}

// classes parses an anchor's text and returns the allowed bytes at each position.
func classes(text string) []string {
	var out []string
	for i := 0; i < len(text); i++ {
		if text[i] != '[' {
			out = append(out, text[i:i+1])
			continue
		}
		end := i + 1 + strings.IndexByte(text[i+1:], ']')
		var set strings.Builder
		for j := i + 1; j < end; j++ {
			if j+2 < end && text[j+1] == '-' {
				for c := text[j]; c <= text[j+2]; c++ {
					set.WriteByte(c)
				}
				j += 2
				continue
			}
			set.WriteByte(text[j])
		}
		out = append(out, set.String())
		i = end
	}
	return out
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// A detector checks a position at which four bytes of a text, in any case, are its
// anchor. Anchors are few and rare, so that scanning costs a multiplication and a bit
// test per byte.
type detector func(text string, i int) (Finding, bool)

// kindKey is the anchor key of Kubernetes manifests.
var kindKey = anchorKey("kind", 0)

// columnKeys are the anchor keys of the words in columns.
var columnKeys = func() map[uint32]bool {
	keys := map[uint32]bool{}
	for name := range columns {
		keys[anchorKey(name+"    ", 0)] = true
	}
	return keys
}()

func anchorKey(s string, i int) uint32 {
	return (uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16 | uint32(s[i+3])<<24) | 0x20202020
}

// anchorSlots is chosen so that few bits are set and all of them fit into the first-level
// cache: 8 KB.
const anchorSlots = 1 << 16

func anchorHash(key uint32) uint32 { return key * 0x9e3779b1 >> 16 }

func anchorRehash(key uint32) uint32 { return (key ^ key>>15) * 0x85ebca6b >> 16 }

// anchorBits has a bit set for the hash of every anchor's key, after anchors was called;
// nothing else writes to it. anchorAgain is the same for a second hash, which is checked
// if the first one matches. It avoids most of the unnecessary look-ups.
var anchorBits, anchorAgain [anchorSlots / 32]uint32

// anchors returns the detectors by the keys of their anchors, in the order in which they
// are called. Our own come first, since they keep more of the text readable. The table is
// built at the first use, because most commands never search for secrets.
var anchors = sync.OnceValue(func() map[uint32][]detector {
	m := make(map[uint32][]detector, 2048)
	add := func(sets []string, find detector) {
		for _, key := range anchorKeys(sets) {
			m[key] = append(m[key], find)
		}
	}
	for _, sh := range shapes {
		add(prefixSets(sh.prefix), sh.find)
	}
	add(prefixSets("eyj"), findJWT)
	add(prefixSets("://"), findURLPassword)
	add(prefixSets("@tcp"), findDSN)
	add(prefixSets("@uni"), findDSN)
	add(prefixSets("hin:"), findOracle)
	add(prefixSets("auth"), findAuthorization)
	add([]string{" ", "-", "up", visible}, findFlag)
	add(prefixSets(" -a "), findFlag)
	add(prefixSets(" -w "), findFlag)
	add(prefixSets("ate-"), findPuTTY)
	add(prefixSets(" --u"), findFlag)
	add(prefixSets(" --p"), findFlag)
	add(prefixSets("pass"), findNetrc)
	add(prefixSets(":543"), findPgpass)
	add(prefixSets(":643"), findPgpass)
	add(prefixSets(":*:"), findPgpass)
	add(prefixSets("--be"), findPrivateKey)
	add(prefixSets("--en"), findPrivateKeyEnd)
	add(prefixSets("ls0t"), findEncodedKey)
	for _, a := range []string{"pass", "pwd", "secr", "toke", "_key", "-key", "ikey", "skey", "tkey", "ekey", "dkey", "nkey", "gkey", "rkey", "hkey"} {
		add(prefixSets(a), findAssigned)
	}
	for _, a := range cueAnchors {
		add(prefixSets(a.text), findStated(a.text, a.back))
	}
	add([]string{"p", "w", " ,:?(", visible}, findStated("pw", 0))
	for _, a := range []string{"pass=", "pass:", "pw=", "_pw=", "_pw:", "_pw ", "psk=", "\"psk", "key_b", "pass\"", "pw ="} {
		add(prefixSets(a), findAssigned)
	}
	for _, a := range []string{"?key", "&key"} {
		add(prefixSets(a), func(s string, i int) (Finding, bool) { return findAssigned(s, i+1) })
	}
	add(prefixSets("pass"), findPiped)
	for _, a := range []string{"sk_", "pat_", "pat-", "key_", "key-", "tok_", "tok-", "tkn_", "tkn-", "ken_", "ken-", "api_", "api-", "ret_", "ret-", "ive_"} {
		add(prefixSets(a), findIssued)
	}
	for _, a := range []string{":$1$", ":$5$", ":$6$", ":$y$", ":$2a", ":$2b", ":$2y"} {
		add(prefixSets(a), findHash)
	}
	for _, a := range []string{"comm", "/use", "sudo"} {
		add(prefixSets(a), findSpoken)
	}
	add([]string{":", "a", "a", "abcdefghijklmnopqrstuvwxyz"}, findTelegram)
	add(prefixSets("cook"), findCookie)
	add(prefixSets("auth"), findBasicAuth)
	add(prefixSets(" by "), findQuotedAfter("identified by "))
	add(prefixSets("ord "), findQuotedAfter("password "))
	add(prefixSets("ing "), findQuotedAfter("convertto-securestring "))
	addRules(add)
	for key := range columnKeys {
		if m[key] == nil {
			m[key] = []detector{}
		}
	}
	m[kindKey] = append(m[kindKey], func(string, int) (Finding, bool) { return Finding{}, false }) // see Secrets
	for key := range m {
		h := anchorHash(key)
		anchorBits[h>>5] |= 1 << (h & 31)
		h = anchorRehash(key)
		anchorAgain[h>>5] |= 1 << (h & 31)
	}
	return m
})

// prefixSets returns the anchor for a prefix. A prefix shorter than four bytes is
// followed by any visible character or space.
func prefixSets(prefix string) []string {
	var sets []string
	for i := range len(prefix) {
		sets = append(sets, prefix[i:i+1])
	}
	for len(sets) < 4 {
		sets = append(sets, visible)
	}
	return sets
}

var visible = func() string {
	var b []byte
	for c := byte(' '); c < 0x7f; c++ {
		b = append(b, c)
	}
	return string(b)
}()

// anchorKeys returns the distinct keys of the combinations of the first four sets.
func anchorKeys(sets []string) []uint32 {
	keys := []uint32{0}
	for at, set := range sets[:4] {
		next := make([]uint32, 0, len(keys)*len(set))
		for _, key := range keys {
			for i := range len(set) {
				next = append(next, key|uint32(set[i]|0x20)<<(8*at))
			}
		}
		slices.Sort(next)
		keys = slices.Compact(next)
	}
	return keys
}
