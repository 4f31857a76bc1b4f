package drift

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/race"
)

func TestPatterns(t *testing.T) {
	for _, tt := range []struct{ pattern, in, out string }{
		{"src/core", "src/core src/core/a src/core/a/b", "src src/corex src/Core/a x/src/core/a"},
		{"/src/core/", "src/core/a", "a/src/core/a"},
		{`.\src\core\`, "src/core/a", "src/cor/a"},
		{".", "a a/b", ""},
		{"/", "a a/b", ""},
		{"*.go", "a.go .go", "a/b.go a.gox"},
		{"src/*", "src/a src/a/b", "src a/src/b"},
		{"src/*/domain", "src/a/domain/x src/b/domain", "src/domain/x src/a/b/domain/x"},
		{"**/domain", "domain/x a/domain/x a/b/domain", "a/domains/x"},
		{"src/**/domain/**/model", "src/domain/model src/a/domain/b/c/model/d src/domain/domain/model", "src/model/domain src/domain"},
		{"src/**", "src/a src/a/b", "source/a"},
		{"a?c", "abc aéc", "ac abbc abc.d"},
		{"*a*b*", "ab xaxbx aabb", "ba a b"},
		{"app/[id]/x*", "app/[id]/x app/[id]/xy/z", "app/i/x"},
		{"***/a", "a x/y/a", "b"},
		{"**", "a a/b", ""},
	} {
		p, why := newPattern(tt.pattern)
		if why != "" {
			t.Errorf("%s %s", tt.pattern, why)
		}
		for want, files := range map[bool]string{true: tt.in, false: tt.out} {
			for f := range strings.FieldsSeq(files) {
				if got := p.matches(strings.Split(f, "/")); got != want {
					t.Errorf("%s matches %s: %v", tt.pattern, f, got)
				}
			}
		}
	}
	for _, bad := range []string{"", " ", "..", "../a", "a/../b", `C:\a`, "c:/a", "a\x00b", "\xff"} {
		if _, why := newPattern(bad); why == "" {
			t.Errorf("%q is a pattern", bad)
		}
	}
}

// TestLongPatternsAreFast checks that matching is fast with any number of wildcards.
func TestLongPatternsAreFast(t *testing.T) {
	p, _ := newPattern(strings.Repeat("**/a/", 200) + "b")
	q, _ := newPattern(strings.Repeat("*a", 2000) + "b")
	deep := strings.Split(strings.Repeat("a/", 2000)+"c", "/")
	if p.matches(deep) || q.matches([]string{strings.Repeat("a", 20000)}) {
		t.Error("matches")
	}
}

// TestMostSpecific checks that the layer of a file does not depend on the order of layers, except for ties.
func TestMostSpecific(t *testing.T) {
	for _, tt := range []struct{ first, second, file, want string }{
		{"src", "src/core", "src/core/a", "second"},
		{"src/core", "src", "src/core/a", "first"},
		{"src/*/model", "src/core", "src/core/model/a", "first"},
		{"src/*/model", "src/core/model", "src/core/model/a", "second"},
		{"**/model", "src", "src/model/a", "first"},
		{"**/src", "model", "model/src/a", "second"},
		{".", "*", "a/b", "second"},
		{"src/a*", "src/*b", "src/ab", "first"},
		{"src/*b", "src/a*", "src/ab", "first"},
	} {
		m, err := Parse("m", []byte("layers: [{name: first, paths: ['"+tt.first+"']}, {name: second, paths: ['"+tt.second+"']}]"))
		if err != nil {
			t.Fatal(err)
		}
		if got := m.LayerOf(tt.file); got != tt.want {
			t.Errorf("%s or %s: %s is in %q", tt.first, tt.second, tt.file, got)
		}
	}
}

// TestBracketsAreLetters checks that a folder's name may have brackets, as in Next.js, and is shown so.
func TestBracketsAreLetters(t *testing.T) {
	p, why := newPattern("app/[id]/*.tsx")
	if why != "" || p.text() != "app/[id]/*.tsx" || !p.matches([]string{"app", "[id]", "page.tsx"}) || p.matches([]string{"app", "i", "page.tsx"}) {
		t.Errorf("%q %q", p.text(), why)
	}
}

// TestLargeManifests checks that parsing takes linear time, with any number of faults.
func TestLargeManifests(t *testing.T) {
	n, unknown := race.Pick(3000, 300), race.Pick(5000, 500)
	var layers, wrong strings.Builder
	layers.WriteString("layers:\n")
	for i := range n {
		fmt.Fprintf(&layers, "- {name: l%d, paths: [a/b%d], may_depend_on: [l%d]}\n", i, i, (i+1)%n)
	}
	wrong.WriteString("layers:\n- {name: " + strings.Repeat("n", 100_000) + ", paths: [a], may_depend_on: [" + strings.Repeat("m", 100_000))
	for i := range unknown {
		fmt.Fprintf(&wrong, ", x%d", i)
	}
	wrong.WriteString("]}\n")
	m, err := Parse("m", []byte(layers.String()))
	if err != nil || len(m.Warnings()) != 1 || m.LayerOf("a/b299/c") != "l299" {
		t.Error(err)
	}
	if _, err := Parse("m", []byte(wrong.String())); err == nil || strings.Count(err.Error(), "not a layer") != maxFaults {
		t.Error("the faults are not counted")
	}
}
