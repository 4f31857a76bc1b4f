package witness

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/harvest/finding/shell"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/store"
)

// maxCommand bounds a command line that is kept, in bytes.
const maxCommand = 400

// Line is a command as a shell would be given it, without secrets, at most 400 bytes of
// it.
func Line(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		if i > 0 && secretFlag.MatchString(args[i-1]) {
			a = hidden
		}
		words[i] = quote(secretValue.ReplaceAllString(a, "${1}"+hidden))
	}
	line := store.Clean(strings.Join(words, " "))
	if len(line) > maxCommand {
		line = strings.ToValidUTF8(line[:maxCommand-len("…")], "") + "…"
	}
	return line
}

// What is given by a name that says that it is secret is left out, however harmless it
// looks: the value of an option, in a word of its own or in one with it, or of a variable.
const (
	hidden     = "[secret]"
	secretName = `(?:passw(?:or)?d|passphrase|token|secret|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)(?:[_-]?value)?`
	aValue     = `(?:'[^']*'|"[^"]*"|[^\s'"]\S*)`
)

var (
	secretFlag  = lazyregexp.New(`(?i)^--?[\w-]*` + secretName + `$`)
	secretValue = lazyregexp.New(`(?i)((?:--?[\w-]*` + secretName + `(?:=|\s+)|\b\w*` + secretName + `=))` + aValue)
)

// quote writes a word so that a shell reads it as one.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=,@%+", r) || r > 127
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// honest reports whether the exit status speaks for what the output tells of: not one of
// a filter behind a pipe.
func honest(args []string) bool {
	name := filepath.Base(args[0])
	if !slices.Contains([]string{"sh", "bash", "zsh", "dash"}, name) {
		return true
	}
	return shell.Parse(Line(args), "").Honest
}
