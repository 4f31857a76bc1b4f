package decision

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
)

const (
	one1  = "# 1. Use files\n\nDate: 2024-01-01\n\n## Status\n\nSuperseded by [2. Use a log](0002-use-a-log.md)\n\n## Context\n\nsmall\n\n## Decision\n\nFiles in `store/files.go`.\n"
	two2  = "# 2. Use a log\n\n- Status: Accepted\n- Date: 2024-02-01\n- Tags: store, crash\n- Supersedes: [ADR-0001](0001-use-files.md)\n\n## Decision\n\nA log, `store.Log`.\n"
	three = "---\nstatus: proposed\ndate: 2024-03-01\ntags: [wire]\ngoverns: [\"gateway/**/*.go\", ken.Claim]\n---\n# Keep every byte\n\n## Decision\n\nSplice, as ADR-0002 has it.\n"
)

func small(t *testing.T) (*Registry, string) {
	return project(t, map[string]string{"docs/adr/0001-use-files.md": one1, "docs/adr/0002-use-a-log.md": two2, "docs/decisions/adr-0003-bytes.md": three,
		"docs/adr/README.md": "# Decisions\n\n- [1](0001-use-files.md)\n", "docs/adr/template.md": "# 0000: x\n\nStatus: proposed | accepted\n", "docs/adr/notes.txt": "x"})
}

func paths(hits []Hit) (out []string) {
	for _, h := range hits {
		out = append(out, h.Record.Handle)
	}
	return out
}

func TestFind(t *testing.T) {
	r, _ := small(t)
	for name, want := range map[string]string{"ADR-0002": "ADR-0002", "adr 2": "ADR-0002", "2": "ADR-0002", "0002": "ADR-0002", "adr:ADR-0002": "ADR-0002",
		"0002-use-a-log.md": "ADR-0002", "0002-use-a-log": "ADR-0002", "docs/adr/0002-use-a-log.md": "ADR-0002", "use a LOG": "ADR-0002", "every": "ADR-0003", "Keep every byte": "ADR-0003"} {
		if got, err := r.Find(name); err != nil || got.Handle != want {
			t.Errorf("%s: %s, %v", name, got.Handle, err)
		}
	}
	for name, want := range map[string]*ken.Error{"use": ken.ErrInvalid, "": ken.ErrInvalid, "nothing": ken.ErrNotFound, "keep nothing": ken.ErrNotFound} {
		_, err := r.Find(name)
		if !errors.Is(err, want) || ken.Hint(err) == "" {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := r.Find("use"); !strings.Contains(ken.Hint(err), "ADR-0001, ADR-0002") {
		t.Error(ken.Hint(err))
	}
	if got := len(r.List()); got != 3 {
		t.Errorf("%d records", got)
	}
	if p := r.Problems(); len(p) > 0 {
		t.Error(p)
	}
}

func TestSearch(t *testing.T) {
	r, _ := small(t)
	for name, tt := range map[string]struct {
		q    Query
		want []string
	}{
		"all":            {Query{}, []string{"ADR-0001", "ADR-0002", "ADR-0003"}},
		"title first":    {Query{Words: "log"}, []string{"ADR-0002", "ADR-0001"}},
		"stemmed":        {Query{Words: "splicing"}, []string{"ADR-0003"}},
		"tag":            {Query{Tag: "Crash"}, []string{"ADR-0002"}},
		"status":         {Query{Statuses: []Status{Proposed, Superseded}}, []string{"ADR-0001", "ADR-0003"}},
		"governs glob":   {Query{Governs: "gateway/api/routes.go"}, []string{"ADR-0003"}},
		"governs symbol": {Query{Governs: "Claim"}, []string{"ADR-0003"}},
		"governs guess":  {Query{Governs: "./store/files.go"}, []string{"ADR-0001"}},
		"since":          {Query{Since: time.Date(2024, 2, 1, 15, 0, 0, 0, time.UTC)}, []string{"ADR-0002", "ADR-0003"}},
		"until":          {Query{Until: time.Date(2024, 2, 1, 0, 0, 0, 0, time.UTC)}, []string{"ADR-0001", "ADR-0002"}},
		"both":           {Query{Words: "log", Tag: "wire"}, nil},
		"page":           {Query{Limit: 1, Offset: 1}, []string{"ADR-0002"}},
		"stop words":     {Query{Words: "the of"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.Search(tt.q)
			if diff := cmp.Diff(tt.want, paths(got.Hits)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if p := r.Search(Query{Limit: 1}); p.Total != 3 {
		t.Error(p.Total)
	}
	if p := r.Search(Query{Offset: 99}); len(p.Hits) != 0 || p.Total != 3 {
		t.Error(p)
	}
}

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		pattern, path string
		want          bool
	}{{"a/*.go", "a/b.go", true}, {"a/*.go", "a/b/c.go", false}, {"a/**/*.go", "a/b.go", true}, {"a/**/*.go", "a/b/c/d.go", true}, {"a/**", "a/b/c", true},
		{"a/**", "a", false}, {"**/x", "x", true}, {"**/x", "a/b/x", true}, {"a/[", "a/[", false}, {strings.Repeat("**/", 30) + "x", strings.Repeat("a/", 60) + "y", false}} {
		if got := glob(strings.Split(tt.pattern, "/"), strings.Split(tt.path, "/")); got != tt.want {
			t.Errorf("%s, %s: %v", tt.pattern, tt.path, got)
		}
	}
}

func TestRefresh(t *testing.T) {
	r, dir := small(t)
	if c := refresh(t, r); len(c.Added)+len(c.Changed)+len(c.Removed) > 0 {
		t.Error("nothing has changed:", c)
	}
	put(t, dir, "docs/adr/0002-use-a-log.md", strings.Replace(two2, "A log", "A ledger", 1))
	put(t, dir, "docs/adr/sub/0004-new.md", "# 4. New\n\nStatus: accepted\n")
	put(t, dir, "docs/adr/notes.md", "# Notes\n\nof no decision\n")
	if err := os.Remove(filepath.Join(dir, "docs/decisions/adr-0003-bytes.md")); err != nil {
		t.Fatal(err)
	}
	want := Changes{[]string{"docs/adr/sub/0004-new.md"}, []string{"docs/adr/0002-use-a-log.md"}, []string{"docs/decisions/adr-0003-bytes.md"}}
	if diff := cmp.Diff(want, refresh(t, r)); diff != "" {
		t.Error(diff)
	}
	if got := r.Search(Query{Words: "ledger"}); got.Total != 1 {
		t.Error(got)
	}
}

// A file that was not touched is not read again.
func TestRefreshReadsWhatChanged(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "docs/adr/0001-a.md", "# 1. A\n\nStatus: accepted\n")
	r := openAt(t, dir, Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})
	at := filepath.Join(dir, "docs/adr/0001-a.md")
	info, err := os.Stat(at)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "docs/adr/0001-a.md", "# 1. B\n\nStatus: accepted\n")
	if err := os.Chtimes(at, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if c := refresh(t, r); len(c.Changed) > 0 {
		t.Error("same size, same time, long ago: it was read all the same")
	}
	if err := os.Chtimes(at, info.ModTime().Add(time.Second), info.ModTime().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if c := refresh(t, r); len(c.Changed) != 1 {
		t.Error(c)
	}
}

func TestDuplicates(t *testing.T) {
	r, _ := project(t, map[string]string{
		"docs/adr/0001-first.md":       "# 1. First\n\nStatus: accepted\n",
		"docs/adr/0001-second.md":      "# 1. Second\n\nStatus: accepted\n",
		"docs/decisions/0001-first.md": "# 1. Elsewhere\n\nStatus: superseded by ADR-0001\n",
		"docs/adr/0002-b.md":           "# 2. B\n\nStatus: accepted\nSupersedes: [1](0001-second.md)\n",
	})
	var got []string
	for _, rec := range r.List() {
		got = append(got, rec.Handle)
		if again, err := r.Find(rec.Handle); err != nil || again.Path != rec.Path {
			t.Error(rec.Handle, err)
		}
	}
	if diff := cmp.Diff([]string{"ADR-0001/docs/adr/0001-first", "ADR-0001/second", "ADR-0001/docs/decisions/0001-first", "ADR-0002"}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := r.Find("1"); !errors.Is(err, ken.ErrInvalid) || !strings.Contains(ken.Hint(err), "ADR-0001/second") {
		t.Error(err, ken.Hint(err))
	}
	if h, err := r.History("ADR-0002"); err != nil || len(h) != 2 || h[0].Handle != "ADR-0001/second" {
		t.Error(h, err)
	}
}

func TestProblems(t *testing.T) {
	r, dir := project(t, map[string]string{
		"adr/0001-a.md": "# 1. A\n\nStatus: superseded by ADR-0002\n", "adr/0002-b.md": "# 2. B\n\nStatus: superseded by [3](0003-c.md)\n", "adr/0003-c.md": "# 3. C\n\nStatus: superseded by ADR-0001\n",
		"adr/0004-d.md": "# 4. D\n\nStatus: superseded\n", "adr/0005-e.md": "# 5. E\n\nStatus: accepted\nSupersedes: ADR-0006, ADR-0099\n", "adr/0006-f.md": "# 6. F\n\nStatus: accepted\n\nSee [x](0077-gone.md) and [web](https://example.org/0078.md).\n",
		"adr/0007-g.md": "# 7. G\n\nStatus: superseded by ADR-0007\n", "adr/0008-h.md": "---\nstatus: accepted\n\ttags: x\n---\n# 8. H\n", "adr/0009-i.md": "# 9. I\n\nStatus: accepted\n", "adr/0009-j.md": "# 9. J\n\nStatus: accepted\n",
	})
	if err := os.WriteFile(filepath.Join(dir, "adr/0010-big.md"), make([]byte, maxFile+1), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("0001-a.md", filepath.Join(dir, "adr/0011-link.md")); err != nil {
		t.Skip(err)
	}
	refresh(t, r)
	var got []string
	for _, p := range r.Problems() {
		got = append(got, strings.TrimPrefix(position(p.Path, p.Line)+" "+p.Text, "adr/"))
		if p.Try == "" {
			t.Error("no advice:", p)
		}
	}
	want := []string{
		"0003-c.md:3 a cycle of supersession: ADR-0001 by ADR-0002 by ADR-0003 by ADR-0001",
		"0004-d.md:3 superseded, but no record says by which one",
		"0005-e.md:4 supersedes ADR-0099, which does not exist",
		`0006-f.md:3 ADR-0005 supersedes it, and its status is "accepted"`,
		"0006-f.md:5 a link to 0077-gone.md, which does not exist",
		"0007-g.md:3 superseded by itself",
		"0008-h.md:3 front matter: not valid YAML: found a tab that cannot start any token",
		"0009-i.md:1 ADR-0009 is also adr/0009-j.md; here it is ADR-0009/i",
		"0009-j.md:1 ADR-0009 is also adr/0009-i.md; here it is ADR-0009/j",
		"0010-big.md more than 16777216 bytes; it is not read",
		"0011-link.md a symbolic link; it is not read",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if h, err := r.History("ADR-0001"); err != nil || len(h) != 3 {
		t.Error("a circle has no end:", h, err)
	}
	if i := slices.IndexFunc(r.List(), func(r Record) bool { return r.Number == 8 }); i < 0 || r.List()[i].Status != Accepted {
		t.Error("the broken one is lost")
	}
	if next, err := r.Create(t.Context(), Draft{Title: "Next", Decision: "x"}); err != nil || next.Number != 12 {
		t.Error("the number of what can't be read is given again:", next.Number, err)
	}
}

func TestOpenRefusesFoldersOutside(t *testing.T) {
	for _, f := range []string{"../x", "/etc", "", "a/../.."} {
		if _, err := Open(t.Context(), t.TempDir(), Options{Folders: []string{f}}); !errors.Is(err, ken.ErrInvalid) {
			t.Errorf("%q: %v", f, err)
		}
	}
}

// Other files next to the records are not records and use no number. The first record may have number 0.
func TestWhatIsARecord(t *testing.T) {
	r, _ := project(t, map[string]string{
		"docs/decisions/0000-use-madr.md":      "# Use MADR\n\n## Context and Problem Statement\n\na\n\n## Decision Outcome\n\nb\n",
		"docs/decisions/2024-roadmap.md":       "# Roadmap\n\nSoon.\n",
		"docs/decisions/0000-template.md":      "---\nstatus: {proposed | accepted}\n---\n# Title\n",
		"docs/decisions/adr-template.md":       "# Title\n\n## Status\n\nproposed\n\n## Decision\n\nx\n",
		"docs/decisions/notes/meeting.md":      "# Meeting\n\nStatus: done\n",
		"docs/decisions/use-the-slug.md":       "# Use the slug\n\n- Status: accepted\n\n## Decision\n\na\n",
		"docs/decisions/2001-a-real-one.md":    "# A real one\n\nStatus: accepted\n\n## Decision\n\na\n",
		"docs/decisions/20240102-dated-one.MD": "# Dated\n\n## Status\n\nAccepted\n\n## Context\n\na\n",
	})
	var got []string
	for _, rec := range r.List() {
		got = append(got, rec.Handle)
	}
	if diff := cmp.Diff([]string{"ADR-0000", "ADR-2001", "20240102-dated-one", "use-the-slug"}, got); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"0", "ADR-0000", "use-the-slug", "20240102-dated-one", "0000-use-madr"} {
		if _, err := r.Find(name); err != nil {
			t.Error(err)
		}
	}
	if got, err := r.Create(t.Context(), Draft{Title: "ADR-7: Next", Decision: "x"}); err != nil || got.Handle != "ADR-2002" || got.Title.Text != "Next" {
		t.Error(got.Handle, got.Title, err)
	}
	if was, _, err := r.Supersede(t.Context(), "use-the-slug", "20240102-dated-one"); err != nil || was.StatusText.Text != "superseded by [20240102-dated-one](20240102-dated-one.MD)" {
		t.Error(was.StatusText, err)
	}
}

// A record names symbols, patterns and ends of paths, too; only a file that is nowhere is missing.
func TestMissingFiles(t *testing.T) {
	const head = "---\nstatus: "
	files := map[string]string{
		"docs/adr/0001-a.md": head + "accepted\ngoverns:\n  - nosuch/file.go\n  - ./store/log.go\n  - store/**/*.go\n  - store/{a,b}.go\n  - store.Shelf\n  - mutex.lock\n" +
			"  - example.com/shop/cart.Line\n  - type:example.com/shop/cart.Line\n  - internal/gone\n  - https://example.com/a/b.md\n  - web/src/gone.ts\n---\n# A\n\n## Decision\n\nYes.\n",
		"docs/adr/0002-b.md": head + "proposed\ngoverns: [py/gone.py]\n---\n# B\n\n## Decision\n\nYes.\n",
		"docs/adr/0003-c.md": head + "rejected\ngoverns: [py/gone.py]\n---\n# C\n\n## Decision\n\nYes.\n",
		"docs/adr/0004-d.md": head + "deprecated\ngoverns: [py/gone.py]\n---\n# D\n\n## Decision\n\nYes. `py/other.py` is a guess.\n",
	}
	r, _ := project(t, files)
	var got []string
	for _, p := range r.MissingFiles(func(path string) bool { return path == "store/log.go" }) {
		got = append(got, fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Text))
	}
	want := []string{"docs/adr/0001-a.md:4: governs nosuch/file.go, which does not exist", "docs/adr/0001-a.md:14: governs web/src/gone.ts, which does not exist",
		"docs/adr/0002-b.md:3: governs py/gone.py, which does not exist"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
