package plan

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

// Kind is what sort of thing a token stands for.
type Kind string

// Kinds of tokens.
const (
	Artifact Kind = "artifact" // what is agreed upon by its name alone
	File     Kind = "file"     // a file or folder, by its path below the project's root
	Symbol   Kind = "symbol"   // a symbol of the code, by its name
)

// Token is something that an agent produces or requires. Two are the same thing if
// they are equal.
type Token struct {
	Kind Kind
	Name string // as ParseToken leaves it
}

// MaxName bounds the name of a token in bytes.
const MaxName = 1000

// ParseToken reads a token as it is written, such as file:docs/graph.md. Paths are
// cleaned, so that ./a and a are the same. Errors are ken.ErrInvalid, without Field.
func ParseToken(s string) (Token, error) {
	kind, name, ok := strings.Cut(s, ":")
	t := Token{Kind(kind), name}
	switch {
	case !ok || t.Kind != Artifact && t.Kind != File && t.Kind != Symbol:
		return Token{}, bad(s, "is not artifact:NAME, file:PATH or symbol:NAME", "Write it as in artifact:report, file:docs/report.md or symbol:store.Engine.")
	case name == "":
		return Token{}, bad(s, "names nothing", "Write a name behind the colon, without a space between them.")
	case len(name) > MaxName:
		return Token{}, bad(s, fmt.Sprintf("has a name of %d bytes; %d are allowed", len(name), MaxName), "Choose a shorter name.")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return Token{}, bad(s, "has characters in its name that can't be seen", "Write letters, digits and punctuation.")
	case strings.TrimSpace(name) != name:
		return Token{}, bad(s, "begins or ends with a space", "Write the name without spaces around it.")
	case t.Kind == Artifact && strings.ContainsAny(name, " ,"):
		return Token{}, bad(s, "has a space or comma in its name", "Join the words with hyphens, as in artifact:repository-graph.")
	case t.Kind == File:
		return parseFile(s, name)
	}
	return t, nil
}

func parseFile(s, name string) (Token, error) {
	clean := path.Clean(name)
	switch {
	case strings.Contains(name, `\`):
		return Token{}, bad(s, "has a backslash in its path", "Separate folders with /, on every system.")
	case strings.TrimSpace(clean) != clean: // "./ a"
		return Token{}, bad(s, "begins or ends with a space", "Write the path without spaces around it.")
	case clean == "." || !fs.ValidPath(clean):
		return Token{}, bad(s, "is no path below the project's root", "Write it from the root on, as in file:docs/report.md.")
	}
	return Token{File, clean}, nil
}

// String writes a token as ParseToken reads it.
func (t Token) String() string { return string(t.Kind) + ":" + t.Name }

// MarshalText is String, for JSON.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText is ParseToken, for JSON.
func (t *Token) UnmarshalText(b []byte) (err error) {
	*t, err = ParseToken(string(b))
	return err
}

// check reports a token that ParseToken would not make.
func (t Token) check() error {
	got, err := ParseToken(t.String())
	if err == nil && got != t {
		err = bad(t.String(), "is not in its plain form, "+got.String(), "Write "+got.String()+".")
	}
	return err
}

func bad(s, msg, try string) error {
	const limit = 60
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit]) + "…"
	}
	return &ken.Error{Code: ken.CodeInvalid, Msg: fmt.Sprintf("%q %s", s, msg), Try: try}
}
