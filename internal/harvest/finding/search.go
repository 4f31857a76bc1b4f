package finding

import (
	"path"
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// matchLine is a line of a search's result that names a file: alone, with a line
// number and the line, or as a heading.
var matchLine = lazyregexp.New(`^(?:File: |# |## |- |\./)?((?:[A-Za-z]:)?[\w.@+~/\\-]*[\w@+-](?:\.[\w-]{1,12})?)(?::\d+.*|:\S.*|-\d+-.*|:$)?$`)

// contextLine is a line around a match, as grep -C shows it.
var contextLine = lazyregexp.New(`^([\w.@+~/\\-]+?\.\w{1,12})-\d+-`)

// maxMatchLine is how much of a line is read, in bytes: the file's name stands
// first.
const maxMatchLine = 400

// plainFiles are names of files without an extension.
var plainFiles = map[string]bool{"Makefile": true, "Dockerfile": true, "CODEOWNERS": true, "LICENSE": true, "Jenkinsfile": true, "Procfile": true, "Gemfile": true, "Rakefile": true, "Justfile": true, "justfile": true, "Vagrantfile": true, "BUILD": true, "OWNERS": true}

// sourceExtensions tell a file's name from a call in a line of code.
var sourceExtensions = func() map[string]bool {
	m := map[string]bool{}
	for e := range strings.FieldsSeq(`go py pyi js jsx ts tsx mjs cjs rs java kt kts rb php c h cc cpp hpp cs fs swift scala clj ex exs erl hs ml lua
		r jl dart vue svelte md mdx rst txt adoc json yaml yml toml xml html css scss less sql sh bash ps1 proto graphql mod sum lock cfg ini conf
		gradle tf csproj sln cmake mk nix zig tmpl tpl ipynb csv`) {
		m["."+e] = true
	}
	return m
}()

// matches returns the first limit files that a search's result names, and how
// many there are.
func matches(output string, limit int) (files []string, count int) {
	seen := map[string]bool{}
	for line := range strings.Lines(shown(output)) {
		line = strings.TrimRight(line, " \r\n\t")
		line = line[:min(len(line), maxMatchLine)]
		m := contextLine.FindStringSubmatch(line)
		if m == nil {
			m = matchLine.FindStringSubmatch(line)
		}
		if m == nil {
			continue
		}
		name := strings.ReplaceAll(m[1], `\`, "/")
		base := path.Base(name)
		ext := path.Ext(base)
		inFolder := strings.Contains(name, "/")
		isFile := plainFiles[base] || sourceExtensions[ext] && ext != base || inFolder && (ext == base || ext != "" && ext == strings.ToLower(ext))
		if !isFile || seen[name] || strings.HasSuffix(name, "/") {
			continue
		}
		seen[name] = true
		if count++; len(files) < limit {
			files = append(files, name)
		}
	}
	return files, count
}
