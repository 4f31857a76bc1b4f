package decision

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/projectfile"
)

func full() Draft {
	return Draft{Title: "Use a log: \"append\" only", Status: Accepted, Date: time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC), Context: "Writes get lost.\n\n## Really\n\nYes.",
		Deciders: []string{"Ann", "Bob, the lead"}, Consulted: []string{"Eve"}, Tags: []string{"store", "no", "a: b"}, Governs: []string{"store/**", "store.Log"},
		Drivers: []string{"speed", "no cgo"}, Options: []Alternative{{Title: "bbolt: a tree", Text: "Its page.", Pros: []string{"it is Go"}, Cons: []string{"writers wait"}, Chosen: true}, {Title: "SQLite"}},
		Decision: "Chosen option: \"bbolt: a tree\".\n\n```\n# code", Consequences: "- one file", Confirmation: "A test.", More: "See ADR-0001."}
}

func TestCreate(t *testing.T) {
	r, dir := project(t, map[string]string{"doc/adr/ADR-003_x.md": "# 3. X\n\nStatus: accepted\n", "docs/adr/0001-y.md": "# 1. Y\n\nStatus: accepted\n", "doc/adr/ADR-007_template.md": "# X\n"})
	d := full()
	d.Folder = "doc/adr"
	got, err := r.Create(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	if got.Path != "doc/adr/ADR-008_use-a-log-append-only.md" || got.Handle != "ADR-0008" {
		t.Error(got.Path, got.Handle)
	}
	const want = `---
id: ADR-0008
status: accepted
date: 2026-05-01
decision-makers: [Ann, "Bob, the lead"]
consulted: [Eve]
tags: [store, "no", "a: b"]
governs: ["store/**", store.Log]
---

# Use a log: "append" only

## Context and Problem Statement

Writes get lost.

#### Really

Yes.

## Decision Drivers

- speed
- no cgo

## Considered Options

- **bbolt: a tree (chosen)**
- **SQLite**

## Decision Outcome

Chosen option: "bbolt: a tree".

` + "```\n# code\n```" + `

### Consequences

- one file

### Confirmation

A test.

## Pros and Cons of the Options

### bbolt: a tree

Its page.

- Good, because it is Go
- Bad, because writers wait

## More Information

See ADR-0001.
`
	want2 := strings.Replace(want, `"store/**"`, "store/**", 1)
	if text := get(t, dir, got.Path); text != want2 {
		t.Error(cmp.Diff(want2, text))
	}
	if fmt.Sprint(texts(got.Deciders), texts(got.Tags), texts(got.Governs), len(got.Options), got.Options[0].Chosen) != "[Ann Bob, the lead] [store no a: b] [store/** store.Log] 2 true" {
		t.Error(texts(got.Deciders), texts(got.Tags), texts(got.Governs), got.Options)
	}
	if p := r.Problems(); len(p) > 0 {
		t.Error(p)
	}
	if o := got.Options[0]; o.Text != "Its page." || fmt.Sprint(texts(o.Pros), texts(o.Cons)) != "[it is Go] [writers wait]" || got.Options[1].Text != "" {
		t.Errorf("%+v", got.Options)
	}
	next, err := r.Create(t.Context(), Draft{Title: "Änderung – und mehr!", Context: "why", Folder: "docs/adr"})
	if err != nil || next.Path != "docs/adr/0009-änderung-und-mehr.md" || next.Status != Proposed || !next.Date.Equal(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)) {
		t.Error(next.Path, next.Status, next.Date, err)
	}
}

func TestCreateInEmptyProject(t *testing.T) {
	r, _ := project(t, nil)
	got, err := r.Create(t.Context(), Draft{Title: "First", Decision: "x"})
	if err != nil || got.Path != "docs/decisions/0001-first.md" {
		t.Error(got.Path, err)
	}
}

func TestCreateRefuses(t *testing.T) {
	r, dir := project(t, nil)
	for name, d := range map[string]Draft{
		"no title": {Decision: "x"}, "two lines": {Title: "a\nb", Decision: "x"}, "long": {Title: strings.Repeat("x", MaxTitle+1), Decision: "x"}, "no decision": {Title: "x", Status: Accepted},
		"superseded": {Title: "x", Status: Superseded, Decision: "x"}, "folder": {Title: "x", Decision: "x", Folder: "../x"}, "other folder": {Title: "x", Decision: "x", Folder: "src"},
		"zero byte": {Title: "x", Decision: "a\x00b"}, "list": {Title: "x", Decision: "x", Tags: []string{"a\nb"}}, "huge": {Title: "x", Decision: strings.Repeat("x", maxSource)},
	} {
		if _, err := r.Create(t.Context(), d); !errors.Is(err, ken.ErrInvalid) || ken.Hint(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "docs")); err == nil {
		t.Error("something was written")
	}
}

// Many registries over one folder, as many processes have them, never give a number twice.
func TestCreateAtOnce(t *testing.T) {
	_, dir := project(t, map[string]string{"docs/adr/0001-y.md": "# 1. Y\n\nStatus: accepted\n"})
	var wg sync.WaitGroup
	for i := range 4 {
		r := openAt(t, dir, Options{})
		for range 5 {
			wg.Go(func() {
				if _, err := r.Create(t.Context(), Draft{Title: fmt.Sprintf("Of %d", i), Decision: "x"}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	r := openAt(t, dir, Options{})
	if list := r.List(); len(list) != 21 || list[20].Number != 21 {
		t.Error(len(list), list[len(list)-1].Number)
	}
	if p := r.Problems(); len(p) > 0 {
		t.Error(p)
	}
}

// When the second file can't be written, the first one is as before.
func TestSupersedeIsWholeOrNothing(t *testing.T) {
	r, dir := project(t, map[string]string{"docs/adr/0001-a.md": "# 1. A\n\nStatus: accepted\n", "docs/adr/0002-b.md": "# 2. B\n\nStatus: accepted\n"})
	before := r.List()
	err := r.writing(t.Context(), func(v *view) ([]projectfile.Change, error) {
		changes, err := v.succession(v.byPath["docs/adr/0001-a.md"], v.byPath["docs/adr/0002-b.md"])
		if len(changes) != 2 {
			t.Fatal(changes)
		}
		put(t, dir, changes[1].Path, "# 1. A\n\nStatus: rejected\n") // somebody is faster
		return changes, err
	})
	if !errors.Is(err, ken.ErrUnavailable) {
		t.Error(err)
	}
	if got := get(t, dir, "docs/adr/0002-b.md"); got != "# 2. B\n\nStatus: accepted\n" {
		t.Errorf("half is written: %q", got)
	}
	if diff := cmp.Diff(before, r.List()); diff != "" {
		t.Error(diff)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := r.Supersede(ctx, "1", "2"); err == nil {
		t.Error("it does not stop")
	}
}

func TestSupersede(t *testing.T) {
	r, dir := small(t)
	if _, _, err := r.Supersede(t.Context(), "2", "1"); !errors.Is(err, ken.ErrRefused) || !strings.Contains(err.Error(), "itself superseded") {
		t.Error("a circle:", err)
	}
	if _, _, err := r.Supersede(t.Context(), "1", "3"); !errors.Is(err, ken.ErrRefused) || !strings.Contains(ken.Hint(err), "ADR-0002") {
		t.Error("a second successor:", err)
	}
	if _, _, err := r.Supersede(t.Context(), "3", "3"); !errors.Is(err, ken.ErrInvalid) {
		t.Error("itself:", err)
	}
	was, now, err := r.Supersede(t.Context(), "2", "3")
	if err != nil || was.Status != Superseded || now.Handle != "ADR-0003" {
		t.Fatal(was.Status, now.Handle, err)
	}
	if got, want := get(t, dir, was.Path), strings.Replace(two2, "Accepted", "Superseded by [ADR-0003](../decisions/adr-0003-bytes.md)", 1); got != want {
		t.Error(cmp.Diff(want, got))
	}
	if got, want := get(t, dir, now.Path), strings.Replace(three, "status: proposed\n", "status: proposed\nsupersedes: [ADR-0002]\n", 1); got != want {
		t.Error(cmp.Diff(want, got))
	}
	if h, err := r.History("2"); err != nil || len(h) != 3 || h[0].Number != 1 || h[2].Number != 3 {
		t.Error(h, err)
	}
	again, _, err := r.Supersede(t.Context(), "2", "3")
	if err != nil || again.Hash != was.Hash {
		t.Error("twice is not once:", err)
	}
	old, latest, err := r.SupersedeBy(t.Context(), "3", Draft{Title: "Copy every byte", Decision: "Copy."})
	if err != nil || old.Status != Superseded || latest.Status != Accepted || latest.Path != "docs/decisions/adr-0004-copy-every-byte.md" || len(latest.Supersedes) != 1 {
		t.Fatal(old.Status, latest.Path, err)
	}
	if p := r.Problems(); len(p) > 0 {
		t.Error(p)
	}
}

func TestArchive(t *testing.T) {
	r, dir := small(t)
	put(t, dir, "docs/adr/0005-e.md", "# 5. E\r\n\r\nStatus: accepted\r\n\r\nSee [one](./0001-use-files.md#context \"t\") and `[x](0001-use-files.md)`.\r\n\r\n[ref]: 0001-use-files.md\r\n")
	refresh(t, r)
	if _, err := r.Archive(t.Context(), "2"); !errors.Is(err, ken.ErrRefused) {
		t.Error("it still holds:", err)
	}
	got, err := r.Archive(t.Context(), "1")
	if err != nil || !got.Archived || got.Path != "docs/adr/archive/0001-use-files.md" || got.Handle != "ADR-0001" {
		t.Fatal(got, err)
	}
	for name, want := range map[string]string{
		got.Path:                     strings.Replace(one1, "0002-use-a-log.md", "../0002-use-a-log.md", 1),
		"docs/adr/0002-use-a-log.md": strings.Replace(two2, "(0001-use-files.md)", "(archive/0001-use-files.md)", 1),
		"docs/adr/README.md":         "# Decisions\n\n- [1](archive/0001-use-files.md)\n",
		"docs/adr/0005-e.md":         "# 5. E\r\n\r\nStatus: accepted\r\n\r\nSee [one](./archive/0001-use-files.md#context \"t\") and `[x](0001-use-files.md)`.\r\n\r\n[ref]: archive/0001-use-files.md\r\n",
	} {
		if text := get(t, dir, name); text != want {
			t.Errorf("%s: %s", name, cmp.Diff(want, text))
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "docs/adr/0001-use-files.md")); err == nil {
		t.Error("it is still there")
	}
	if h := r.Search(Query{Words: "files"}).Hits; len(h) == 0 || h[0].Record.Path != got.Path {
		t.Error("it is not found any more:", paths(h))
	}
	if h := r.Search(Query{NoArchive: true}).Hits; slices.Contains(paths(h), "ADR-0001") {
		t.Error("it is found where it is not wanted")
	}
	if p := r.Problems(); len(p) > 0 {
		t.Error(p)
	}
	if again, err := r.Archive(t.Context(), "ADR-0001"); err != nil || again.Path != got.Path {
		t.Error(again.Path, err)
	}
	if byOld, err := r.Find("docs/adr/0001-use-files.md"); err != nil || byOld.Path != got.Path {
		t.Error(err)
	}
}
