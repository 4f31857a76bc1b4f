package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
)

// ledger records the changes that workers have begun, and those that were acknowledged. It is
// safe for concurrent use.
type ledger struct {
	mu      sync.Mutex // guards the rest
	facts   map[string]*entry
	turns   []time.Duration
	paused  []time.Duration // of turns during which another process was paused
	errors  int
	told    string // the last error
	lines   []string
	acks    int
	resumed time.Time     // the end of the last pause; while one lasts, the far future
	came    chan struct{} // something was acknowledged
}

// entry is the state of the fact with one marker.
type entry struct {
	id                    string
	learned               bool // acknowledged
	forgetting, forgotten bool // begun; acknowledged
	errors                []string
}

func newLedger() *ledger {
	return &ledger{facts: map[string]*entry{}, came: make(chan struct{}, 1)}
}

func (l *ledger) line(line string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := strings.Fields(line)
	l.lines = append(l.lines, time.Now().Format("05.000 ")+line)
	switch {
	case len(f) == 3 && f[0] == "begin" && f[1] == "learn":
		l.facts[f[2]] = &entry{}
		return nil
	case len(f) >= 3 && f[0] == "begin" && f[1] == "forget":
		l.facts[f[2]].forgetting = true
		for _, e := range l.named(f[3:]) {
			e.forgetting = true
		}
		return nil
	case len(f) == 4 && f[0] == "done" && f[1] == "learn":
		e := l.facts[f[2]]
		e.learned, e.id = true, f[3]
	case len(f) >= 3 && f[0] == "done" && f[1] == "forget":
		l.facts[f[2]].forgotten = true
		for _, e := range l.named(f[3:]) { // facts with the same text were forgotten with it
			e.forgetting, e.forgotten = true, true
		}
	case len(f) == 3 && f[0] == "turn":
		var us int64
		_, _ = fmt.Sscan(f[1], &us)
		took := time.Duration(us) * time.Microsecond
		l.turns = append(l.turns, took)
		if time.Now().Add(-took).Before(l.resumed) {
			l.paused = append(l.paused, took)
		}
		return nil
	case len(f) > 3 && f[0] == "error":
		l.errors++
		l.told = line
		if e := l.facts[strings.TrimSuffix(f[2], ":")]; e != nil {
			e.errors = append(e.errors, line)
		}
		return nil
	default:
		return fmt.Errorf("a worker said %q", line)
	}
	l.acks++
	select {
	case l.came <- struct{}{}:
	default:
	}
	return nil
}

// named returns the entries with these ids. The caller holds l.mu.
func (l *ledger) named(ids []string) (out []*entry) {
	for _, e := range l.facts {
		if e.id != "" && slices.Contains(ids, e.id) {
			out = append(out, e)
		}
	}
	return out
}

func (l *ledger) acknowledged() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acks
}

func (l *ledger) lastError() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.told
}

// pausedUntil records that a process is paused until at.
func (l *ledger) pausedUntil(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resumed = at
}

// check compares a copy of the disk with the acknowledged changes. A change that was begun but
// not acknowledged may be in the copy or not.
func (l *ledger) check(t testing.TB, dir string) {
	t.Helper()
	ctx := context.Background()
	s, err := bolt.Open(ctx, filepath.Join(dir, ".ken", "state", ken.DefaultOwner), bolt.Options{})
	if err != nil {
		t.Fatalf("open the store afterwards: %v", err)
	}
	defer s.Close()
	if _, err := s.VerifyLog(ctx); err != nil {
		t.Errorf("verify the log: %v", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := map[string]int{}
	claims := map[string][]string{}
	for c, err := range s.Claims(ctx) {
		if err != nil {
			t.Fatalf("read the claims: %v", err)
		}
		if c.Kind == ken.KindFact {
			seen[marker(c.Text)]++
			claims[marker(c.Text)] = append(claims[marker(c.Text)], fmt.Sprintf("%+v", c))
		}
	}
	for m, n := range seen {
		switch e := l.facts[m]; {
		case e == nil:
			t.Errorf("%s is there and was never written", m)
		case n > 1:
			t.Errorf("%s is there %d times:\n%s\n%s", m, n, strings.Join(claims[m], "\n"), strings.Join(e.errors, "\n"))
		case e.forgotten:
			t.Errorf("%s is there and was forgotten", m)
		}
	}
	var sample int
	for m, e := range l.facts {
		if !e.learned || e.forgetting {
			continue
		}
		if seen[m] == 0 {
			t.Errorf("%s was acknowledged and is gone", m)
		}
		if sample++; sample > 200 {
			continue
		}
		got, err := s.Query(ctx, ken.Query{Question: m, Limit: 5})
		if err != nil || !slices.ContainsFunc(got, func(c ken.Claim) bool { return c.ID == e.id }) {
			t.Errorf("%s was acknowledged and is not found: %v", m, err)
		}
	}
	l.bytes(t, dir)
}

// bytes searches all files for markers of forgotten facts. The caller holds l.mu.
func (l *ledger) bytes(t testing.TB, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		b = bytes.ToLower(b)
		for at := 0; ; {
			i := bytes.Index(b[at:], []byte("zqw"))
			if i < 0 {
				return nil
			}
			at += i
			m := marker(string(b[at:min(at+32, len(b))]))
			if e := l.facts[m]; e != nil && e.forgotten {
				t.Errorf("%s was forgotten and is in %s at byte %d", m, filepath.Base(path), at)
			}
			at++
		}
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// marker returns the first marker in a text: "zq", the worker's name, "n", a number, "x".
func marker(text string) string {
	i := strings.Index(text, "zqw")
	if i < 0 {
		return ""
	}
	m := text[i:]
	for j := 3; j < len(m); j++ {
		switch c := m[j]; {
		case c == 'x':
			return m[:j+1]
		case c != 'n' && (c < '0' || c > '9'):
			return ""
		}
	}
	return ""
}
