package lexed

import (
	"path"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// testFile reports whether a file is for tests, by its name and its folders.
func testFile(file string, lang *language) bool {
	base := path.Base(file)
	stem := strings.TrimSuffix(base, path.Ext(base))
	folders := "/" + path.Dir(file) + "/"
	switch lang.family {
	case script:
		return strings.HasSuffix(stem, ".test") || strings.HasSuffix(stem, ".spec") || strings.HasSuffix(stem, "_test") || strings.HasSuffix(stem, "-test") || strings.Contains(folders, "/__tests__/")
	case python:
		return strings.HasPrefix(stem, "test_") || strings.HasSuffix(stem, "_test") || stem == "conftest"
	case java:
		return strings.HasSuffix(stem, "Test") || strings.HasSuffix(stem, "Tests") || strings.HasSuffix(stem, "IT") || strings.HasPrefix(stem, "Test") && stem != "Test" || strings.Contains(folders, "/src/test/")
	case csharp:
		return strings.HasSuffix(stem, "Test") || strings.HasSuffix(stem, "Tests") || strings.Contains(folders, ".Tests/") || strings.Contains(folders, ".Test/")
	case rust:
		return strings.Contains(folders, "/tests/") || stem == "tests" || strings.HasSuffix(stem, "_test") || strings.HasSuffix(stem, "_tests")
	default:
		return strings.HasPrefix(stem, "test_") || strings.HasSuffix(stem, "_test") || strings.HasSuffix(stem, "_tests") || strings.HasSuffix(stem, "-test") || strings.HasSuffix(stem, "_unittest") || strings.HasSuffix(stem, "Test")
	}
}

// testUses tells what tests are for: what they use, and are named after.
func (r *reader) testUses() {
	tests := false
	for _, p := range r.places {
		tests = tests || p.test
	}
	if tests && !r.file.Test {
		r.file.Test = r.onlyTests()
	}
	if !r.file.Test && !tests {
		return
	}
	best := map[int]codegraph.Use{}
	subjects := make([]string, len(r.file.Decls))
	for i, d := range r.file.Decls {
		subjects[i] = subject(d.Name)
	}
	stem, _, _ := strings.Cut(path.Base(r.file.Path), ".")
	titles := []string{subject(stem)}
	for _, t := range r.titles[:min(len(r.titles), maxTitles)] {
		titles = append(titles, normal(t))
	}
	for _, u := range r.file.Uses {
		if u.Kind != codegraph.Calls && u.Kind != codegraph.References {
			continue
		}
		used := normal(last(u.Name))
		for n, d := 0, u.From; d >= 0 && n < maxDepth; n++ {
			if r.places[d].test || r.file.Test && strings.Contains(strings.ToLower(r.file.Decls[d].Name), "test") {
				r.better(best, d, u, used, subjects[d])
			}
			d = r.file.Decls[d].Parent
		}
		if r.file.Test {
			for _, t := range titles {
				r.better(best, -1, u, used, t)
			}
		}
	}
	for d := -1; d < len(r.file.Decls); d++ {
		if u, ok := best[d]; ok {
			r.use(d, codegraph.Tests, u.Name, u.Qualified, u.Line)
		}
	}
	if r.file.Test {
		r.testedFile()
	}
}

// maxTitles is how many titles of tests are compared with what the file uses.
const maxTitles = 64

// better keeps the use whose name says most of what the test is named after. It must be
// the whole of it or its beginning.
func (r *reader) better(best map[int]codegraph.Use, d int, u codegraph.Use, used, subject string) {
	if subject == "" || used == "" || used != subject && (len(used) < 4 || !strings.HasPrefix(subject, used)) {
		return
	}
	if old, ok := best[d]; ok && len(normal(last(old.Name))) >= len(used) {
		return
	}
	best[d] = u
}

// testedFile tells the file that the test lies beside, or imports, by its name.
func (r *reader) testedFile() {
	stem, _, _ := strings.Cut(path.Base(r.file.Path), ".")
	want := subject(stem)
	for _, imp := range r.file.Imports {
		kind, q, ok := codegraph.Split(imp.Target)
		if !ok || want == "" {
			continue
		}
		switch kind {
		case codegraph.KindFile:
			if base, _, _ := strings.Cut(path.Base(q), "."); normal(base) == want {
				r.use(-1, codegraph.Tests, q, true, imp.Line)
				return
			}
		case codegraph.KindPackage:
			if r.lang.family == python && normal(last(q)) == want {
				r.use(-1, codegraph.Tests, q, true, imp.Line)
				return
			}
		}
	}
}

// onlyTests reports whether all that a file declares is in tests.
func (r *reader) onlyTests() bool {
	holds := map[int]bool{} // declarations with tests in them
	for i, p := range r.places {
		for d := i; p.test && d >= 0 && !holds[d]; d = r.file.Decls[d].Parent {
			holds[d] = true
		}
	}
	for i, d := range r.file.Decls {
		if p := d.Parent; p >= 0 && r.file.Decls[p].Kind != codegraph.KindNamespace && r.file.Decls[p].Kind != codegraph.KindPackage {
			continue
		}
		if !holds[i] && (d.Kind == codegraph.KindFunction && d.Exported || d.Kind == codegraph.KindType || d.Kind == codegraph.KindInterface) {
			return false
		}
	}
	return true
}

// subject is what a test is named after: its name without "test", in normal form.
func subject(n string) string {
	s := normal(n)
	for _, p := range []string{"tests", "test", "spec"} {
		if t := strings.TrimSuffix(s, p); t != s {
			return t
		}
		if t := strings.TrimPrefix(s, p); t != s {
			return t
		}
	}
	return s
}

// normal writes a name in lower case without what joins its words.
func normal(n string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '_' || c == '-' || c == ' ' || c == '.' || c == '#' || c == '(' || c == ')':
			return -1
		case c >= 'A' && c <= 'Z':
			return c + 'a' - 'A'
		}
		return c
	}, n)
}
