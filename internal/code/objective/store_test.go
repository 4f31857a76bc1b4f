package objective

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
)

func TestCreateAndRead(t *testing.T) {
	s, dir := project(t, nil)
	o, err := s.Create(t.Context(), Draft{Title: " Ship: the\nnew login ", Description: "One.\n\n  two: [x]\n", Owner: "ann", Tags: []string{"auth", "auth", ""}, Decisions: []string{"ADR-0012"},
		Sessions: []string{"s-81"}, Tasks: []string{"Design", "Test: all of it", "no"}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `id: OBJ-0001
title: "Ship: the new login"
status: active
created: 2026-11-22T12:00:00Z
updated: 2026-11-22T12:00:00Z
owner: ann
tags: [auth]
links:
  decisions: [ADR-0012]
  sessions: ["s-81"]
tasks:
  - text: Design
  - text: "Test: all of it"
  - text: "no"
description: |
  One.

    two: [x]
`
	text := get(t, dir, "OBJ-0001.yaml")
	if strings.Replace(want, `["s-81"]`, "[s-81]", 1) != text {
		t.Error(cmp.Diff(want, text))
	}
	again, problems, err := s.Read(t.Context(), "obj 1")
	if diff := cmp.Diff(o, again); diff != "" || len(problems) > 0 || err != nil {
		t.Error(diff, problems, err)
	}
	second, err := s.Create(t.Context(), Draft{Title: "Second"})
	if err != nil || second.ID != "OBJ-0002" || !strings.HasSuffix(get(t, dir, "OBJ-0002.yaml"), "tasks: []\n") {
		t.Error(second, err)
	}
	for name, d := range map[string]Draft{"no title": {}, "long": {Title: strings.Repeat("x", maxTitle+1)}, "task": {Title: "x", Tasks: []string{strings.Repeat("x", maxText+1)}}, "bytes": {Title: "x", Owner: "\xff"}, "text": {Title: "x", Description: strings.Repeat("x", maxDescription+1)}} {
		if _, err := s.Create(t.Context(), d); !errors.Is(err, ken.ErrInvalid) || ken.Hint(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestList(t *testing.T) {
	s, dir := project(t, map[string]string{"OBJ-0010.yaml": "title: Ten\n", "OBJ-0002.yaml": "title: Two\nstatus: done\n", "OBJ-0003.yml": "title: Three\nstatus: x: y\n", "OBJ-0002.yml": "title: Again\n",
		"notes.yaml": "title: Notes\n", "README.md": "x", "sub/OBJ-0099.yaml": "title: Sub\n"})
	if err := os.Symlink("OBJ-0002.yaml", filepath.Join(dir, DefaultFolder, "OBJ-0044.yaml")); err != nil {
		t.Skip(err)
	}
	list, problems, err := s.List(t.Context())
	var got []string
	for _, o := range list {
		got = append(got, o.ID+" "+o.Title)
	}
	if diff := cmp.Diff([]string{"OBJ-0002 Two", "OBJ-0002 Again", "OBJ-0003 Three", "OBJ-0010 Ten"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	got = nil
	for _, p := range problems {
		got = append(got, strings.TrimPrefix(position(p.Path, p.Line), DefaultFolder+"/"))
	}
	if diff := cmp.Diff([]string{"OBJ-0003.yml:2", "OBJ-0003.yml:2", "OBJ-0044.yaml", "notes.yaml", "OBJ-0002.yml"}, got); diff != "" {
		t.Error(diff, problems)
	}
	if list, _, err := s.List(t.Context(), Done, Paused); err != nil || len(list) != 1 {
		t.Error(list, err)
	}
	if _, _, err := s.Read(t.Context(), "2"); !errors.Is(err, ken.ErrInvalid) {
		t.Error(err)
	}
	if _, _, err := s.Read(t.Context(), "OBJ-0077"); !errors.Is(err, ken.ErrNotFound) || !strings.Contains(ken.Hint(err), "OBJ-0010") {
		t.Error(err)
	}
	if o, err := s.Create(t.Context(), Draft{Title: "Next"}); err != nil || o.ID != "OBJ-0045" {
		t.Error(o.ID, err)
	}
	empty, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()
	if list, problems, err := empty.List(t.Context()); len(list)+len(problems) > 0 || err != nil {
		t.Error(list, problems, err)
	}
}

// An edit changes only the necessary lines.
func TestEdits(t *testing.T) {
	const updated = "updated: 2026-11-22T12:00:00Z"
	now := "2026-11-22T12:00:00Z"
	for name, tt := range map[string]struct {
		do   func(*Store) (Objective, error)
		was  string
		want []string // pairs: what becomes what
	}{
		"a plain task is done": {func(s *Store) (Objective, error) {
			return s.Link(t.Context(), "1", Link{Task: "implement", Done: true, By: "agent-7", Claim: "c-2"})
		}, whole, []string{"updated: 2026-11-21", updated, "  - Implement # soon\n", "  - text: Implement # soon\n    done: true\n    done_at: " + now + "\n    by: agent-7\n    claim: c-2\n"}},
		"a task is done": {func(s *Store) (Objective, error) {
			return s.Link(t.Context(), "1", Link{Task: "test", Done: true})
		}, whole, []string{"updated: 2026-11-21", updated, "    done: false   # not yet\n", "    done: true   # not yet\n    done_at: " + now + "\n"}},
		"a task is added": {func(s *Store) (Objective, error) {
			return s.Link(t.Context(), "1", Link{Task: "Release: it", Claim: "c-9"})
		}, whole,
			[]string{"updated: 2026-11-21", updated, "    done: false   # not yet\n", "    done: false   # not yet\n  - text: \"Release: it\"\n    claim: c-9\n"}},
		"status and title": {func(s *Store) (Objective, error) {
			return s.Update(t.Context(), "1", Update{Status: new(Paused), Title: new("Ship: it"), Owner: new("bob")})
		}, whole, []string{"updated: 2026-11-21", updated, "status: active", "status: paused", "\"Ship the new login\"   # for", "\"Ship: it\"   # for", "owner: ann", "owner: bob"}},
		"tags and links": {func(s *Store) (Objective, error) {
			return s.Update(t.Context(), "1", Update{Tags: []string{"x"}, AddDecisions: []string{"ADR-0013"}, AddSessions: []string{"s-81", "s-82"}})
		}, whole, []string{"updated: 2026-11-21", updated, "[auth, web]", "[x]", "  decisions: [ADR-0012]\n  sessions:\n    - s-81\n", "  decisions: [ADR-0012, ADR-0013]\n  sessions: [s-81, s-82]\n"}},
		"description": {func(s *Store) (Objective, error) {
			return s.Update(t.Context(), "1", Update{Description: new("Short.")})
		}, whole, []string{"updated: 2026-11-21", updated, "  Everything that a person sees.\n\n  And more.\n", "  Short.\n"}},
		"nothing": {func(s *Store) (Objective, error) { return s.Update(t.Context(), "1", Update{Status: new(Active)}) }, whole, nil},
		"done already": {func(s *Store) (Objective, error) {
			return s.Link(t.Context(), "1", Link{Task: "design", Done: true, By: "b"})
		}, whole, nil},
		"there already": {func(s *Store) (Objective, error) { return s.Link(t.Context(), "1", Link{Task: "DESIGN"}) }, whole, nil},
		"new keys": {func(s *Store) (Objective, error) {
			return s.Update(t.Context(), "1", Update{Owner: new("ann"), AddSessions: []string{"s-1"}})
		}, "title: Ship\n\n# end\n", []string{"title: Ship\n", "title: Ship\n" + updated + "\nowner: ann\nlinks:\n  sessions: [s-1]\n"}},
		"first task": {func(s *Store) (Objective, error) { return s.Link(t.Context(), "1", Link{Task: "Go"}) }, "title: Ship\ntasks: [] # none\n", []string{"title: Ship\n", "title: Ship\n" + updated + "\n", "tasks: [] # none\n", "tasks:\n  - text: Go\n"}},
		"no newline": {func(s *Store) (Objective, error) { return s.Link(t.Context(), "1", Link{Task: "Go"}) }, "title: Ship\nupdated:\ntasks:\n- Come", []string{"updated:", updated, "- Come", "- Come\n- text: Go\n"}},
		"brackets": {func(s *Store) (Objective, error) { return s.Link(t.Context(), "1", Link{Task: "b", Done: true}) }, "title: Ship\nupdated: 2026-01-01\ntasks: [a, b]\n",
			[]string{"2026-01-01", now, "tasks: [a, b]\n", "tasks:\n  - text: a\n  - text: b\n    done: true\n    done_at: " + now + "\n"}},
		"two lists": {func(s *Store) (Objective, error) { return s.Link(t.Context(), "1", Link{Task: "b", Done: true}) }, "Title: Ship\nUpdatedAt: 2026-01-01\nCompletedTasks:\n- a\nRemainingTasks:\n- b\n- c\nOther: x\n",
			[]string{"2026-01-01", now, "CompletedTasks:\n- a\nRemainingTasks:\n- b\n- c\n", "tasks:\n  - text: a\n    done: true\n  - text: b\n    done: true\n    done_at: " + now + "\n  - text: c\n"}},
		"boxes": {func(s *Store) (Objective, error) { return s.Link(t.Context(), "1", Link{Task: "2", Done: true}) }, "title: Ship\nupdated: 2026-01-01\ntasks:\n  - '[x] a'\n  - '[ ] b' # c\n",
			[]string{"2026-01-01", now, "  - '[ ] b' # c\n", "  - text: b # c\n    done: true\n    done_at: " + now + "\n"}},
		"task status": {func(s *Store) (Objective, error) { return s.Link(t.Context(), "1", Link{Task: "a", Done: true}) }, "title: Ship\nupdated: 2026-01-01\ntasks:\n- task: a\n  status: open # s\n  note: n\n",
			[]string{"2026-01-01", now, "  status: open # s\n  note: n\n", "  status: done # s\n  note: n\n  done_at: " + now + "\n"}},
		"tasks in place": {func(s *Store) (Objective, error) {
			return s.Update(t.Context(), "1", Update{Tasks: []Task{{Text: "z"}, {Text: "a", Done: true}}})
		}, "title: Ship\nupdated: 2026-01-01\ntasks:\n- a\n# c\nx: y\n", []string{"2026-01-01", now, "tasks:\n- a\n", "tasks:\n  - text: z\n  - text: a\n    done: true\n"}},
	} {
		for _, eol := range []string{"\n", "\r\n"} {
			t.Run(name+fmt.Sprintf("%q", eol), func(t *testing.T) {
				src := strings.ReplaceAll(tt.was, "\n", eol)
				s, dir := project(t, map[string]string{"OBJ-0001.yaml": src})
				o, err := tt.do(s)
				if err != nil {
					t.Fatal(err)
				}
				want := tt.was
				for i := 0; i < len(tt.want); i += 2 {
					if strings.Count(want, tt.want[i]) != 1 {
						t.Fatalf("%q is not there once", tt.want[i])
					}
					want = strings.Replace(want, tt.want[i], tt.want[i+1], 1)
				}
				got := get(t, dir, "OBJ-0001.yaml")
				if diff := cmp.Diff(strings.ReplaceAll(want, "\n", eol), got); diff != "" {
					t.Error(diff)
				}
				again, problems, err := s.Read(t.Context(), "1")
				if diff := cmp.Diff(o, again); diff != "" || len(problems) > 0 || err != nil {
					t.Error(diff, problems, err)
				}
			})
		}
	}
}

func TestLinkRefuses(t *testing.T) {
	s, dir := project(t, map[string]string{"OBJ-0001.yaml": whole, "OBJ-0002.yaml": "title: Ship\ntasks:\n\t- a\n", "OBJ-0003.yaml": "title: T\ntasks: [ab, ac]\n"})
	for _, tt := range []struct {
		id   string
		l    Link
		is   *ken.Error
		hint string
	}{{"1", Link{Task: "Deploy", Done: true}, ken.ErrNotFound, `"Implement", "Test: all of it"`}, {"3", Link{Task: "a", Done: true}, ken.ErrInvalid, `"ab", "ac"`}, {"1", Link{Task: "", Done: true}, ken.ErrInvalid, ""},
		{"1", Link{Task: ""}, ken.ErrInvalid, ""}, {"2", Link{Task: "a", Done: true}, ken.ErrRefused, "spaces"}, {"9", Link{Task: "a"}, ken.ErrNotFound, "OBJ-0001"}} {
		if _, err := s.Link(t.Context(), tt.id, tt.l); !errors.Is(err, tt.is) || !strings.Contains(ken.Hint(err), tt.hint) || ken.Hint(err) == "" {
			t.Errorf("%+v: %v (%s)", tt.l, err, ken.Hint(err))
		}
	}
	if get(t, dir, "OBJ-0001.yaml") != whole || get(t, dir, "OBJ-0002.yaml") != "title: Ship\ntasks:\n\t- a\n" {
		t.Error("something was written")
	}
	if _, err := s.Update(t.Context(), "1", Update{Status: new(Status("odd"))}); !errors.Is(err, ken.ErrInvalid) {
		t.Error(err)
	}
	if _, err := Open(dir, Options{Folder: "../x"}); !errors.Is(err, ken.ErrInvalid) {
		t.Error(err)
	}
}

// Unknown keys of tasks are never lost. If an edit would have to write such tasks anew, it is refused.
func TestEditKeepsOwnKeys(t *testing.T) {
	const src = "title: Ship\ntasks: [{text: a, effort: 3}, b]\n"
	s, dir := project(t, map[string]string{"OBJ-0001.yaml": src, "OBJ-0002.yaml": "title: Ship\ntasks:\n  - text: a\n    effort: 3\n  - b\n"})
	if _, err := s.Link(t.Context(), "1", Link{Task: "b", Done: true}); !errors.Is(err, ken.ErrRefused) || ken.Hint(err) == "" || get(t, dir, "OBJ-0001.yaml") != src {
		t.Error(err, get(t, dir, "OBJ-0001.yaml"))
	}
	if _, err := s.Link(t.Context(), "2", Link{Task: "a", Done: true}); err != nil || !strings.Contains(get(t, dir, "OBJ-0002.yaml"), "effort: 3\n    done: true\n") {
		t.Error(err, get(t, dir, "OBJ-0002.yaml"))
	}
}

// An unchanged file is not read again; a changed one is.
func TestReadsWhatChanged(t *testing.T) {
	s, dir := project(t, map[string]string{"OBJ-0001.yaml": "title: Ship\n"})
	s.o.Now = func() time.Time { return time.Now().Add(time.Hour) }
	title := func() string {
		o, _, err := s.Read(t.Context(), "1")
		if err != nil {
			t.Fatal(err)
		}
		return o.Title
	}
	at := filepath.Join(dir, DefaultFolder, "OBJ-0001.yaml")
	info, err := os.Stat(at)
	if err != nil {
		t.Fatal(err)
	}
	title()
	put(t, dir, "OBJ-0001.yaml", "title: Shop\n")
	if err := os.Chtimes(at, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if got := title(); got != "Ship" {
		t.Error("it was read all the same:", got)
	}
	if err := os.Chtimes(at, info.ModTime().Add(time.Second), info.ModTime().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if got := title(); got != "Shop" {
		t.Error("it was not read again:", got)
	}
	put(t, dir, "OBJ-0001.yaml", "title: Stop\n")
	if err := os.Chtimes(at, info.ModTime().Add(time.Second), info.ModTime().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	// The content on disk is compared before a write, whatever was read before.
	if o, err := s.Link(t.Context(), "1", Link{Task: "Go"}); err != nil || o.Title != "Stop" {
		t.Error(o.Title, err)
	}
}
