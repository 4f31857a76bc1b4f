package lexed

import (
	"fmt"
	"path"
	"runtime/debug"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// Options says what is known of the repository. With the zero value each file is read
// for itself, and an import finds what its text alone says.
type Options struct {
	// Files are the paths of the repository's files, from its root, with slashes. With
	// them "./util" is found as src/util.ts, "shop.cart" as a module of Python, and
	// "list.h" in a folder for headers.
	Files []string

	// Read returns the content of one of Files, at most 1 MiB of which is looked at. New
	// asks for settings with it: tsconfig.json and jsconfig.json (baseUrl, paths, extends),
	// package.json (names in a workspace), Cargo.toml (names of crates). What can't be
	// read is as if it were not there. nil reads none.
	Read func(path string) ([]byte, error)
}

// Set reads files of all the languages of this package. It is safe for concurrent use,
// and does not change: when files come or go, or a setting is edited, make another one.
type Set struct {
	files   map[string]bool
	known   bool // files were given
	scripts *scriptPaths
	python  *pythonPaths
	rust    *rustPaths
	headers map[string][]string // files by their last name
}

// New looks at the names of the files and at the settings of their build tools, and
// makes a Set. Making one for 100,000 files takes about 0.1 s.
func New(opt Options) *Set {
	s := &Set{files: make(map[string]bool, len(opt.Files)), known: len(opt.Files) > 0, headers: map[string][]string{}}
	for _, f := range opt.Files {
		s.files[f] = true
		if l := byPath(f); l != nil && l.family == cfamily {
			s.headers[path.Base(f)] = append(s.headers[path.Base(f)], f)
		}
	}
	read := func(string) string { return "" }
	if opt.Read != nil {
		read = func(p string) string {
			b, err := opt.Read(p)
			if err != nil {
				return ""
			}
			return strings.TrimPrefix(string(b[:min(len(b), 1<<20)]), "\ufeff")
		}
	}
	s.scripts = newScriptPaths(s.files, opt.Files, read)
	s.python = newPythonPaths(opt.Files)
	s.rust = newRustPaths(opt.Files, read)
	return s
}

// Extract reads one file; it is a codegraph.Extractor. A file whose Language is empty
// gives no more than a Problem. It takes time in proportion to the file's size, about
// a second for 20 MB, and allocates 25 to 40 times the size, most of it until it returns.
func (s *Set) Extract(file string, src []byte) codegraph.File {
	lang := byPath(file)
	if lang == nil {
		return codegraph.File{Path: file, Problems: []codegraph.Problem{{Text: "no language known for " + path.Ext(file)}}}
	}
	f := codegraph.File{Path: file, Language: lang.name, Test: testFile(file, lang)}
	src0, problem := decode(file, src, lang)
	if problem != nil {
		f.Generated = generated(file, string(src[:min(len(src), 4096)]))
		f.Problems = []codegraph.Problem{*problem}
		return f
	}
	f.Generated = generated(file, src0)
	s.extract(&f, src0, lang)
	return f
}

// extract fills in what the text says. Should a reader of declarations have a fault, the
// file keeps what was found until then.
func (s *Set) extract(f *codegraph.File, src string, lang *language) {
	sc := scan(src, lang)
	if strings.EqualFold(path.Ext(f.Path), ".h") {
		lang = headerLanguage(sc.toks, src)
		f.Language = lang.name
	}
	sc.chooseBranches()
	r := &reader{set: s, lang: lang, src: src, file: f, toks: sc.toks, flags: make([]tokenFlag, len(sc.toks)), comments: sc.comments, dirs: sc.directives,
		declared: map[string]int{}, names: map[string]name{}, strings: map[string]string{}}
	for _, p := range sc.problems {
		r.problem(p.Line, p.Text)
	}
	if line := pair(r.toks, src, lang); line > 0 {
		r.problem(line, "brackets do not fit together from here on")
	}
	defer func() {
		if v := recover(); v != nil {
			if strict {
				panic(fmt.Sprintf("%v\n%s", v, debug.Stack()))
			}
			r.problem(0, fmt.Sprintf("the file was read in part: %v", v))
		}
	}()
	switch lang.family {
	case script:
		r.script()
	case python:
		r.python()
	case java, csharp:
		r.classes()
	case rust:
		r.rust()
	case cfamily:
		r.c()
	}
	r.uses()
	r.testUses()
}

// strict makes a fault of a reader a panic, for tests.
var strict bool
