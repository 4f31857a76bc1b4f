package decision

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/evaldata"
	"github.com/kenlayer/ken/internal/projectfile"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/seed"
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

// Several registries over one folder, as in several processes, never use a number twice.
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

// If the second file can't be written, the first one is not changed.
func TestSupersedeIsWholeOrNothing(t *testing.T) {
	r, dir := project(t, map[string]string{"docs/adr/0001-a.md": "# 1. A\n\nStatus: accepted\n", "docs/adr/0002-b.md": "# 2. B\n\nStatus: accepted\n"})
	before := r.List()
	err := r.withLock(t.Context(), func(v *snapshot) ([]projectfile.Change, error) {
		changes, err := v.supersedeChanges(v.byPath["docs/adr/0001-a.md"], v.byPath["docs/adr/0002-b.md"])
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
	if _, _, err := r.Supersede(t.Context(), "2", "3"); !errors.Is(err, ken.ErrRefused) || !strings.Contains(err.Error(), "not accepted") {
		t.Error("one that does not hold:", err)
	}
	if _, err := r.SetStatus(t.Context(), "3", Accepted); err != nil {
		t.Fatal(err)
	}
	was, now, err := r.Supersede(t.Context(), "2", "3")
	if err != nil || was.Status != Superseded || now.Handle != "ADR-0003" {
		t.Fatal(was.Status, now.Handle, err)
	}
	if got, want := get(t, dir, was.Path), strings.Replace(two2, "Accepted", "Superseded by [ADR-0003](../decisions/adr-0003-bytes.md)", 1); got != want {
		t.Error(cmp.Diff(want, got))
	}
	if got, want := get(t, dir, now.Path), strings.Replace(three, "status: proposed\n", "status: accepted\nsupersedes: [ADR-0002]\n", 1); got != want {
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

// statusForms are heads of records with the expected results: the deprecated status, the superseded status, and the
// line that names what is superseded.
var statusForms = map[string][4]string{
	"front":          {"---\nid: x\nstatus: accepted # why\nx: 1\n---\n# T\n", "status: deprecated # why", "status: superseded by ADR-0002 # why", "status: accepted # why\nsupersedes: [ADR-0002]"},
	"front quoted":   {"---\nstatus: \"Accepted\"\n---\n# T\n", "status: \"Deprecated\"", "status: \"Superseded by ADR-0002\"", "status: \"Accepted\"\nsupersedes: [ADR-0002]"},
	"front no space": {"---\nstatus: accepted\nsupersedes:\n---\n# T\n", "status: deprecated", "status: superseded by ADR-0002", "supersedes: [ADR-0002]"},
	"front flow":     {"---\nstatus: accepted\nsupersedes: [ADR-0007, 'ADR-0008'] # two\n---\n# T\n", "status: deprecated", "status: superseded by ADR-0002", "supersedes: [ADR-0007, 'ADR-0008', ADR-0002] # two"},
	"front list":     {"---\nstatus: accepted\nsupersedes:\n  - ADR-0007 # a\n\nx: y\n---\n# T\n", "status: deprecated", "status: superseded by ADR-0002", "  - ADR-0007 # a\n  - ADR-0002\n"},
	"front single":   {"---\nstatus: accepted\nsupersedes: ADR-0007\n---\n# T\n", "status: deprecated", "status: superseded by ADR-0002", "supersedes: [ADR-0007, ADR-0002]"},
	"front by":       {"---\nstatus: accepted\nsuperseded_by: []\n---\n# T\n", "status: deprecated", "superseded_by: [ADR-0002]", "status: accepted\nsupersedes: [ADR-0002]"},
	"bullet":         {"# T\n\n- **Status:** Accepted (2026-05-29) — slow,\n  and steady\n- **Date:** x\n", "- **Status:** Deprecated (2026-05-29) — slow,", "- **Status:** Superseded by [ADR-0002](0002-b.md) (2026-05-29) — slow,", "  and steady\n- **Supersedes:** [ADR-0002](0002-b.md)\n- **Date:** x"},
	"bullet lower":   {"# T\n\n* status: accepted\n* supersedes: none\n", "* status: deprecated", "* status: superseded by [ADR-0002](0002-b.md)", "* supersedes: [ADR-0002](0002-b.md)"},
	"bullet more":    {"# T\n\n* Status: accepted\n* Supersedes: [ADR-0007](0007-x.md)\n", "* Status: deprecated", "* Status: superseded by [ADR-0002](0002-b.md)", "* Supersedes: [ADR-0007](0007-x.md), [ADR-0002](0002-b.md)"},
	"either":         {"# T\n\n- **Status:** Accepted\n- **Supersedes / Superseded by:** —\n", "- **Status:** Deprecated", "- **Status:** Superseded by [ADR-0002](0002-b.md)", "- **Supersedes / Superseded by:** Supersedes [ADR-0002](0002-b.md)"},
	"bold":           {"# T\n\n**Status**: **Accepted**\n", "**Status**: **Deprecated**", "**Status**: **Superseded by [ADR-0002](0002-b.md)**", "**Status**: **Accepted**\n**Supersedes**: [ADR-0002](0002-b.md)"},
	"plain":          {"# T\n\nStatus: accepted\nDate: 2024-01-01\n", "Status: deprecated", "Status: superseded by [ADR-0002](0002-b.md)", "Status: accepted\nSupersedes: [ADR-0002](0002-b.md)\nDate"},
	"row":            {"# T\n\n| Status | Accepted |\n|---|---|\n| Date | x |\n", "| Status | Deprecated |", "| Status | Superseded by [ADR-0002](0002-b.md) |", ""},
	"later row":      {"# T\n\n| Key | Value |\n|---|---|\n| Status | ACCEPTED |\n", "| Status | DEPRECATED |", "| Status | SUPERSEDED by [ADR-0002](0002-b.md) |", "| Status | ACCEPTED |\n| Supersedes | [ADR-0002](0002-b.md) |"},
	"column":         {"# T\n\n| Status | Date |\n|---|---|\n| Accepted | x |\n", "| Deprecated | x |", "| Superseded by [ADR-0002](0002-b.md) | x |", "| Accepted | x |\n\nSupersedes: [ADR-0002](0002-b.md)\n"},
	"section":        {"# T\n\n## Status\n\nAccepted\n", "## Status\n\nDeprecated\n", "## Status\n\nSuperseded by [ADR-0002](0002-b.md)\n", "Accepted\n\nSupersedes [ADR-0002](0002-b.md)\n"},
	"section list":   {"# T\n\n## Status\n\n* Accepted\n* amends ADR-0009\n", "* Deprecated\n* amends", "* Superseded by [ADR-0002](0002-b.md)\n* amends", ""},
	"setext":         {"T\n=\n\nStatus\n------\nAccepted\n", "Deprecated\n", "Superseded by [ADR-0002](0002-b.md)\n", "Accepted\n\nSupersedes [ADR-0002](0002-b.md)\n"},
	"nothing":        {"# T\n", "# T\n\nStatus: deprecated\n", "# T\n\nStatus: superseded by [ADR-0002](0002-b.md)\n", "# T\n\nSupersedes: [ADR-0002](0002-b.md)\n"},
	"front nothing":  {"---\nid: x\n---\n# T\n", "status: deprecated\n---", "status: superseded by ADR-0002\n---", "supersedes: [ADR-0002]\n---"},
	"empty value":    {"---\nstatus:\ndate: 2024-01-01\n---\n# T\n", "status: deprecated\ndate", "status: superseded by ADR-0002\ndate", "status:\nsupersedes: [ADR-0002]\ndate"},
	"emoji":          {"# T\n\n- Status: ✅ Accepted\n", "- Status: ✅ Deprecated", "- Status: ✅ Superseded by [ADR-0002](0002-b.md)", ""},
	"inline":         {"# T\n\n**Status:** Accepted | **Date:** 2024-01-01\n", "**Status:** Deprecated | **Date:** 2024-01-01", "**Status:** Superseded by [ADR-0002](0002-b.md) | **Date:** 2024-01-01", "2024-01-01\n**Supersedes:** [ADR-0002](0002-b.md)\n"},
	"inline second":  {"# T\n\n**Date:** 2024-01-01 · **Status:** Accepted\n", "**Date:** 2024-01-01 · **Status:** Deprecated", "**Date:** 2024-01-01 · **Status:** Superseded by [ADR-0002](0002-b.md)", "Accepted\n\nSupersedes: [ADR-0002](0002-b.md)\n"},
	"twice":          {"---\nstatus: accepted\n---\n# T\n\n## Status\n\nAccepted\n", "status: deprecated\n---\n# T\n\n## Status\n\nDeprecated\n", "## Status\n\nSuperseded by [ADR-0002](0002-b.md)\n", ""},
}

const body = "\n## Context\n\nwhy\n\n<!-- status: accepted -->\n## Decision\n\nStatus: accepted, as ever.\n\t\n```\nstatus: accepted\n```\n\n## Consequences\n\nnone  \n\n\n"

// Each form is edited as expected, and nothing else in the file changes: the bytes before and after the edit are the
// same, with any line ends.
func TestEditForms(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(statusForms)) {
		form := statusForms[name]
		for _, eol := range []string{"\n", "\r\n"} {
			for i, op := range []string{"", "set", "supersede", "supersedes"} {
				if op == "" || form[i] == "" {
					continue
				}
				crlf := func(s string) string { return strings.ReplaceAll(s, "\n", eol) }
				src := crlf(form[0] + body)
				v := viewOf(map[string]string{"docs/adr/0001-a.md": src, "docs/adr/0002-b.md": "# 2. B\n\nStatus: accepted\n"})
				a, b := v.byPath["docs/adr/0001-a.md"], v.byPath["docs/adr/0002-b.md"]
				var changes []projectfile.Change
				var err error
				switch op {
				case "set":
					changes = make([]projectfile.Change, 1)
					changes[0], err = a.doc.statusChange(Deprecated, nil)
				case "supersede":
					changes, err = v.supersedeChanges(a, b)
				case "supersedes":
					changes, err = v.supersedeChanges(b, a)
				}
				if err != nil {
					t.Errorf("%s, %s, %q: %v", name, op, eol, err)
					continue
				}
				files := map[string]string{"docs/adr/0002-b.md": "# 2. B\n\nStatus: accepted\n"}
				for _, c := range changes {
					files[c.Path] = string(c.Now)
				}
				got := files["docs/adr/0001-a.md"]
				if !strings.Contains(got, crlf(form[i])) {
					t.Errorf("%s, %s, %q: %q", name, op, eol, got)
				}
				if eol == "\r\n" && strings.Count(got, "\n") != strings.Count(got, "\r\n") {
					t.Errorf("%s, %s: mixed ends of lines: %q", name, op, got)
				}
				if head, tail := commonEnds(src, got); len(src)-head-tail > len("Accepted") && name != "twice" && name != "front by" {
					t.Errorf("%s, %s: %q became %q", name, op, src[head:len(src)-tail], got[head:len(got)-tail])
				}
				if want := crlf(body); !strings.HasSuffix(got, want) {
					t.Errorf("%s, %s: the body changed: %q", name, op, got)
				}
				if p := viewOf(files).problems; len(p) > 0 && name != "front flow" && name != "front list" && name != "front single" && name != "bullet more" && !strings.HasPrefix(name, "empty") && !strings.HasSuffix(name, "nothing") {
					t.Errorf("%s, %s: %v", name, op, p)
				}
			}
		}
	}
}

// commonEnds returns the number of bytes that two texts have in common at their beginning and end.
func commonEnds(a, b string) (head, tail int) {
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return head, tail
}

// In the real records, an edit changes one place per file, by no more than a status. Changing it back restores the
// file.
func TestEditRealRecords(t *testing.T) {
	race.SkipLong(t)
	src := evaldata.Dir(t, "adr")
	files, err := filepath.Glob(filepath.Join(src, "0*.md"))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts["docs/adr/"+filepath.Base(f)] = string(b)
	}
	v := viewOf(texts)
	rng := rand.New(rand.NewPCG(seed.Of(t), 0))
	for _, e := range v.records {
		if e.rec.Status == Superseded {
			continue
		}
		c, err := e.doc.statusChange([]Status{Rejected, Deprecated}[rng.IntN(2)], nil)
		if err != nil {
			t.Error(e.rec.Path, err)
			continue
		}
		head, tail := commonEnds(string(c.Was), string(c.Now))
		if changed := len(c.Was) - head - tail; changed > len("Accepted") || strings.Count(string(c.Was[:head]), "\n") > 12 {
			t.Errorf("%s: %d bytes at %d", e.rec.Path, changed, head)
		}
		if strings.HasPrefix(stripMarkup(e.rec.StatusText.Text), "Done") {
			continue // its own word is removed
		}
		back, err := parse(c.Path, c.Now).statusChange(e.rec.Status, nil)
		if err != nil || string(back.Now) != string(c.Was) {
			t.Errorf("%s: there and back is elsewhere: %v", e.rec.Path, err)
		}
	}
	done := 0
	for range 200 {
		a, b := v.records[rng.IntN(len(v.records))], v.records[rng.IntN(len(v.records))]
		if a.supersedeError(b) != nil {
			continue
		}
		changes, err := v.supersedeChanges(a, b)
		if err != nil {
			t.Error(a.rec.Handle, b.rec.Handle, err)
			continue
		}
		for _, c := range changes {
			head, tail := commonEnds(string(c.Was), string(c.Now))
			if changed := len(c.Was) - head - tail; changed > len("Accepted") {
				t.Errorf("%s: %q became %q", c.Path, c.Was[head:len(c.Was)-tail], c.Now[head:len(c.Now)-tail])
			}
			texts[c.Path] = string(c.Now)
		}
		was, now := parse(a.rec.Path, []byte(texts[a.rec.Path])), parse(b.rec.Path, []byte(texts[b.rec.Path]))
		if was.Status != Superseded || !slices.ContainsFunc(now.Supersedes, func(ref Reference) bool { return ref.ID == a.rec.ID.Text }) {
			t.Errorf("%s by %s: %s, %v", a.rec.Handle, b.rec.Handle, was.Status, now.Supersedes)
		}
		for _, c := range changes {
			texts[c.Path] = string(c.Was)
		}
		done++
	}
	if done < 100 {
		t.Error("only", done)
	}
}

// A file that can't be read completely is never written.
func TestEditRefusesBrokenFiles(t *testing.T) {
	for name, src := range map[string]string{
		"tabs":         "---\nstatus: accepted\ntags:\n\t- a\n---\n# T\n",
		"anchor":       "---\nstatus: accepted\nx: &a 1\n---\n# T\n",
		"unclosed":     "---\nstatus: accepted\n\n# T\n",
		"latin-1":      "# T\n\nStatus: accepted\n\nf\xfcr\n",
		"utf-16":       "\xff\xfe#\x00 \x00T\x00\n\x00",
		"zero":         "# T\n\nStatus: accepted\n\x00\n",
		"huge":         "# T\n\nStatus: accepted\n\n" + strings.Repeat("x\n", maxSource/2),
		"block status": "---\nstatus: >\n  accepted\n---\n# T\n",
		"two lines":    "# T\n\nStatus: nobody\nknows\n",
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := project(t, map[string]string{"docs/adr/0001-a.md": src, "docs/adr/0002-b.md": "# 2. B\n\nStatus: accepted\n"})
			if _, err := r.SetStatus(t.Context(), "1", Deprecated); !errors.Is(err, ken.ErrRefused) || ken.Hint(err) == "" {
				t.Error(err)
			}
			if _, _, err := r.Supersede(t.Context(), "1", "2"); !errors.Is(err, ken.ErrRefused) {
				t.Error(err)
			}
			if get(t, dir, "docs/adr/0001-a.md") != src || get(t, dir, "docs/adr/0002-b.md") != "# 2. B\n\nStatus: accepted\n" {
				t.Error("something was written")
			}
		})
	}
}
