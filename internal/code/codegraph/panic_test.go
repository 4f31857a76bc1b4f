package codegraph

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/code/repository"
)

// quiet drops log output during a test, because a stack trace would hide another test's failure.
func quiet(t *testing.T) {
	t.Helper()
	before := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { slog.SetDefault(before) })
}

// A file that can't be resolved has no edges, and the others are not affected.
func TestLinkingSurvivesAFile(t *testing.T) {
	quiet(t)
	g, sound := New(), New()
	sound.Apply(shop(), nil)
	var units []*unit
	for _, f := range shop() {
		u := g.compact(&f)
		if f.Path == "cart/total.go" {
			u.uses = append(u.uses, use{from: int32(len(u.decls))})
		}
		units = append(units, u)
	}
	g.replace(units, nil)
	v, want := g.View(), sound.View()
	for i := range v.units.n {
		u := v.unit(i)
		switch n := len(u.edges); {
		case v.text(u.path) == "cart/total.go":
			if n != 0 {
				t.Errorf("%d edges of the file that can't be linked", n)
			}
		case n != len(want.unit(i).edges):
			t.Errorf("%s has %d edges, was %d", v.text(u.path), n, len(want.unit(i).edges))
		}
	}
	g.Apply(shop(), nil)
	if got := g.View().Counts(); got != want.Counts() {
		t.Errorf("once it can be linked: %+v, want %+v", got, want.Counts())
	}
}

// If reading a file panics outside of its extractor, the file is left out, and is read the next time.
func TestBuildSurvivesAFile(t *testing.T) {
	quiet(t)
	dir := t.TempDir()
	for _, name := range []string{"a.txt", "b.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("text of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	calls := 0
	o := Options{Workers: 1, Extractors: map[string]Extractor{".txt": func(string, []byte) File { return File{Language: "text"} }}, Now: func() time.Time {
		if calls++; calls == 2 { // the first is of the build itself
			panic("it can't be read")
		}
		return time.Unix(int64(calls), 0)
	}}
	g := New()
	r, err := g.Build(t.Context(), dir, o)
	if err != nil || r.Files != 1 || r.Skipped[repository.ReasonUnreadable] != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = g.Build(t.Context(), dir, o); err != nil || r.Files != 2 || g.View().Counts().Files != 2 {
		t.Errorf("the next time: %+v, %v", r, err)
	}
}
