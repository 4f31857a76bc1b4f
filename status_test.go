package ken_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
)

// Every edge of the life cycle, row by row; every other pair is refused.
var lifeCycle = map[ken.Status][]ken.Status{
	ken.StatusObserved:   {ken.StatusVerified, ken.StatusDisputed, ken.StatusSuperseded},
	ken.StatusInferred:   {ken.StatusVerified, ken.StatusDisputed, ken.StatusSuperseded},
	ken.StatusHypothesis: {ken.StatusObserved, ken.StatusDisputed, ken.StatusSuperseded},
	ken.StatusVerified:   {ken.StatusDisputed, ken.StatusSuperseded},
	ken.StatusDisputed:   {ken.StatusVerified, ken.StatusSuperseded},
	ken.StatusSuperseded: nil,
}

func TestCheckTransitionEveryPair(t *testing.T) {
	if len(ken.Statuses()) != len(lifeCycle) {
		t.Fatalf("%d statuses, want %d", len(ken.Statuses()), len(lifeCycle))
	}
	for _, from := range ken.Statuses() {
		for _, to := range ken.Statuses() {
			for _, reason := range []string{"", "because", ken.ReasonLapsed} {
				want := slices.Contains(lifeCycle[from], to) ||
					reason == ken.ReasonLapsed && to == ken.StatusHypothesis &&
						(from == ken.StatusObserved || from == ken.StatusVerified)
				err := ken.CheckTransition(from, to, reason)
				if want != (err == nil) {
					t.Errorf("%s to %s (%q): %v, want allowed %v", from, to, reason, err, want)
				}
				if err == nil {
					continue
				}
				if !errors.Is(err, ken.ErrRefused) {
					t.Errorf("%s to %s: %v is not ErrRefused", from, to, err)
				}
				if !strings.Contains(err.Error(), string(from)) || !strings.Contains(err.Error(), string(to)) {
					t.Errorf("%s to %s: %q does not name both", from, to, err)
				}
				for _, next := range lifeCycle[from] {
					if !strings.Contains(ken.Hint(err), string(next)) {
						t.Errorf("%s to %s: hint %q leaves out %s", from, to, ken.Hint(err), next)
					}
				}
			}
		}
	}
}

func TestCheckTransitionUnknownStatus(t *testing.T) {
	wantField(t, ken.CheckTransition(ken.StatusObserved, "confirmed", ""), "status")
	wantField(t, ken.CheckTransition(ken.StatusObserved, "", ""), "status")
	if err := ken.CheckTransition("confirmed", ken.StatusVerified, ""); !errors.Is(err, ken.ErrRefused) {
		t.Errorf("from an unknown status: %v", err)
	}
}

func TestStatuses(t *testing.T) {
	for _, s := range ken.Statuses() {
		if !s.Valid() {
			t.Errorf("%s is listed but not valid", s)
		}
	}
	for _, s := range []ken.Status{"", "Observed", "confirmed"} {
		if s.Valid() {
			t.Errorf("%q is valid", s)
		}
	}
	want := []ken.Status{ken.StatusObserved, ken.StatusInferred, ken.StatusVerified}
	if !slices.Equal(ken.RecallStatuses(), want) {
		t.Errorf("recall returns %v, want %v", ken.RecallStatuses(), want)
	}
}
