package lexed

import (
	"path"
	"strings"
)

// pythonPaths knows the modules of a repository.
type pythonPaths struct {
	known    bool
	packages map[string]bool   // folders with an __init__.py
	modules  map[string]string // files by name
	roots    map[string]bool   // first parts of the names of modules
	tails    map[string]string // full names by their ends; empty where there are two
}

func newPythonPaths(list []string) *pythonPaths {
	p := &pythonPaths{packages: map[string]bool{}, modules: map[string]string{}, roots: map[string]bool{}, tails: map[string]string{}}
	for _, f := range list {
		if b := path.Base(f); b == "__init__.py" || b == "__init__.pyi" {
			p.packages[path.Dir(f)] = true
		}
	}
	for _, f := range list {
		if l := byPath(f); l == nil || l.family != python {
			continue
		}
		p.known = true
		m := p.module(f)
		if _, ok := p.modules[m]; !ok {
			p.modules[m] = f
		}
		root, _, _ := strings.Cut(m, ".")
		p.roots[root] = true
		if !p.packages[path.Dir(f)] {
			p.addTails(m)
		}
		for d := parentModule(m); d != ""; d = parentModule(d) { // folders are packages too
			if _, ok := p.modules[d]; ok {
				break
			}
			p.modules[d] = ""
		}
	}
	return p
}

// module is the name of the module that a file is: from the outermost folder on that is
// a package, or, where no folder is, from the root or a folder "src" or "lib".
func (p *pythonPaths) module(file string) string {
	dir, base := path.Dir(file), path.Base(file)
	stem := strings.TrimSuffix(base, path.Ext(base))
	var parts []string
	if p.packages[dir] {
		for p.packages[dir] && dir != "." {
			parts = append([]string{path.Base(dir)}, parts...)
			dir = path.Dir(dir)
		}
	} else if dir != "." {
		parts = strings.Split(dir, "/")
		for len(parts) > 0 && (parts[0] == "src" || parts[0] == "lib" || parts[0] == ".") {
			parts = parts[1:]
		}
	}
	if stem != "__init__" {
		parts = append(parts, stem)
	}
	if len(parts) == 0 {
		return "__init__"
	}
	return strings.Join(parts, ".")
}

// isModule reports whether a name is that of a module of the repository.
func (p *pythonPaths) isModule(name string) bool {
	_, ok := p.modules[name]
	return ok
}

// resolve finds the module that a file means by a name: by its full name, beside the
// file, or by the end of a full name where no folder is a package. ours is false for a
// module of a library.
func (p *pythonPaths) resolve(file, name string) (module string, ours bool) {
	if !p.known || p.isModule(name) {
		return name, true
	}
	if beside := join(parentModule(p.module(file)), name); p.isModule(beside) {
		return beside, true
	}
	if full := p.tails[name]; full != "" {
		return full, true
	}
	root, _, _ := strings.Cut(name, ".")
	return name, p.roots[root]
}

// addTails notes the ends of a module's name, down to its last part.
func (p *pythonPaths) addTails(m string) {
	for n, tail := 0, m; n < 8; n++ {
		_, rest, ok := strings.Cut(tail, ".")
		if !ok {
			return
		}
		tail = rest
		if old, ok := p.tails[tail]; ok && old != m {
			p.tails[tail] = "" // two of them
			continue
		}
		p.tails[tail] = m
	}
}
