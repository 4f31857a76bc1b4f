package task_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
)

// The table of steps is a contract: what is over is opened first, all else is free.
func TestSteps(t *testing.T) {
	for _, from := range task.Statuses() {
		for _, to := range task.Statuses() {
			want := from == to || !from.Over() || to == task.Open
			err := task.Check(from, to)
			if (err == nil) != want {
				t.Errorf("%s to %s: %v", from, to, err)
			}
			if err != nil && (!errors.Is(err, ken.ErrRefused) || !strings.Contains(err.Error(), string(from)) || !strings.Contains(ken.Hint(err), "open")) {
				t.Errorf("%s to %s says %v, %s", from, to, err, ken.Hint(err))
			}
		}
	}
	for _, bad := range []task.Status{"", "paused", "OPEN"} {
		if err := task.Check(task.Open, bad); !errors.Is(err, ken.ErrInvalid) || bad.Valid() {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestIDs(t *testing.T) {
	for n, id := range map[uint64]string{1: "T-0001", 42: "T-0042", 9999: "T-9999", 10000: "T-10000"} {
		if got := task.ID(n); got != id || task.Number(id) != n {
			t.Errorf("%d is %s, and that is %d", n, got, task.Number(got))
		}
		if back, ok := task.IDOf(task.Name(id)); !ok || back != id {
			t.Errorf("the name %q of %s is %s", task.Name(id), id, back)
		}
		for _, written := range []string{id, strings.ToLower(id), fmt.Sprint(n), " " + id + "\n", fmt.Sprint("t", n), fmt.Sprint("T-", n)} {
			if got, err := task.ParseID(written); err != nil || got != id {
				t.Errorf("%q is %s, %v", written, got, err)
			}
		}
	}
	for _, bad := range []string{"", "T", "T-", "T-0", "-1", "T--1", "T-1x", "1.5", "T-99999999999999999999", strings.Repeat("1", 100)} {
		if _, err := task.ParseID(bad); !errors.Is(err, ken.ErrInvalid) || len(err.Error()) > 200 {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, bad := range []string{"", "t 1", "t 00001", "t 0000", "x 0001", "T-0001", "t 0001 more"} {
		if id, ok := task.IDOf(bad); ok {
			t.Errorf("%q is %s", bad, id)
		}
	}
}

func FuzzParseID(f *testing.F) {
	for _, s := range []string{"T-0001", "t1", "10000", "T-", "-3", "T-00000000000000000000000001", "支"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := task.ParseID(s)
		if err != nil {
			if !errors.Is(err, ken.ErrInvalid) {
				t.Errorf("%q: %v", s, err)
			}
			return
		}
		if again, err := task.ParseID(id); err != nil || again != id || !task.IsID(id) {
			t.Errorf("%q is %s, which is %s, %v", s, id, again, err)
		}
	})
}

func claim(body string, change func(*ken.Claim)) ken.Claim {
	c := ken.Claim{ID: "x", Kind: ken.KindEntity, Key: task.Key("T-0003"), Aspect: task.Type, Text: "Do it", Entities: []string{"t 0003", "ledger"}, Body: json.RawMessage(body)}
	change(&c)
	return c
}

// A body that somebody else wrote is no reason to lose a task.
func TestBodies(t *testing.T) {
	day := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	for body, want := range map[string]string{
		``:                         "open [ledger] false",
		`{`:                        "open [ledger] false",
		`{"status":"paused"}`:      "open [ledger] false",
		`{"status":7}`:             "open [ledger] false",
		`{"status":"in_progress"}`: "in_progress [ledger] false",
		`{"status":"blocked","about":["The Ledger"],"expires_at":"2026-03-02T09:00:00Z"}`: "blocked [The Ledger] true",
		`{"status":"blocked","expires_at":"2026-03-02T09:00:01Z"}`:                        "blocked [ledger] false",
		`{"status":"done","expires_at":"2026-03-01T09:00:00Z"}`:                           "done [ledger] false",
	} {
		got, ok := task.Of(claim(body, func(*ken.Claim) {}), day)
		if s := fmt.Sprintf("%s %s %t", got.Status, got.About, got.Expired); !ok || s != want {
			t.Errorf("%s: %q, want %q", body, s, want)
		}
	}
	for name, change := range map[string]func(*ken.Claim){
		"a fact": func(c *ken.Claim) { c.Kind = ken.KindFact }, "another type": func(c *ken.Claim) { c.Aspect = "system" },
		"no key": func(c *ken.Claim) { c.Key = "" }, "no id": func(c *ken.Claim) { c.Key = "task:x" },
	} {
		if got, ok := task.Of(claim(`{}`, change), day); ok {
			t.Errorf("%s is %+v", name, got)
		}
	}
}
