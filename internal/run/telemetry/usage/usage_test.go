package usage_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a time that tests move.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func noon() *clock { return &clock{time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)} }

func open(t *testing.T, dir string, c *clock) *usage.Store {
	t.Helper()
	s, err := usage.Open(dir, usage.Options{Now: c.now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func shut(t *testing.T, s *usage.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A budget is of a day in UTC, survives a restart, and is a key's own.
func TestBudgets(t *testing.T) {
	dir, c := t.TempDir(), noon()
	s := open(t, dir, c)
	spend := func(key string, want usage.Budget) {
		t.Helper()
		got, wait := s.Spend(key, 2, 100)
		if got != want || (got != usage.Free) != (wait > 0) || got != usage.Free && wait != 12*time.Hour {
			t.Errorf("%s: %q, %v, want %q", key, got, wait, want)
		}
	}
	spend("a", usage.Free)
	s.Add(usage.Row{Key: "a", Requests: 1, Input: 50, Output: 10})
	spend("a", usage.Free)
	s.Add(usage.Row{Key: "a", Requests: 1, Estimated: 40, Unmetered: 1})
	spend("a", usage.Requests)
	if requests, tokens := s.Spent("a"); requests != 2 || tokens != 100 {
		t.Errorf("a spent %d requests, %d tokens", requests, tokens)
	}
	if requests, tokens := s.Spent("nobody"); requests != 0 || tokens != 0 {
		t.Errorf("nobody spent %d requests, %d tokens", requests, tokens)
	}
	spend("b", usage.Free)
	s.Add(usage.Row{Key: "b", Requests: 1, Input: 99})
	spend("b", usage.Free)
	s.Add(usage.Row{Key: "b", Requests: 0, Output: 1})
	shut(t, s)

	s = open(t, dir, c)
	spend("a", usage.Requests)
	if got, _ := s.Spend("a", 0, 100); got != usage.Tokens {
		t.Errorf("tokens after a restart: %q", got)
	}
	if got, _ := s.Spend("a", 0, 0); got != usage.Free {
		t.Errorf("without limits: %q", got)
	}
	c.at = c.at.Add(12 * time.Hour)
	spend("a", usage.Free)
	shut(t, s)
}

// Costs are decimals, and their sums stay the ones that a person would write.
func TestCostsAddUp(t *testing.T) {
	var sum usage.Row
	for _, cost := range []float64{0.1, 0.2, 0.000_000_000_1, 1234.567} {
		sum.Add(&usage.Row{Cost: cost})
	}
	if want := 1234.867_000_000_1; sum.Cost != want {
		t.Errorf("%.15v, want %v", sum.Cost, want)
	}
}

// Rows are summed up by day, key, owner and model, and read again from the files.
func TestRows(t *testing.T) {
	dir, c := t.TempDir(), noon()
	s := open(t, dir, c)
	s.Add(usage.Row{Key: "a", Owner: "ana", Model: "m", Requests: 1, Input: 10, Cached: 5, Output: 1, Cost: .5})
	s.Add(usage.Row{Key: "a", Owner: "ana", Model: "m", Requests: 1, Input: 10, Output: 1, Unpriced: 1})
	c.at = c.at.Add(24 * time.Hour)
	s.Add(usage.Row{Key: "a", Owner: "ana", Model: "m", Requests: 1})
	s.Add(usage.Row{Key: "b", Owner: "bob", Model: strings.Repeat("x", 97), Requests: 1})
	want := []usage.Row{
		{Day: "2026-03-15", Key: "a", Owner: "ana", Model: "m", Requests: 1},
		{Day: "2026-03-15", Key: "b", Owner: "bob", Model: usage.Other, Requests: 1},
		{Day: "2026-03-14", Key: "a", Owner: "ana", Model: "m", Requests: 2, Input: 20, Cached: 5, Output: 2, Cost: .5, Unpriced: 1},
	}
	check := func(days int, want []usage.Row) {
		t.Helper()
		if got, err := s.Rows(days); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%v (-want +got)\n%s", err, cmp.Diff(want, got))
		}
	}
	check(2, want)
	check(1, want[:2])
	if got := s.Totals(); len(got) != 2 || got[0].Requests != 3 || got[0].Day != "" {
		t.Errorf("%+v", got)
	}
	shut(t, s)
	s = open(t, dir, c)
	check(30, want)
	if got := s.Totals(); len(got) != 0 {
		t.Errorf("since the start: %+v", got)
	}
	shut(t, s)
	for _, name := range []string{"2026-03-14.json", "2026-03-15.json"} {
		if fi, err := os.Stat(filepath.Join(dir, name)); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, fi, err)
		}
	}
}

// What changes is written by itself.
func TestWrittenInTheBackground(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := usage.Open(dir, usage.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s.Add(usage.Row{Key: "a", Requests: 1})
		path := filepath.Join(dir, time.Now().UTC().Format(time.DateOnly)+".json")
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("written at once: %v", err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if b, err := os.ReadFile(path); err != nil || !strings.Contains(string(b), `"key":"a"`) {
			t.Errorf("%s %v", b, err)
		}
		shut(t, s)
	})
}

// Of two processes one keeps the figures. When it ends, the other one adds its own.
func TestTwoProcesses(t *testing.T) {
	dir, c := t.TempDir(), noon()
	first, second := open(t, dir, c), open(t, dir, c)
	first.Add(usage.Row{Key: "a", Requests: 1})
	second.Add(usage.Row{Key: "a", Requests: 2})
	c.at = c.at.Add(24 * time.Hour)
	second.Add(usage.Row{Key: "a", Requests: 4})
	shut(t, first)
	shut(t, second)
	third := open(t, dir, c)
	got, err := third.Rows(2)
	if err != nil || len(got) != 2 || got[0].Requests != 4 || got[1].Requests != 3 {
		t.Errorf("%+v %v", got, err)
	}
	shut(t, third)
}

// What can't be read is not written over.
func TestDamagedFile(t *testing.T) {
	dir, c := t.TempDir(), noon()
	path := filepath.Join(dir, "2026-03-14.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := usage.Open(dir, usage.Options{Now: c.now}); !errors.Is(err, ken.ErrCorrupt) || ken.Hint(err) == "" {
		t.Errorf("%v", err)
	}
	c.at = c.at.Add(24 * time.Hour)
	s := open(t, dir, c)
	s.Add(usage.Row{Key: "a", Requests: 1})
	if got, err := s.Rows(2); !errors.Is(err, ken.ErrCorrupt) || len(got) != 1 {
		t.Errorf("%+v %v", got, err)
	}
	shut(t, s)
	if b, err := os.ReadFile(path); err != nil || string(b) != "{" {
		t.Errorf("%s %v", b, err)
	}
}

// However many names a client invents, only a limited number is counted separately.
func TestNamesAreBounded(t *testing.T) {
	s := open(t, "", noon())
	for i := range 30_000 {
		s.Add(usage.Row{Key: "local", Owner: strconv.Itoa(i), Model: strconv.Itoa(i), Requests: 1})
	}
	var sum int64
	got := s.Totals()
	for _, r := range got {
		sum += r.Requests
	}
	if len(got) > 2_001 || sum != 30_000 {
		t.Errorf("%d rows with %d requests", len(got), sum)
	}
	shut(t, s)
}

func BenchmarkSpendAndAdd(b *testing.B) {
	s, err := usage.Open("", usage.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for b.Loop() {
		s.Spend("a", 0, 0)
		s.Add(usage.Row{Key: "a", Owner: "ana", Model: "gpt-5", Requests: 1, Input: 1000, Output: 100})
	}
}
