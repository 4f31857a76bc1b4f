package taint

import (
	"math"
	"strings"
	"unicode/utf8"
)

// token is something in a text that is distinctive by itself.
type token struct {
	hash  uint64
	chars int
	sort  sort
	// within are the hashes of what it lies in. Who may name those may mean it.
	within []uint64
}

// sort is how a token counts.
type sort uint8

const (
	sure   sort = iota
	unsure      // it may be a host, and a name in a program: no claim's is kept
	parent      // what a token lies in: no claim's is kept, and to name a file names no folder
)

// unless is sure when is holds.
func unless(is bool) sort {
	if is {
		return sure
	}
	return unsure
}

// tokensOf finds the tokens of lower-case text.
func tokensOf(s string) []token {
	var t tokens
	for i := 0; i < len(s); {
		start, telling := i, false
		for i < len(s) && !separator(s[i]) {
			telling = telling || tells[s[i]]
			i++
		}
		if i > start && !telling {
			continue // a word like most
		}
		if i > start {
			t.chunk(strings.Trim(s[start:i], ".:!?*_~-\\^#"))
			continue
		}
		i++
	}
	t.numbers(s)
	t.switches(s)
	return t.list
}

// tells are the bytes without which a chunk is no token of any kind.
var tells = func() (t [256]bool) {
	for _, c := range []byte("./@:~\\0123456789") {
		t[c] = true
	}
	for _, s := range secretFiles { // id_rsa
		if !strings.ContainsAny(s, "./@:~\\0123456789") {
			t['_'] = true
		}
	}
	return t
}()

// separator reports what ends a chunk: white space, and what stands around addresses
// in prose and commands.
func separator(c byte) bool { return separators[c] }

var separators = func() (t [256]bool) {
	for c := range ' ' + 1 {
		t[c] = true
	}
	for _, c := range []byte("\"'`<>(){}[],;|&=") {
		t[c] = true
	}
	return t
}()

type tokens struct{ list []token }

func (t *tokens) add(kind, s string, as sort, within ...uint64) {
	t.list = append(t.list, token{hash: hash(kind + s), chars: utf8.RuneCountInString(s), sort: as, within: within})
}

// maxChunk bounds what is looked at of one chunk; no address that works is longer.
const maxChunk = 2048

// chunk reads what stands between two separators.
func (t *tokens) chunk(c string) {
	if len(c) < 4 {
		return
	}
	c = c[:min(len(c), maxChunk)]
	if t.mail(c) {
		return
	}
	if t.address(c) || t.path(c) {
		return
	}
	t.blob(c)
}

// mail reads local@host, but not the user of an address.
func (t *tokens) mail(c string) bool {
	c = strings.TrimPrefix(c, "mailto:")
	at := strings.IndexByte(c, '@')
	if at <= 0 || strings.ContainsAny(c[:at], "/:") {
		return false
	}
	host, _, _ := strings.Cut(c[at+1:], "/")
	host, _, _ = strings.Cut(host, "?")
	if !hostForm(host) {
		return false
	}
	// Whose host it is says little: everybody in a company has it.
	t.add("m", c[:at]+"@"+host, sure)
	if !wellKnown[host] {
		t.hosts(host, parent)
	}
	return true
}

// blob reads keys, hashes and encoded text, told from identifiers by a part in which
// letters and digits alternate without sense.
func (t *tokens) blob(c string) {
	if len(c) < 14 {
		return
	}
	if uuid(c) {
		t.add("b", c, sure)
		return
	}
	for part := range strings.FieldsFuncSeq(c, func(r rune) bool { return strings.ContainsRune("-_./:+@$%", r) }) {
		if random(part) {
			t.add("b", c, sure)
			if part != c {
				t.add("b", part, sure)
			}
			return
		}
	}
}

// random reports a part of at least fourteen characters that no person named: hex,
// or letters and digits that alternate.
func random(s string) bool {
	if len(s) < 14 {
		return false
	}
	var digits, letters, hexes, turns int
	var count [256]int
	for i := range len(s) {
		c := s[i]
		count[c]++
		switch {
		case digit(c):
			digits++
		case letter(c):
			letters++
		default:
			return false
		}
		if unhex(c) >= 0 {
			hexes++
		}
		if i > 0 && digit(c) != digit(s[i-1]) {
			turns++
		}
	}
	if digits < 3 || letters < 3 {
		return false
	}
	bits := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits >= 2.8 && (hexes == len(s) || turns >= 4 && digits*100 >= 15*len(s))
}

// uuid reports the 8-4-4-4-12 form.
func uuid(v string) bool {
	if len(v) != 36 {
		return false
	}
	for i := range len(v) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (v[i] == '-') || !dash && unhex(v[i]) < 0 {
			return false
		}
	}
	return true
}
