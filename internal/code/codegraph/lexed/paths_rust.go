package lexed

import (
	"path"
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// rustPaths knows the crates of a repository and their modules.
type rustPaths struct {
	known   bool
	names   map[string]string // of crates, by their folders
	crates  map[string]bool
	modules map[string]bool
}

var crateName = lazyregexp.New(`(?m)^\s*name\s*=\s*"([^"]+)"`)

func newRustPaths(list []string, read func(string) string) *rustPaths {
	p := &rustPaths{names: map[string]string{}, crates: map[string]bool{}, modules: map[string]bool{}}
	for _, f := range list {
		if path.Base(f) != "Cargo.toml" {
			continue
		}
		name := path.Base(path.Dir(f))
		if _, section, ok := strings.Cut(read(f), "[package]"); ok {
			section, _, _ = strings.Cut(section, "\n[")
			if m := crateName.FindStringSubmatch(section); m != nil {
				name = m[1]
			}
		}
		if name != "." {
			p.names[path.Dir(f)] = strings.ReplaceAll(name, "-", "_")
			p.crates[p.names[path.Dir(f)]] = true
		}
	}
	for _, f := range list {
		if path.Ext(f) == ".rs" {
			p.known = true
			p.modules[p.module(f)] = true
		}
	}
	return p
}

// module is the module that a file is: the crate, then folders and file from src on.
func (p *rustPaths) module(file string) string {
	parts := strings.Split(strings.TrimSuffix(file, path.Ext(file)), "/")
	crate, at := "crate", 0
	for n := len(parts) - 1; n >= 0; n-- {
		dir := strings.Join(parts[:n], "/")
		if dir == "" {
			dir = "."
		}
		if name, ok := p.names[dir]; ok {
			crate, at = name, n
			break
		}
	}
	if at == 0 && crate == "crate" {
		for n := len(parts) - 2; n >= 0; n-- {
			if parts[n] == "src" {
				at = n
				if n > 0 {
					crate = strings.ReplaceAll(parts[n-1], "-", "_")
				}
				break
			}
		}
	}
	rest := parts[at:]
	if len(rest) > 1 && rest[0] == "src" {
		rest = rest[1:]
		if rest[0] == "bin" && len(rest) > 1 { // a program is a crate of its own
			crate, rest = rest[1], rest[2:]
		}
	} else if len(rest) > 1 && (rest[0] == "tests" || rest[0] == "examples" || rest[0] == "benches") {
		crate, rest = crate+"."+rest[0], rest[1:]
	}
	if n := len(rest); n > 0 && (rest[n-1] == "mod" || n == 1 && (rest[0] == "lib" || rest[0] == "main")) {
		rest = rest[:n-1]
	}
	return join(crate, strings.Join(rest, "."))
}

func (p *rustPaths) isModule(q string) bool { return p.modules[q] }

// absolute makes a full name of a path that is written in a module. ours is false for
// one of a library.
func (p *rustPaths) absolute(scope string, parts []string) (q string, ours bool) {
	crate := scope
	if i := strings.IndexByte(scope, '.'); i >= 0 {
		crate = scope[:i]
	}
	for _, kind := range []string{".tests", ".examples", ".benches"} {
		if rest, ok := strings.CutPrefix(scope, crate+kind+"."); ok { // a file beside src is a crate
			name, _, _ := strings.Cut(rest, ".")
			crate += kind + "." + name
			break
		}
	}
	var base string
	at := 0
	switch parts[0] {
	case "crate":
		at, base = 1, crate
	case "self":
		at, base = 1, scope
	case "super":
		base = scope
		for at < len(parts) && parts[at] == "super" {
			base = parentModule(base)
			at++
		}
	default:
		first := join(scope, parts[0])
		switch {
		case p.modules[first]:
			at, base = 1, first
		case p.crates[parts[0]]:
			at, base = 1, parts[0]
		default:
			return strings.Join(parts, "."), false
		}
	}
	return join(base, strings.Join(parts[at:], ".")), true
}
