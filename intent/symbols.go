package intent

import (
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
)

// maxName is the longest name or path, in bytes: what is longer is a blob.
const maxName = 200

// symbolKind says why a word is a symbol.
type symbolKind uint8

const (
	notSymbol  symbolKind = iota
	identifier            // camelCase, PascalCase, snake_case, a::b
	dotted                // ken.NewClaim
	path                  // internal/store/bolt/log.go, log.go
)

// findSymbols ranks identifiers and paths, in the user's spelling: what stands in
// backticks or prose before what stands in pasted code.
func findSymbols(out *ranking, words []word) {
	for i := range words {
		w := &words[i]
		score := 1
		if !w.code {
			score += 4
		}
		switch kind := isSymbol(w); {
		case kind != notSymbol:
			out.add(location(w.text), score)
		case w.quoted == '`' && !w.code && plainName(w.text):
			out.add(w.text, score+1) // `retry`: code, whatever its shape
		}
	}
}

// isSymbol classifies a word by its spelling.
func isSymbol(w *word) symbolKind {
	s := location(w.text)
	if len(s) < 2 || len(s) > maxName || w.unspaced {
		return notSymbol
	}
	var slash, dot, colons, under, letters, hump, at bool
	for i := range len(s) {
		switch c := s[i]; {
		case c == '/' || c == '\\':
			slash = true
		case c == '.':
			dot = true
		case c == ':' && i+1 < len(s) && s[i+1] == ':':
			colons = true
		case c == '_':
			under = under || i > 0 && i < len(s)-1
		case c == '@':
			at = true
		case isUpper(c):
			letters = true
			hump = hump || i > 0 && isLower(s[i-1])
		case isLower(c):
			letters = true
			hump = hump || i > 1 && isUpper(s[i-1]) && isUpper(s[i-2]) && !(c == 's' && (i+1 == len(s) || !isLower(s[i+1])))
		}
	}
	switch {
	case !letters || strings.Contains(s, "://"):
		return notSymbol
	case slash:
		if isPath(s) || w.quoted == '`' {
			return path
		}
		return notSymbol
	case at:
		return notSymbol // an address
	case dot:
		return isDotted(s)
	case colons, under && strings.Trim(s, "_") != "":
		return identifier
	case strings.Contains(s, "-") || strings.HasPrefix(s, "Mc") || strings.ContainsAny(s, "'&%+"):
		return notSymbol // kebab-case is prose more often than not
	case hump:
		return identifier
	}
	return notSymbol
}

// isPath reports whether a word with a slash is a path and not "and/or".
func isPath(s string) bool {
	switch {
	case strings.HasPrefix(s, "/"), strings.HasPrefix(s, "./"), strings.HasPrefix(s, "../"), strings.HasPrefix(s, "~/"):
		return len(s) > 3
	case strings.Count(s, "/")+strings.Count(s, "\\") >= 2:
		return true
	}
	i := strings.LastIndexAny(s, "/\\")
	return i == len(s)-1 || strings.Contains(s[i:], ".") || strings.Contains(s, "_")
}

// isDotted tells names such as os.path.join and log.go from abbreviations, host
// names and a missing space after a full stop.
func isDotted(s string) symbolKind {
	i := strings.LastIndexByte(s, '.')
	head, tail := s[:i], s[i+1:]
	switch {
	case extensions[tail]:
		return path
	case strings.HasPrefix(s, "."):
		return path // .gitignore
	case len(head) < 2 && len(tail) < 2, tail == "":
		return notSymbol
	}
	switch tail {
	case "com", "org", "net", "edu", "gov", "io":
		return notSymbol
	}
	for seg := range strings.SplitSeq(s, ".") {
		if seg == "" || !isLetter(seg[0]) && seg[0] != '_' || strings.ContainsAny(seg, "'%&+$#~") {
			return notSymbol
		}
	}
	if isUpper(tail[0]) && analysis.IsStopWord(strings.ToLower(tail)) {
		return notSymbol // "it broke.The"
	}
	return dotted
}

// location returns a path without the line and column after it.
func location(s string) string {
	for range 2 {
		i := len(s)
		for i > 0 && isDigit(s[i-1]) {
			i--
		}
		if i == len(s) || i < 2 || s[i-1] != ':' || s[i-2] == ':' {
			break
		}
		s = s[:i-1]
	}
	return s
}

// plainName reports a single word that could be a name in code.
func plainName(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && !isDigit(c) && c != '_' && c != '-' {
			return false
		}
	}
	return len(s) > 1 && len(s) <= maxName && isLetter(s[0])
}

// extensions of files that people name in conversations with an agent.
var extensions = set(`go mod sum py pyi ipynb java kt kts scala js jsx ts tsx mjs cjs vue svelte rs c h cc cpp hpp cxx cs
		fs rb php swift lua sh bash zsh ps1 sql proto graphql html css scss xml json jsonl yaml yml toml ini cfg conf env lock
		md txt rst csv tsv log pdf png jpg svg zip gz tar tf hcl gradle cmake mk db wasm ex exs erl hs ml clj dart zig nix`)
