package codegraph

import (
	"slices"
	"strings"
)

// Importing lists the files that import something whose name, as it is written, has one
// of these words between its dots, slashes, colons and backslashes: what may mean a file
// that was made just now. The paths are in order, at most limit of them; it takes some
// milliseconds for ten thousand files.
func (v *View) Importing(words map[string]bool, limit int) []string {
	var out []string
	fits := map[sym]bool{} // by the name that is imported
	for i := range v.units.n {
		u := v.unit(i)
		if u == nil || u.decision != nil {
			continue
		}
		for _, im := range u.imports {
			fit, seen := fits[im.path]
			if !seen {
				fit = slices.ContainsFunc(strings.FieldsFunc(v.text(im.path), betweenNames), func(w string) bool { return words[w] })
				fits[im.path] = fit
			}
			if fit {
				out = append(out, v.text(u.path))
				break
			}
		}
	}
	slices.Sort(out)
	return out[:min(len(out), max(limit, 0))]
}

func betweenNames(c rune) bool { return strings.ContainsRune(`./:\`, c) }
