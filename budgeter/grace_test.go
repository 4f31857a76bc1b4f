package budgeter_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
)

func loaded(id string, constraint bool, load func(ctx context.Context) (ken.Claim, error)) budgeter.Candidate {
	return budgeter.Candidate{Item: ken.Item{ID: id, Kind: ken.KindFact, Constraint: constraint}, Load: load}
}

func says(text string) func(ctx context.Context) (ken.Claim, error) {
	return func(ctx context.Context) (ken.Claim, error) { return ken.Claim{Text: text}, ctx.Err() }
}

// Other products lose their rules when a turn runs out of time.
func TestConstraintsAreLoadedWhenTheTurnIsOver(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := budgeter.Compose(ctx, []budgeter.Candidate{loaded("1", true, says("Never on Fridays.")), loaded("2", false, says("A fact."))}, budgeter.Options{})
	if len(b.Items) != 1 || b.Items[0].ID != "1" || b.OverflowedConstraints != 0 {
		t.Errorf("%d overflowed\n%s", b.OverflowedConstraints, b.Text)
	}
}

// The turn may end while a rule is read.
func TestAConstraintThatIsReadAsTheTurnEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := budgeter.Compose(ctx, []budgeter.Candidate{loaded("1", true, func(c context.Context) (ken.Claim, error) {
		cancel()
		return ken.Claim{Text: "Never on Fridays."}, c.Err()
	})}, budgeter.Options{})
	if len(b.Items) != 1 {
		t.Errorf("%v\n%s", b.Cut, b.Text)
	}
}

// A rule that can't be read is missing like one that does not fit. A deleted rule does
// not count.
func TestConstraintsThatCantBeReadAreMissed(t *testing.T) {
	broken := func(context.Context) (ken.Claim, error) { return ken.Claim{}, errors.New("disk") }
	gone := func(context.Context) (ken.Claim, error) { return ken.Claim{}, ken.ErrNotFound }
	b := budgeter.Compose(t.Context(), []budgeter.Candidate{loaded("1", true, broken), loaded("2", true, gone), loaded("3", true, says("Never on Fridays."))}, budgeter.Options{})
	if b.OverflowedConstraints != 1 || len(b.Items) != 1 || !strings.Contains(b.Text, "Warning: 1 constraint ") {
		t.Errorf("%d overflowed, %d are there\n%s", b.OverflowedConstraints, len(b.Items), b.Text)
	}
	b = budgeter.Compose(t.Context(), []budgeter.Candidate{loaded("1", true, broken)}, budgeter.Options{})
	if !strings.Contains(b.Text, "Warning: 1 constraint ") {
		t.Errorf("alone:\n%s", b.Text)
	}
	// Together with those that don't fit.
	list := []budgeter.Candidate{loaded("1", true, broken)}
	for i := range 100 {
		list = append(list, loaded(fmt.Sprint("c", i), true, says(fmt.Sprintf("Rule %d is to be kept by everybody.", i))))
	}
	b = budgeter.Compose(t.Context(), list, budgeter.Options{Chars: 1000})
	if b.OverflowedConstraints+len(b.Items) != 101 || !strings.Contains(b.Text, fmt.Sprint("Warning: ", b.OverflowedConstraints, " ")) || b.Chars > 1000 {
		t.Errorf("%d overflowed, %d are there, %d characters\n%s", b.OverflowedConstraints, len(b.Items), b.Chars, b.Text)
	}
}

// Of rules that don't all fit, those of what the turn names come before those of what
// that depends on, however well these are proven.
func TestTheNearestConstraintsComeFirst(t *testing.T) {
	far, near := loaded("far", true, says("Far away.")), loaded("near", true, says("Near by."))
	far.Item.Tier, near.Item.Tier, far.Distance = ken.Verified, ken.Guessed, 1
	b := budgeter.Compose(t.Context(), []budgeter.Candidate{far, near}, budgeter.Options{})
	if len(b.Items) != 2 || b.Items[0].ID != "near" {
		t.Errorf("%s", b.Text)
	}
}
