package codegraph

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tests adds what the declarations of a file with tests are for: what they call, what
// their name says, and the file that goes with the file.
func (r *resolver) tests() {
	for _, e := range r.edges { // those that are added here are no calls
		if e.meta.kind() == eCalls && r.v.nodes.at(e.to).flags&(testOnly|inRepo) == inRepo {
			r.add(e.from, e.to, eTests, e.meta.line(), e.meta&guessed != 0)
		}
	}
	for i := range r.u.decls {
		d := &r.u.decls[i]
		if n := r.u.nodes[i]; n >= 0 && (d.kind == kFunction || d.kind == kMethod || d.kind == kType) {
			r.add(n, r.subject(r.v.text(d.name)), eTests, d.line, true)
		}
	}
	if p := testedFile(r.v.text(r.u.path)); p != "" {
		r.add(r.u.node, r.tested(p), eTests, 0, true)
	}
}

// subject finds what the name of a test says that it is for, in the packages that the
// file sees.
func (r *resolver) subject(name string) int32 {
	for _, s := range subjects(name) {
		look := func(scope sym) int32 {
			q := r.v.text(scope)
			outside, _ := strings.CutSuffix(q, "_test") // Go's tests from outside of a package
			for _, q := range slices.Compact([]string{q, outside}) {
				if to := r.within(q, s, eTests); q != "" && to >= 0 && r.v.nodes.at(to).flags&testOnly == 0 {
					return to
				}
			}
			return -1
		}
		for _, scope := range append([]sym{r.u.within.qual}, r.u.scopes...) {
			if to := look(scope); to >= 0 {
				return to
			}
		}
		for _, im := range r.u.imports {
			if im.target.kind.space() {
				if to := look(im.target.qual); to >= 0 {
					return to
				}
			}
		}
	}
	return -1
}

// maxSubjects is how many names are tried for what a test is for.
const maxSubjects = 8

// subjects returns what a test of that name may be for, the likeliest first, and nothing
// for what is not named like a test: TestShelfOpens is for ShelfOpens, or Shelf, or
// shelf; TestShelf_View for Shelf.View.
func subjects(name string) []string {
	for _, p := range []string{"Test", "Benchmark", "Fuzz", "Example", "test"} {
		if rest, ok := trimFirst(name, p); ok {
			return shorter(rest)
		}
	}
	for _, s := range []string{"TestCase", "Tests", "Test", "Spec", "IT", "_test"} {
		if rest, ok := strings.CutSuffix(name, s); ok && rest != "" {
			return shorter(rest)
		}
	}
	return nil
}

// shorter lists a name, and what is left of it without its last words.
func shorter(name string) (out []string) {
	if name == "" {
		return nil
	}
	add := func(s string) {
		if len(out) < maxSubjects && len(s) >= minUnique && !strings.ContainsAny(s, "./:#") {
			out = append(out, s)
			c, n := utf8.DecodeRuneInString(s)
			if l := unicode.ToLower(c); l != c && len(out) < maxSubjects {
				out = append(out, string(l)+s[n:])
			}
		}
	}
	if a, b, ok := strings.Cut(name, "_"); ok && a != "" && b != "" && !strings.Contains(b, "_") {
		out = append(out, a+"."+b)
	}
	add(name)
	for ends := wordEnds(name); len(ends) > 1; {
		ends = ends[:len(ends)-1]
		add(name[:ends[len(ends)-1]])
	}
	return out
}

// wordEnds returns where the words of a name end: before an underscore, and before a
// capital letter that begins a word.
func wordEnds(s string) (ends []int) {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '_':
			if s[i-1] != '_' {
				ends = append(ends, i)
			}
		case upper(s[i]) && s[i-1] != '_' && (!upper(s[i-1]) || i+1 < len(s) && lower(s[i+1])):
			ends = append(ends, i)
		}
	}
	return append(ends, len(s))
}

func upper(c byte) bool { return c >= 'A' && c <= 'Z' }
func lower(c byte) bool { return c >= 'a' && c <= 'z' }

// testedFile is the path of the file that a file with tests is for, by its name; empty
// when the name does not say.
func testedFile(p string) string {
	b, ext := base(p), path.Ext(p)
	name := strings.TrimSuffix(b, ext)
	for _, s := range []string{"_test", ".test", ".spec", "_spec", "-test", "Tests", "Test"} {
		if n, ok := strings.CutSuffix(name, s); ok && n != "" {
			return path.Join(path.Dir(p), n+ext)
		}
	}
	if n, ok := strings.CutPrefix(name, "test_"); ok && n != "" {
		return path.Join(path.Dir(p), n+ext)
	}
	return ""
}

// testFolders are folders of tests, and what is in their place for what they test.
var testFolders = []struct{ tests, code string }{
	{"src/test/", "src/main/"}, {"tests/", "src/"}, {"test/", "src/"}, {"test/", "lib/"}, {"__tests__/", ""}, {"tests/", ""}, {"test/", ""},
}

// tested finds the file with a name: beside its tests, in the folder that goes with
// theirs, or the only one of that name.
func (r *resolver) tested(p string) int32 {
	if to := r.file(p); to >= 0 {
		return to
	}
	for _, f := range testFolders {
		if i := strings.Index("/"+p, "/"+f.tests); i >= 0 {
			if to := r.file(p[:i] + f.code + p[i+len(f.tests):]); to >= 0 {
				return to
			}
		}
	}
	return r.pathEnding(base(p))
}
