package guardrail

import (
	"cmp"
	"slices"
	"strings"
)

// Finding is a credential in a text: the bytes text[Start:End].
type Finding struct {
	Kind       string // such as github-token; what the marker of Redact names
	Start, End int
}

// Redact replaces every finding of Secrets by a marker that names its kind, such
// as [redacted:github-token], and returns the findings with their places in the
// text that was given. A text without findings is returned as it is.
func Redact(text string) (string, []Finding) {
	found := Secrets(text)
	if len(found) == 0 {
		return text, nil
	}
	var b strings.Builder
	b.Grow(len(text))
	done := 0
	for _, f := range found {
		b.WriteString(text[done:f.Start])
		b.WriteString("[redacted:")
		b.WriteString(f.Kind)
		b.WriteByte(']')
		done = f.End
	}
	b.WriteString(text[done:])
	return b.String(), found
}

// Secrets finds credentials in text: private keys, tokens and keys with the
// shapes that their issuers publish, JSON web tokens, passwords in connection
// strings, command lines, .netrc and .pgpass, the credentials of Authorization
// headers, what Kubernetes manifests of kind Secret hold, values that are assigned
// to a name like password or api_key, and passwords, PINs and recovery codes that a
// sentence tells ("the password for staging is …"), in the words of a dozen
// languages. Near such a word, or in its column of a table, a word that only a password or
// a machine's key looks like is found whatever links the two. Most shapes are the rules of gitleaks (see gitleaks_rules.go, which
// also lists those left out, and why). Findings are in order and don't overlap. A
// connection string, an assignment or a sentence is found by its value only, so that
// what it was for stays readable.
//
// It is built for few false alarms, since whatever it finds is lost to the
// reader: digests, commit hashes and UUIDs are not secrets, nor are placeholders
// ("<your key>", "sk-...", "${TOKEN}", "xxxx") or names of variables. A password
// that is a plain word is found in configuration and in quotes, not in a sentence
// or in code; a secret without a known shape, name or word before it is not found:
// it is a net, not a wall.
//
// Text is read as it is. To find what invisible characters hide, Sanitize first.
func Secrets(text string) []Finding {
	f := finder{text: text, detectors: anchors()}
	for i := 0; i+4 <= len(text); i++ {
		key := anchorKey(text, i)
		h := anchorHash(key)
		if anchorBits[h>>5]&(1<<(h&31)) == 0 {
			continue
		}
		if h = anchorRehash(key); anchorAgain[h>>5]&(1<<(h&31)) != 0 {
			i = f.at(i, key)
		}
	}
	n := len(f.found)
	for _, m := range f.manifests {
		f.found = m.find(f.found, text)
	}
	f.found = append(f.found, f.columns...)
	if len(f.found) > n {
		return merged(f.found)
	}
	return f.found
}

// finder collects what is found in a text.
type finder struct {
	text      string
	detectors map[uint32][]detector
	found     []Finding
	manifests manifests
	columns   []Finding // that are found below the head of a table
	table     int       // the end of the last table that was read
	last      int       // the end of the last of found
}

// at asks the detectors of an anchor, and returns where to go on.
func (f *finder) at(i int, key uint32) int {
	if key == kindKey {
		f.manifests.add(f.text, i)
	}
	if columnKeys[key] && i >= f.table {
		var below []Finding
		below, f.table = findColumns(f.text, i)
		f.columns = append(f.columns, below...)
	}
	for _, find := range f.detectors[key] {
		x, ok := find(f.text, i)
		if x.Start = max(x.Start, f.last); ok && x.Start < x.End {
			if x.Kind == "token" || x.Kind == "secret" { // a known shape says more than the word before it
				if in := Secrets(f.text[x.Start:x.End]); len(in) > 0 && in[0].Start == 0 {
					x.Kind = in[0].Kind
				}
			}
			f.found = append(f.found, x)
			f.last = x.End
			return max(i, x.End-1)
		}
	}
	return i
}

// merged puts findings in order, and makes one of those that overlap.
func merged(found []Finding) []Finding {
	slices.SortFunc(found, func(a, b Finding) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End)) })
	out := found[:1]
	for _, f := range found[1:] {
		if last := &out[len(out)-1]; f.Start < last.End {
			last.End = max(last.End, f.End)
			continue
		}
		out = append(out, f)
	}
	return out
}
