package provenance

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// prefixes are what stable ids of the code's graph and tokens of a plan begin with.
var prefixes = []string{"file", "package", "namespace", "type", "interface", "method", "property", "function", "variable", "adr", "symbol", "artifact"}

// names are the ways in which claims may write what is asked for: as it was given, as a
// path from the root, and without what says of which sort it is or in which line.
func names(q *Query, root string) []string {
	var out []string
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, s := range append([]string{q.Target}, q.Names...) {
		add(s)
		if kind, rest, ok := strings.Cut(s, ":"); ok && slices.Contains(prefixes, kind) {
			s = rest
			add(s)
		}
		if p, ok := inProject(s, root); ok {
			add(p)
			s = p
		}
		if file, line, ok := strings.Cut(s, ":"); ok && line != "" && strings.Trim(line, "0123456789:") == "" {
			add(file)
		}
	}
	return out
}

// inProject spells a path as claims do, from the root and with slashes, and false for
// what is no path or lies elsewhere.
func inProject(s, root string) (string, bool) {
	if filepath.IsAbs(s) {
		rel, err := filepath.Rel(root, s)
		if root == "" || err != nil || !filepath.IsLocal(rel) {
			return "", false
		}
		return filepath.ToSlash(rel), true
	}
	if !strings.Contains(s, "/") || strings.Contains(s, "://") || strings.ContainsAny(s, " \n\t") {
		return "", false
	}
	p := path.Clean(s)
	return p, p != "." && filepath.IsLocal(filepath.FromSlash(p))
}
