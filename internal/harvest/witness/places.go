package witness

import (
	"bufio"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// places are the names, besides its own, under which a group of tests is looked for: the
// folder of a Go package, the path of a file.
func (s *Seen) places(group string) []string {
	file, _, _ := strings.Cut(group, "::")
	if p, ok := s.inProject(file); ok && p != "." && exists(s.Root, p) {
		return []string{p}
	}
	for dir := s.Dir; ; dir = filepath.Dir(dir) {
		if rel, err := filepath.Rel(s.Root, dir); err != nil || !filepath.IsLocal(rel) {
			return nil
		}
		module := moduleAt(filepath.Join(dir, "go.mod"))
		if module == "" {
			if dir == filepath.Dir(dir) {
				return nil
			}
			continue
		}
		below, ok := strings.CutPrefix(group, module+"/")
		if !ok {
			return nil
		}
		if p, ok := s.inProject(filepath.Join(dir, filepath.FromSlash(path.Clean(below)))); ok && exists(s.Root, p) {
			return []string{p}
		}
		return nil
	}
}

// moduleAt is the path of the module that a go.mod names; "" for none.
func moduleAt(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close() // nothing was written
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) == 2 && fields[0] == "module" {
			return strings.Trim(fields[1], `"`)
		}
	}
	return ""
}
