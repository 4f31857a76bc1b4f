package guardrail

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The rules in gitleaks_rules.go are those of gitleaks. To take a newer version,
// fetch its module with "go mod download -json github.com/zricethezav/gitleaks/v8@latest"
// in a folder of its own, give the version and the path of its configuration, and
// run the tests:
//
//	GITLEAKS_VERSION=v8.30.1 GITLEAKS_TOML=…/config/gitleaks.toml go generate ./guardrail
//
//go:generate go run ./internal/genrules -version $GITLEAKS_VERSION -out gitleaks_rules.go $GITLEAKS_TOML

// rule is one of gitleaks' rules, taken apart. It finds either a value behind a
// name that contains a service's (names), or a secret by its own look (anchors).
type rule struct {
	id    string // what gitleaks calls it
	kind  string // what the marker of Redact names
	names []string

	anchors []anchor
	pattern string // of the secret alone
	group   int    // of the expression that is the secret; 0 is all
	starts  bool   // it starts a word
	ends    bool   // something must stand behind it; else what goes on belongs to it
	max     int    // bytes of the longest match; 0 is any length
	min     int    // bytes of the shortest, if no match has white space in it

	entropy float64  // a secret has more, in bits a character; 0 is not tested
	allow   []string // expressions of values that are no secrets
}

// anchor is what every match has at one place: letters in lower case, and classes
// of them in brackets.
type anchor struct {
	back int // from its start to the start of the match
	text string
}

// leftOut says why a rule is not as gitleaks has it.
type leftOut struct{ id, why string }

// maxSecret bounds what a rule without a limit reads, in bytes. A longer secret is
// cut there by the expression and then taken to its end.
const maxSecret = 4096

// compiled is a rule made ready. The expression is compiled when it is needed
// first: all of them at once would cost every start of a program.
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

// at matches the secret at s[start:].
func (c compiled) at(s string, start int) (Finding, bool) {
	if c.starts && start > 0 && (alnum(s[start-1]) || s[start-1] == '_') {
		return Finding{}, false
	}
	if start+c.min > len(s) {
		return Finding{}, false
	}
	for i := start; i < start+c.min; i++ { // cheaper than the expression, and mostly enough
		if s[i] <= ' ' {
			return Finding{}, false
		}
	}
	limit := c.max
	if limit == 0 {
		limit = maxSecret
	}
	// One byte more than the longest match, so that the cut is never taken for the
	// end of the text.
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

// secret applies what gitleaks demands of a value, and what guardrail demands of
// every value: that nobody wrote it to stand for one.
func (c compiled) secret(v string) bool {
	if placeholder(v) || c.entropy > 0 && entropy(v) <= c.entropy {
		return false
	}
	if c.entropy == 0 && entropy(v) < 2.5 {
		return false // xxxx, 1111, abcabc
	}
	if len(c.names) > 0 && (digits(v) == 0 || digits(v) == len(v)) {
		return false // a word or a number: its name says too little
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

// ended reports whether a secret can end before s[i]: at white space, a quote, a
// closing bracket, or the punctuation of a sentence.
func ended(s string, i int) bool {
	if i == len(s) || s[i] <= ' ' || s[i] >= 0x7f || strings.IndexByte("`'\";,)]}<>|*\\&", s[i]) >= 0 {
		return true
	}
	return strings.IndexByte(".:!?", s[i]) >= 0 && (i+1 == len(s) || s[i+1] <= ' ' || s[i+1] >= 0x7f)
}

// looked is the detector of a rule's anchor.
func (c compiled) looked(a anchor) detector {
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

// assigned is the detector of a rule's name.
func (c compiled) assigned(name string) detector {
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

// operand skips what gitleaks lets stand between a name and its value: the rest of
// the name, closing quotes, an operator, opening quotes.
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

// addRules registers gitleaks' rules.
func addRules(add func(sets []string, find detector)) {
	for i := range gitleaksRules {
		c := compile(&gitleaksRules[i])
		for _, a := range c.anchors {
			add(classes(a.text), c.looked(a))
		}
		for _, name := range c.names {
			sets := classes(name)
			if len(sets) < 4 { // what may stand behind a name that short
				sets = append(sets, "abcdefghijklmnopqrstuvwxyz0123456789_ \t.-'\"=>:|?,")
			}
			add(sets, c.assigned(name))
		}
	}
}

// classes reads an anchor's text: which bytes may stand at each place.
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

// A detector looks at a place where four bytes of a text, in any case, are its
// anchor. The anchors are few and rare, so that the scan costs a multiplication
// and a bit test a byte.
type detector func(text string, i int) (Finding, bool)

// kindKey is the anchor of manifests.
var kindKey = anchorKey("kind", 0)

// columnKeys are the anchors of the words in columns.
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

// anchorSlots is sized so that few of them are taken and all of them stay in the
// first-level cache: 8 KB.
const anchorSlots = 1 << 16

func anchorHash(key uint32) uint32 { return key * 0x9e3779b1 >> 16 }

func anchorRehash(key uint32) uint32 { return (key ^ key>>15) * 0x85ebca6b >> 16 }

// anchorBits has a bit set for the hash of every anchor's key, once anchors was
// called; nobody else writes to it. anchorAgain is the same for another hash, which
// is looked at where the first one fits: it saves most of the look-ups in vain.
var anchorBits, anchorAgain [anchorSlots / 32]uint32

// anchors returns the detectors by their anchors' keys, in the order in which they
// are asked: ours first, since they know what of a finding to leave readable. The
// table is made when it is needed first: most commands never look for a secret.
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
	for _, a := range []string{"pass", "pwd", "secr", "toke", "_key", "-key", "ikey", "skey", "tkey", "ekey", "dkey", "nkey", "gkey", "rkey", "hkey"} {
		add(prefixSets(a), findAssigned)
	}
	for _, a := range cueAnchors {
		add(prefixSets(a.text), findTold(a.text, a.back))
	}
	add([]string{"p", "w", " ,:?(", visible}, findTold("pw", 0))
	for _, a := range []string{"pass=", "pass:", "pw=", "_pw=", "_pw:", "_pw ", "psk=", "\"psk", "key_b", "pass\"", "pw ="} {
		add(prefixSets(a), findAssigned)
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

// prefixSets is the anchor of a prefix; a shorter one than four bytes is followed
// by anything that can be seen, or a space.
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

// anchorKeys are the keys of what the first four sets spell, each once.
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
