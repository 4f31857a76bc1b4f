package reading

import (
	"path"
	"slices"
	"strings"
)

// Variants returns the names under which a thing may be filed that a text calls name.
// They are distinct, in the form of analysis.Entity, the most literal first: the name
// itself; the words of an identifier ("PaymentsService" is payments service); the end
// of a path and its folder; and each without a head that tells the type (payments
// service is payments). The same names in their other number follow; see OtherNumber.
// Names that are Common are left out. There are at most 8, and none for an empty
// name.
func Variants(name string) []string {
	out := literal(name)
	for _, s := range out[:min(len(out), 4)] {
		if o := OtherNumber(s); o != "" && len(out) < 8 && !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	return out
}

// literal returns the variants without those in other numbers.
func literal(name string) []string {
	out := make([]string, 0, 4)
	add := func(s string) {
		s = canonical(lower(s))
		if s != "" && len(out) < 8 && !Common(s) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	bare := strings.Trim(strings.TrimSpace(name), "`\"'")
	add(bare)
	words := strings.TrimSuffix(bare, "()")
	if isPath(words) || dotted(words) {
		base := path.Base(words)
		add(base)
		if i := strings.LastIndexByte(base, '.'); i > 0 {
			base = base[:i]
			add(base)
		}
		add(humps(base))
		add(headless(canonical(lower(humps(base)))))
		if dir := path.Dir(words); dir != "." && dir != "/" {
			add(path.Base(dir))
			add(headless(canonical(lower(path.Base(dir)))))
		}
		return out
	}
	apart := humps(words)
	add(apart)
	add(headless(canonical(lower(apart))))
	return out
}

// headless returns a name without a last word that tells its type: payments for
// payments service. It returns "" if there is no such word, or if the rest is common.
func headless(name string) string {
	i := strings.LastIndexByte(name, ' ')
	if i < 0 {
		return ""
	}
	if e := lexicon()[name[i+1:]]; !e.drop || Common(name[:i]) {
		return ""
	}
	return name[:i]
}

// humps splits an identifier into its words: PaymentsService, HTTPServer.
func humps(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= 'A' && r <= 'Z' }) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if i > 0 && c >= 'A' && c <= 'Z' {
			prev := s[i-1]
			small := prev >= 'a' && prev <= 'z' || prev >= '0' && prev <= '9'
			last := prev >= 'A' && prev <= 'Z' && i+1 < len(s) && s[i+1] >= 'a' && s[i+1] <= 'z'
			if small || last {
				b.WriteByte(' ')
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}

// OtherNumber returns the singular of a name whose last word looks like a plural, or
// else its plural: invoices for invoice, and back. It returns "" for words without
// another number, for paths and identifiers with a dot, and if the result is Common.
// It knows English rules only and may return strings that are no words ("redi"). So
// use it to look names up, never to create one.
func OtherNumber(name string) string {
	n := len(name)
	if n < 4 || strings.ContainsAny(name, "/.") || !letter(name[n-1]) {
		return ""
	}
	var out string
	switch {
	case strings.HasSuffix(name, "ss"), strings.HasSuffix(name, "us"), strings.HasSuffix(name, "is"):
		return ""
	case strings.HasSuffix(name, "ies") && n > 4:
		out = name[:n-3] + "y"
	case strings.HasSuffix(name, "sses"), strings.HasSuffix(name, "xes"), strings.HasSuffix(name, "ches"), strings.HasSuffix(name, "shes"):
		out = name[:n-2]
	case name[n-1] == 's':
		out = name[:n-1]
	case name[n-1] == 'y' && !strings.ContainsRune("aeiou", rune(name[n-2])):
		out = name[:n-1] + "ies"
	case name[n-1] == 'x', strings.HasSuffix(name, "ch"), strings.HasSuffix(name, "sh"):
		out = name + "es"
	default:
		out = name + "s"
	}
	if len(out) > 120 || Common(out) || canonical(out) != out {
		return ""
	}
	return out
}
