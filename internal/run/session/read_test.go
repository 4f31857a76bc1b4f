package session_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
)

func TestListIsNewestFirst(t *testing.T) {
	b := newBench(t, session.Options{})
	for _, id := range []string{"first", "second", "third"} {
		b.append(t, id, user("a"))
		b.clock.pass(time.Minute)
	}
	b.append(t, "first", user("a"), user("b"))
	list, err := b.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, info := range list {
		got = append(got, info.ID)
	}
	if diff := cmp.Diff([]string{"first", "third", "second"}, got); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func TestFind(t *testing.T) {
	b := newBench(t, session.Options{})
	for _, id := range []string{"0198aa-one", "0198ab-two", "0198ab", "x"} {
		b.append(t, id, user("a"))
	}
	for prefix, want := range map[string]string{"0198aa": "0198aa-one", "0198ab": "0198ab", "0198ab-": "0198ab-two", "x": "x"} {
		if got, err := b.Find(t.Context(), prefix); err != nil || got.ID != want {
			t.Errorf("find %s: %q, %v; want %q", prefix, got.ID, err, want)
		}
	}
	b.append(t, "0198ab-three", user("a"))
	if _, err := b.Find(t.Context(), "0198ab-t"); !isInvalid(err) || !strings.Contains(err.Error(), "0198ab-three") {
		t.Errorf("an ambiguous beginning: %v", err)
	}
	if _, err := b.Find(t.Context(), "0198"); !isInvalid(err) {
		t.Errorf("a short beginning: %v", err)
	}
	if _, err := b.Find(t.Context(), "0198ac"); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("nobody: %v", err)
	}
}

func TestInjectedOnce(t *testing.T) {
	b := newBench(t, session.Options{Process: "one"})
	put := func(items ...ken.Item) {
		t.Helper()
		if err := b.Injected(t.Context(), "s", items); err != nil {
			t.Fatal(err)
		}
	}
	put() // nothing is no session
	if list, err := b.List(t.Context()); len(list) != 0 || err != nil {
		t.Fatalf("%v, %v", list, err)
	}
	put(ken.Item{ID: "k2", Kind: ken.KindFact, Text: "two"}, ken.Item{ID: "k1", Kind: ken.KindHot, Text: "one"}, ken.Item{ID: "k1", Kind: ken.KindHot, Text: "one"})
	b.clock.pass(time.Minute)
	put(ken.Item{ID: "k1", Kind: ken.KindHot, Text: "one"}, ken.Item{ID: "k1", Kind: ken.KindHot, Text: "one, revised"})
	b.append(t, "s", user("a"))
	tr := b.read(t, "s")
	want := []session.Injection{
		{ID: "k1", Kind: ken.KindHot, Text: "one", At: monday},
		{ID: "k2", Kind: ken.KindFact, Text: "two", At: monday},
		{ID: "k1", Kind: ken.KindHot, Text: "one, revised", At: monday.Add(time.Minute)},
	}
	if diff := cmp.Diff(want, tr.Injected); diff != "" {
		t.Errorf("injected (-want +got):\n%s", diff)
	}
	if tr.Info.State != session.Open || tr.Info.Process != "one" || tr.Info.Messages != 1 {
		t.Errorf("%+v", tr.Info)
	}
}

func TestCheckpointIsKept(t *testing.T) {
	b := newBench(t, session.Options{})
	if _, ok, err := b.Checkpoint(t.Context(), "s"); ok || err != nil {
		t.Errorf("of nobody: %v, %v", ok, err)
	}
	b.Record(t.Context(), []session.Note{note("s", user("Count the rows of the table.")), note("s", user("Count the rows of the table."), assistant("It has 7."), user("Which column is the key?"))}, nil)
	b.step(t, "s", "table")
	want := session.Checkpoint{At: monday, Seq: 3, Goal: "Count the rows of the table.", LastStep: "It has 7.", Open: []string{"Which column is the key?"}, Focal: []string{"table"}}
	got, ok, err := b.Checkpoint(t.Context(), "s")
	if diff := cmp.Diff(want, got); diff != "" || !ok || err != nil {
		t.Errorf("checkpoint %v, %v (-want +got):\n%s", ok, err, diff)
	}
	if diff := cmp.Diff(&want, b.read(t, "s").Checkpoint); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

var checkpointLine = session.Checkpoint{
	Focal:       []string{"payments", "ledger"},
	Aspects:     []string{"payments: testing"},
	Goal:        "Fix the flaky retry test in payments",
	Constraints: []string{"Never touch the ledger.", "Tests must not sleep."},
	Open:        []string{"Why does it only fail on Linux?"},
	Files:       []string{"payments/retry_test.go", "payments/clock.go"},
	Entities:    []string{"payments", "TestRetry"},
	LastStep:    "bash: go test ./payments/...",
}

func TestTextOfACheckpoint(t *testing.T) {
	const all = `Focus: payments, ledger
Aspects: payments: testing
Constraints:
- Never touch the ledger.
- Tests must not sleep.
Goal: Fix the flaky retry test in payments
Open questions:
- Why does it only fail on Linux?
Files: payments/retry_test.go, payments/clock.go
Named: TestRetry
Last step: bash: go test ./payments/...`
	for max, want := range map[int]string{
		10_000:       all,
		len(all):     all,
		len(all) - 1: strings.TrimSuffix(all, "..") + "…",
		// What does not fit is skipped, and the next is tried.
		114: "Focus: payments, ledger\nAspects: payments: testing\nConstraints:\n- Never touch the ledger.\n- Tests must not sleep.",
		108: "Focus: payments, ledger\nAspects: payments: testing\nConstraints:\n- Never touch the ledger.\nNamed: TestRetry",
		70:  "Focus: payments, ledger\nAspects: payments: testing\nNamed: TestRetry",
		52:  "Focus: payments, ledger\nAspects: payments: testing",
		49:  "Focus: payments, ledger\nFiles: payments/clock.go",
		20:  "Focus: payments",
		0:   "",
		-1:  "",
	} {
		if got := checkpointLine.Text(max); got != want {
			t.Errorf("within %d characters:\n%s\nwant:\n%s", max, got, want)
		}
	}
	if got := (session.Checkpoint{}).Text(1000); got != "" {
		t.Errorf("of an empty one: %q", got)
	}
}

// Under every budget: within it, and what matters more is there before what matters
// less.
func TestTextStaysWithinItsBudget(t *testing.T) {
	long := checkpointLine
	long.Goal = strings.Repeat("修正する ", 60)
	long.Constraints = []string{strings.Repeat("決して ", 70), "Short."}
	for _, c := range []session.Checkpoint{checkpointLine, long} {
		for max := range 900 {
			got := c.Text(max)
			if n := utf8.RuneCountInString(got); n > max {
				t.Fatalf("%d characters within %d: %q", n, max, got)
			}
			if !strings.HasPrefix(got, "Focus: payments") && max > 20 {
				t.Fatalf("within %d the structure is missing: %q", max, got)
			}
		}
	}
}
