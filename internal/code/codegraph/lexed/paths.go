package lexed

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// scriptPaths resolves imports of JavaScript and TypeScript to files.
type scriptPaths struct {
	known    bool
	files    map[string]bool
	settings map[string]*compilerPaths // of tsconfig.json and jsconfig.json, by folder; nil for folders without one
	packages map[string]workspace      // by the name in package.json
	names    []string                  // of packages, longest first
}

// workspace is a package of the repository.
type workspace struct {
	dir  string
	main []string // candidates for its entry file, best first

	exports []pathPattern // from "." or "./x" to files below dir; the most specific comes first
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
	p.names = slices.SortedFunc(maps.Keys(p.packages), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return p
}

// scriptExtensions are tried in this order for an import without one.
var scriptExtensions = []string{".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".json", ".vue", ".svelte"}

// resolve returns the import target of spec in the file from. scope is the prefix of the names in the imported file; it
// is empty for a package outside the repository.
func (p *scriptPaths) resolve(from, spec string) (target, scope string) {
	spec, _, _ = strings.Cut(spec, "?") // bundlers allow a query
	if spec == "" || len(spec) > 1000 {
		return "", ""
	}
	if spec == "." || spec == ".." || hasPrefix(spec, "./", "../") {
		full := path.Join(path.Dir(from), spec)
		if !p.known {
			return "", scriptUnit(full)
		}
		return p.file(full)
	}
	if strings.HasPrefix(spec, "/") {
		return p.file(strings.TrimPrefix(path.Clean(spec), "/"))
	}
	var candidates []string
	if s := p.setting(path.Dir(from)); s != nil {
		candidates = s.candidates(spec)
	}
	for _, n := range p.names {
		if rest, ok := strings.CutPrefix(spec, n); ok && (rest == "" || rest[0] == '/') {
			candidates = append(candidates, p.packages[n].candidates(rest)...)
			break
		}
	}
	for _, c := range candidates {
		if target, scope = p.file(c); target != "" {
			return target, scope
		}
	}
	return codegraph.ID(codegraph.KindPackage, packageName(spec)), ""
}

// candidates lists the paths at which a part of the package may be found, best first. rest is "" for the whole package.
func (w workspace) candidates(rest string) (out []string) {
	for _, e := range w.exports {
		out = append(out, e.fit("."+rest)...)
	}
	if rest == "" {
		for _, m := range w.main {
			out = append(out, path.Join(w.dir, m))
		}
		return out
	}
	return append(out, path.Join(w.dir, rest), path.Join(w.dir, "src", rest), path.Join(w.dir, "lib", rest))
}

// scriptUnit returns the path of a script file without its extension.
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
	if !p.files[full] {
		full = p.extended(full)
	}
	if full == "" || strings.HasPrefix(full, "..") {
		return "", ""
	}
	return codegraph.ID(codegraph.KindFile, full), scriptUnit(full)
}

func (p *scriptPaths) extended(full string) string {
	stems := []string{full}
	switch e := path.Ext(full); e { // written with the extension of the compiled file
	case ".js", ".jsx", ".mjs", ".cjs":
		stems = append(stems, strings.TrimSuffix(full, e))
	}
	for _, stem := range append(stems, path.Join(full, "index")) {
		for _, e := range scriptExtensions {
			if p.files[stem+e] {
				return stem + e
			}
		}
	}
	return ""
}

// setting returns the settings of the nearest folder that has any.
func (p *scriptPaths) setting(dir string) *compilerPaths {
	for ; dir != "." && dir != "/" && dir != "" && p.settings[dir] == nil; dir = path.Dir(dir) {
	}
	return p.settings[dir]
}

// packageName returns the first part of an import's name, or the first two if the name begins with a scope ("@a/b").
func packageName(spec string) string {
	first, rest, ok := strings.Cut(spec, "/")
	if ok && strings.HasPrefix(spec, "@") {
		second, _, _ := strings.Cut(rest, "/")
		return first + "/" + second
	}
	return first
}

// compilerPaths holds the settings of a tsconfig.json about where imports are found.
type compilerPaths struct {
	base  string // folder for names that match no pattern; empty for none
	paths []pathPattern
}

// pathPattern maps imports that match, with at most one star, to paths.
type pathPattern struct {
	prefix, suffix string
	star           bool
	to             []string // from the root of the repository
}

// candidates lists the paths at which an import may be found, best first.
func (s *compilerPaths) candidates(spec string) (out []string) {
	for _, p := range s.paths {
		if out = p.fit(spec); out != nil {
			if !p.star {
				return out
			}
			break
		}
	}
	if s.base != "" {
		out = append(out, path.Join(s.base, spec))
	}
	return out
}

// fit lists the paths to which the pattern maps an import; nil if it does not match.
func (p *pathPattern) fit(spec string) (out []string) {
	if !p.star {
		if spec == p.prefix {
			return p.to
		}
		return nil
	}
	if len(spec) < len(p.prefix)+len(p.suffix) || !strings.HasPrefix(spec, p.prefix) || !strings.HasSuffix(spec, p.suffix) {
		return nil
	}
	within := spec[len(p.prefix) : len(spec)-len(p.suffix)]
	for _, t := range p.to {
		out = append(out, path.Clean(strings.Replace(t, "*", within, 1)))
	}
	return out
}

// maxExtends is the maximum length of a chain of settings that extend each other.
const maxExtends = 5

// readCompilerPaths reads a tsconfig.json and what it extends within the repository. It returns nil if there are no
// settings about paths.
func readCompilerPaths(file string, files map[string]bool, read func(string) string, depth int) *compilerPaths {
	var c struct {
		Extends         json.RawMessage `json:"extends"`
		CompilerOptions struct {
			BaseURL *string             `json:"baseUrl"`
			Paths   map[string][]string `json:"paths"`
		} `json:"compilerOptions"`
	}
	if depth > maxExtends || json.Unmarshal(plainJSON(read(file)), &c) != nil {
		return nil
	}
	var s *compilerPaths
	for _, e := range stringOrList(c.Extends) {
		if !strings.HasPrefix(e, ".") {
			continue
		}
		other := path.Join(path.Dir(file), e)
		if !files[other] {
			other += ".json"
		}
		if files[other] && other != file {
			if base := readCompilerPaths(other, files, read, depth+1); base != nil {
				s = base
			}
		}
	}
	o := c.CompilerOptions
	if o.BaseURL == nil && o.Paths == nil {
		return s
	}
	if s == nil {
		s = &compilerPaths{}
	}
	if o.BaseURL != nil {
		s.base = path.Join(path.Dir(file), *o.BaseURL)
	}
	if o.Paths != nil {
		s.paths = patterns(o.Paths, cmp.Or(s.base, path.Dir(file)))
	}
	return s
}

// patterns sorts patterns by how specific they are, the most specific first.
func patterns(m map[string][]string, dir string) []pathPattern {
	var out []pathPattern
	for k, to := range m {
		prefix, suffix, star := strings.Cut(k, "*")
		p := pathPattern{prefix: prefix, suffix: suffix, star: star}
		for _, t := range to {
			p.to = append(p.to, path.Join(dir, t))
		}
		out = append(out, p)
	}
	last := map[bool]int{true: 1}
	slices.SortFunc(out, func(a, b pathPattern) int {
		return cmp.Or(last[a.star]-last[b.star], len(b.prefix)-len(a.prefix), strings.Compare(a.prefix+"*"+a.suffix, b.prefix+"*"+b.suffix))
	})
	return out
}

// readWorkspace reads the name of a package.json and the candidates for its entry file. Source files come before build
// output.
func readWorkspace(file string, read func(string) string) (name string, w workspace) {
	var c struct {
		Name, Source, Types, Module, Main string
		Exports                           json.RawMessage
	}
	if json.Unmarshal(plainJSON(read(file)), &c) != nil || c.Name == "" {
		return "", w
	}
	w = workspace{dir: path.Dir(file)}
	for _, m := range []string{c.Source, "src/index", "src/main", "index", c.Types, c.Module, c.Main, "lib/index"} {
		if m != "" {
			w.main = append(w.main, m)
		}
	}
	w.exports = readExports(c.Exports, w.dir)
	return c.Name, w
}

// maxExports is the maximum number of files in the exports of one package.json.
const maxExports = 2000

// readExports reads "exports" of a package.json: the files for each import, under any condition.
func readExports(raw json.RawMessage, dir string) []pathPattern {
	left := maxExports
	targets := func(raw json.RawMessage) (out []string) { return exportTargets(raw, 0, &left) }
	var keys map[string]json.RawMessage
	all := map[string][]string{}
	if json.Unmarshal(raw, &keys) != nil {
		all["."] = targets(raw)
	}
	for k, v := range keys {
		if !strings.HasPrefix(k, ".") { // conditions
			all["."] = targets(raw)
			break
		}
		all[k] = targets(v)
	}
	return patterns(all, dir)
}

// exportTargets lists the files that a value of "exports" names, in order.
func exportTargets(raw json.RawMessage, depth int, left *int) (out []string) {
	if depth > 8 || *left <= 0 || len(raw) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	first, err := d.Token()
	if err != nil {
		return nil
	}
	if s, ok := first.(string); ok {
		*left--
		return []string{s}
	}
	object := first == json.Delim('{')
	if !object && first != json.Delim('[') {
		return nil
	}
	for d.More() {
		if object {
			if _, err := d.Token(); err != nil {
				return out
			}
		}
		var v json.RawMessage
		if d.Decode(&v) != nil {
			return out
		}
		out = append(out, exportTargets(v, depth+1, left)...)
	}
	return out
}

func stringOrList(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}
	}
	var many []string
	_ = json.Unmarshal(raw, &many) // neither form: nothing is extended
	return many
}

// plainJSON removes comments and trailing commas from a JSON text.
func plainJSON(s string) []byte {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			start := i
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
			out = append(out, s[start:min(i+1, len(s))]...)
		case strings.HasPrefix(s[i:], "//"):
			for i < len(s) && s[i] != '\n' {
				i++
			}
			i--
		case strings.HasPrefix(s[i:], "/*"):
			end := strings.Index(s[i+2:], "*/")
			if end < 0 {
				return out
			}
			i += end + 3
		case c == '}' || c == ']':
			for len(out) > 0 && (out[len(out)-1] <= ' ') {
				out = out[:len(out)-1]
			}
			if len(out) > 0 && out[len(out)-1] == ',' {
				out = out[:len(out)-1]
			}
			out = append(out, c)
		default:
			out = append(out, c)
		}
	}
	return out
}
