package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/remote"
	"github.com/kenlayer/ken/store"
)

// Each fault has words of its own, and none of them is the cause, which may hold paths.
func TestEachFaultIsToldInWords(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []store.FaultName{store.FaultDamaged, store.FaultReadOnly, store.FaultIndex, store.FaultDisk} {
		got := faultTexts([]store.Fault{{Name: name, Cause: "/home/ana/.ken"}}, nil)
		if len(got) != 1 || seen[got[0]] || strings.Contains(got[0], "/") || faultWords[name] == "" {
			t.Errorf("%s: %q", name, got)
		}
		seen[got[0]] = true
	}
	if len(faultTexts(nil, nil)) > 0 {
		t.Error("something is wrong with a store that has no faults")
	}
	for want, err := range map[string]error{
		"store: the process that holds it does not answer": fmt.Errorf("open: %w", remote.HungError(7, time.Minute)),
		"store: held by another process":                   &ken.Error{Code: ken.CodeHeld},
		"store: still opening":                             context.DeadlineExceeded,
		"store: can't be opened; the log has the cause":    errors.New("open /home/ana/.ken: no"),
	} {
		if got := faultTexts(nil, err); len(got) != 1 || got[0] != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

// Lost records are told of for a while after the last of them.
func TestLossesAreToldForAWhile(t *testing.T) {
	var l losses
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, tt := range []struct {
		lost  uint64
		after time.Duration
		want  bool
	}{{0, 0, false}, {3, time.Hour, true}, {3, 4 * time.Minute, true}, {3, 2 * time.Minute, false}, {4, time.Minute, true}, {4, 4 * time.Minute, true}, {4, time.Hour, false}} {
		at = at.Add(tt.after)
		if got := l.recent(tt.lost, at); got != tt.want {
			t.Errorf("look %d: %t", i, got)
		}
	}
}
