package guardrail

import "strings"

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
// headers, and values of enough entropy that are assigned to a name like password
// or api_key. Most shapes are the rules of gitleaks (see gitleaks_rules.go, which
// also lists those left out, and why). Findings are in order and don't overlap. A
// connection string or an assignment is found by its value only, so that what it
// was for stays readable.
//
// It is built for few false alarms, since whatever it finds is lost to the
// reader: digests, commit hashes and UUIDs are not secrets, nor are placeholders
// ("<your key>", "sk-...", "${TOKEN}", "xxxx"), plain words or names of
// variables. So a short password, or one that is a word, is not found either, nor
// a secret without a known shape or name: it is a net, not a wall.
//
// Text is read as it is. To find what invisible characters hide, Sanitize first.
func Secrets(text string) []Finding {
	var found []Finding
	last := 0 // the end of the last finding
	detectors := anchors()
	for i := 0; i+4 <= len(text); i++ {
		key := anchorKey(text, i)
		h := anchorHash(key)
		if anchorBits[h>>5]&(1<<(h&31)) == 0 {
			continue
		}
		if h = anchorRehash(key); anchorAgain[h>>5]&(1<<(h&31)) == 0 {
			continue
		}
		for _, find := range detectors[key] {
			f, ok := find(text, i)
			if f.Start = max(f.Start, last); ok && f.Start < f.End {
				found = append(found, f)
				last = f.End
				i = max(i, last-1)
				break
			}
		}
	}
	return found
}
