package guardrail

import "strings"

// near finds a password that stands on the line of the cue s[from:end] without a link
// between the two: "log in as admin with …", "… is the password", "changed from … to …".
// Only what hardly anybody writes but as a password counts here.
func (c *cue) near(s string, from, end int) (Finding, bool) {
	const reach = 120
	fits := strong
	switch c.kind {
	case "api-key", "token", "secret":
		fits = random
	case "password", "login":
		if c.word == "pass" {
			return Finding{}, false
		}
	default:
		return Finding{}, false
	}
	if rest := strings.TrimLeft(s[end:min(len(s), end+8)], " "); strings.HasPrefix(rest, "==") || strings.HasPrefix(rest, "!=") {
		return Finding{}, false // code compares
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
		return Finding{}, false // it is gone
	}
	if f, ok := c.first(fits, s, end, hi); ok {
		return f, true
	}
	if f, ok := c.first(fits, s, lo, from); ok {
		return f, true
	}
	return c.below(s, end, hi)
}

// below finds the secret that is the only word of the line behind the one on which the cue
// ends at end, and that line at hi with nothing but a colon.
func (c *cue) below(s string, end, hi int) (Finding, bool) {
	if c.kind == "login" || hi >= len(s) || s[hi] != '\n' || strings.Trim(s[end:hi], " \t\r*") != ":" {
		return Finding{}, false
	}
	i := hi
	for i < len(s) && s[i] <= ' ' {
		i++
	}
	if strings.HasPrefix(s[i:], "```") { // a block of code with a line in it
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

// first finds the first word in s[lo:hi] that fits.
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
			known := false // that a password stands there
			if k := strings.IndexAny(s[start:end], ":/"); k > 0 && c.kind != "api-key" && plainName(s[start:start+k]) {
				pass := s[start+k+1 : end]
				if known = strings.Contains(users, "|"+strings.ToLower(s[start:start+k])+"|") && told(pass); known || fits(pass) {
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

// users are names before a colon or a slash that only a password follows.
const users = "|admin|administrator|root|user|sa|postgres|ubuntu|pi|guest|operator|oracle|ec2-user|deploy|"

// plainName reports the name of a user or of a field.
func plainName(s string) bool {
	for i := range len(s) {
		if !wordDash(s[i]) && s[i] != '.' {
			return false
		}
	}
	return true
}

// random reports a key or a token that only a machine makes: no digest with its name before
// it, no path, no UUID.
func random(v string) bool {
	if len(v) < 24 || len(v) > 256 || digits(v) < 4 && !(digits(v) > 0 && shuffled(v)) || letters(v) < 4 || strings.ContainsAny(v, "()[]{}<>|\\\"'`,;:$%&@#*?!") || strings.Contains(v, "..") ||
		strings.Count(v, "/") > 2 || uuid(v) || placeholder(v) || entropy(v) < 3.4 {
		return false
	}
	run, longest := 0, 0 // of what no - or . parts
	for i := range len(v) {
		if run++; !alnum(v[i]) && v[i] != '+' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest >= 16
}

const shortestStrong = 7

// strong reports whether a word is one that people write as a password and as hardly
// anything else: letters, digits and a sign among them, or letters of both cases with
// digits in two places.
func strong(v string) bool {
	if len(v) < shortestStrong || len(v) > 64 || letters(v) < 3 || digits(v) < 1 || !alnum(v[0]) || strings.ContainsAny(v, "()[]{}<>|\\\"'`,;:/=+") ||
		placeholder(v) || says(v) || stands(v) {
		return false
	}
	signs, groups := 0, 0
	for i := range len(v) {
		switch c := v[i]; {
		case c >= 0x7f:
			return false
		case '0' <= c && c <= '9':
			if i == 0 || v[i-1] < '0' || v[i-1] > '9' {
				groups++
			}
		case strings.IndexByte("!#$%^&?~", c) >= 0:
			signs++
		case c == '@':
			host := v[i+1:]
			if letters(host) == 0 && !strings.Contains(host, ".") || i <= 2 && i > 0 && mixed(v) {
				signs++ // not of an address or a version
			}
		}
	}
	if reference := strings.IndexByte(v, '#'); signs == 1 && reference > 0 && letters(v[reference:]) == 0 || strings.Contains(v, "%2") || strings.HasSuffix(v, "%") {
		return false // an issue, an escape
	}
	if signs > 0 {
		return true
	}
	return groups >= 2 && mixed(v) && digits(v)+letters(v) == len(v) && changes(v) >= 5
}

// changes counts where a digit, a capital and a small letter follow one another.
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

// serial reports a key of a licence: groups of capitals and digits, or what a machine made.
func serial(v string) bool {
	groups := strings.Split(v, "-")
	for _, g := range groups {
		if len(g) < 4 || strings.Trim(g, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
			return machine(v)
		}
	}
	return len(groups) >= 3 && digits(v) >= 2 && letters(v) >= 2 && !placeholder(v)
}

// phrase finds the twelve or more plain words that stand for the key of a wallet, behind
// the cue that ends at end.
func (c *cue) phrase(s string, end int) (Finding, bool) {
	const reach, least, most = 48, 12, 24
	// words counts the plain words from i on, and where they end.
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
			if n, stop := words(i); n >= least && !sentence(s[i:stop]) {
				return Finding{c.kind, i, stop}, true
			}
		}
	}
	return Finding{}, false
}

// sentence reports words of which sentences are made; the list of BIP 39 has none of them.
func sentence(s string) bool {
	for w := range strings.FieldsSeq(s) {
		switch w {
		case "the", "and", "for", "are", "was", "with", "from", "has", "have", "not", "must", "when", "your", "its", "our", "but", "into", "which", "were", "never", "should":
			return true
		}
	}
	return false
}
