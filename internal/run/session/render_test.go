package session_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/run/session"
)

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

var point = session.Checkpoint{
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
		if got := point.Text(max); got != want {
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
	long := point
	long.Goal = strings.Repeat("修正する ", 60)
	long.Constraints = []string{strings.Repeat("決して ", 70), "Short."}
	for _, c := range []session.Checkpoint{point, long} {
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
