package lexed

import (
	"path"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// scriptPaths finds the files that imports of JavaScript and TypeScript mean.
type scriptPaths struct {
	known    bool
	files    map[string]bool
	settings map[string]*compilerPaths // of tsconfig.json and jsconfig.json, by folder; nil where there is none
	packages map[string]workspace      // by the name in package.json
	names    []string                  // of packages, longest first
}

// workspace is a package of the repository.
type workspace struct {
	dir  string
	main []string // where its entry may be, best first
}

func newScriptPaths(files map[string]bool, list []string, read func(string) string) *scriptPaths {
	p := &scriptPaths{files: files, known: len(list) > 0, settings: map[string]*compilerPaths{}, packages: map[string]workspace{}}
	for _, f := range list {
		switch path.Base(f) {
		case "tsconfig.json", "jsconfig.json":
			dir := path.Dir(f)
			if p.settings[dir] == nil || path.Base(f) == "tsconfig.json" {
				if s := readCompilerPaths(f, files, read, 0); s != nil {
					p.settings[dir] = s
				}
			}
		case "package.json":
			if strings.Contains("/"+f, "/node_modules/") {
				continue
			}
			if name, w := readWorkspace(f, read); name != "" {
				if old, ok := p.packages[name]; !ok || len(w.dir) < len(old.dir) {
					p.packages[name] = w
				}
			}
		}
	}
	for n := range p.packages {
		p.names = append(p.names, n)
	}
	slices.SortFunc(p.names, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return p
}

// scriptExtensions are tried in this order for an import without one.
var scriptExtensions = []string{".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".json", ".vue", ".svelte"}

// resolve finds what a file imports by a name. scope is what the names of the imported
// file begin with; it is empty for a package that is not of the repository.
func (p *scriptPaths) resolve(from, spec string) (target, scope string) {
	spec, _, _ = strings.Cut(spec, "?") // as bundlers have it
	if spec == "" || len(spec) > 1000 {
		return "", ""
	}
	if spec == "." || spec == ".." || strings.HasPrefix(spec, "./") || strings.HasPrefix(spec, "../") {
		full := path.Join(path.Dir(from), spec)
		if !p.known {
			return "", scriptUnit(full)
		}
		return p.file(full)
	}
	if strings.HasPrefix(spec, "/") {
		return p.file(strings.TrimPrefix(path.Clean(spec), "/"))
	}
	if s := p.setting(path.Dir(from)); s != nil {
		for _, candidate := range s.candidates(spec) {
			if target, scope = p.file(candidate); target != "" {
				return target, scope
			}
		}
	}
	for _, n := range p.names {
		rest, ok := strings.CutPrefix(spec, n)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		w := p.packages[n]
		if rest == "" {
			for _, m := range w.main {
				if target, scope = p.file(path.Join(w.dir, m)); target != "" {
					return target, scope
				}
			}
			break
		}
		for _, dir := range []string{w.dir, path.Join(w.dir, "src"), path.Join(w.dir, "lib")} {
			if target, scope = p.file(path.Join(dir, rest)); target != "" {
				return target, scope
			}
		}
		break
	}
	return codegraph.ID(codegraph.KindPackage, packageName(spec)), ""
}

// scriptUnit is the path of a file of script without an extension of script.
func scriptUnit(p string) string {
	for _, e := range scriptExtensions {
		if s, ok := strings.CutSuffix(p, e); ok {
			return strings.TrimSuffix(s, ".d")
		}
	}
	return p
}

// file finds a file by its path with or without extension, or the index of a folder.
func (p *scriptPaths) file(full string) (target, scope string) {
	var found string
	switch {
	case strings.HasPrefix(full, ".."):
		return "", ""
	case p.files[full]:
		found = full
	default:
		found = p.extended(full)
	}
	if found == "" {
		return "", ""
	}
	return codegraph.ID(codegraph.KindFile, found), scriptUnit(found)
}

func (p *scriptPaths) extended(full string) string {
	for _, e := range scriptExtensions {
		if p.files[full+e] {
			return full + e
		}
	}
	switch e := path.Ext(full); e { // written as what it is compiled to
	case ".js", ".jsx", ".mjs", ".cjs":
		stem := strings.TrimSuffix(full, e)
		for _, e := range scriptExtensions {
			if p.files[stem+e] {
				return stem + e
			}
		}
	}
	for _, e := range scriptExtensions {
		if f := path.Join(full, "index"+e); p.files[f] {
			return f
		}
	}
	return ""
}

// setting is that of the nearest folder that has one.
func (p *scriptPaths) setting(dir string) *compilerPaths {
	for len(p.settings) > 0 {
		if s := p.settings[dir]; s != nil {
			return s
		}
		if dir == "." || dir == "/" || dir == "" {
			break
		}
		dir = path.Dir(dir)
	}
	return nil
}

// packageName is the first part of an import's name, or two parts of one with a scope.
func packageName(spec string) string {
	first, rest, ok := strings.Cut(spec, "/")
	if ok && strings.HasPrefix(spec, "@") {
		second, _, _ := strings.Cut(rest, "/")
		return first + "/" + second
	}
	return first
}
