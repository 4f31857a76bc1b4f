package repository

import (
	"fmt"
	"strings"
	"testing"
)

// bigTree writes n files, half of them Go and half Markdown, of about 6 KB.
func bigTree(t testing.TB, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		var b strings.Builder
		name := fmt.Sprintf("pkg%02d/file%04d", i%40, i)
		if i%2 == 0 {
			name += ".go"
			fmt.Fprintf(&b, "// Package pkg%02d does number %d.\npackage pkg%02d\n\nimport \"fmt\"\n", i%40, i, i%40)
			for k := range 16 {
				fmt.Fprintf(&b, "\n// Do%d_%d prints what it is given, as often as it is asked to,\n// and nothing when it is asked for nothing.\nfunc Do%d_%d(times int, what string) error {\n\tfor range times {\n\t\tif _, err := fmt.Println(what); err != nil {\n\t\t\treturn fmt.Errorf(\"print %%q: %%w\", what, err)\n\t\t}\n\t}\n\treturn nil\n}\n", i, k, i, k)
			}
		} else {
			name += ".md"
			fmt.Fprintf(&b, "# Document %d\n", i)
			for k := range 16 {
				fmt.Fprintf(&b, "\n## Section %d\n\n%s\n\n- one item\n- another item\n", k, strings.Repeat("This document says something of interest. ", 6))
			}
		}
		write(t, dir, name, b.String())
	}
	return dir
}

func BenchmarkFirstRun1000Files(b *testing.B) {
	dir := bigTree(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		index(b, dir, newMemory(b), Options{NoHistory: true})
	}
}

func BenchmarkSecondRun1000Files(b *testing.B) {
	dir := bigTree(b, 1000)
	sink := newMemory(b)
	index(b, dir, sink, Options{NoHistory: true})
	b.ReportAllocs()
	for b.Loop() {
		if r := index(b, dir, sink, Options{NoHistory: true}); r.Unchanged != 1000 {
			b.Fatal(r)
		}
	}
}
