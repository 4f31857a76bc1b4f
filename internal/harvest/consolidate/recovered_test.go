package consolidate

import (
	"testing"
	"time"
)

// A thing that works again is broken no more, and what is said of another thing or another place changes nothing.
func TestRecovered(t *testing.T) {
	at := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		old, new string
		want     Relation
	}{
		{"The login tests are failing on CI.", "The login tests are green now.", Updates},
		{"The checkout tests are failing on CI.", "The checkout tests are green on CI now.", Updates},
		{"The lift in hall 3 is broken.", "The lift in hall 3 is fixed now.", Updates},
		{"The coffee machine is up.", "The coffee machine is broken now.", Updates},
		{"The mail relay is down.", "The mail relay is up now.", Updates},
		{"The nightly tests are flaky.", "The nightly tests are passing.", Contradicts},

		{"The login tests are failing on CI.", "The checkout tests are green now.", Distinct},
		{"The login tests are failing on CI.", "The login tests are green on Windows.", Distinct},
		{"The login tests are failing on CI.", "The login tests are written in Go now.", Distinct},
		{"The mail relay in Oslo is down.", "The mail relay in Ghent is up now.", Distinct},
		{"The mail relay is down on Sundays.", "The mail relay is up on Mondays.", Distinct},
		{"The lift in hall 3 is broken.", "The lift in hall 4 is fixed now.", Distinct},
		{"The lift in hall 3 is broken.", "The lift in hall 3 is red.", Distinct},
		{"The tests of the shop are failing.", "The tests of the shop are green in most cases.", Distinct},
	} {
		if v := Compare(Statement{Text: tt.old, At: at}, Statement{Text: tt.new, At: at.Add(time.Minute)}); v.Relation != tt.want {
			t.Errorf("%q, %q: %v (%s), want %v", tt.old, tt.new, v.Relation, v.Why, tt.want)
		}
	}
}

// What happens to one numbered thing says nothing of another.
func TestNumberedThings(t *testing.T) {
	for _, tt := range []struct {
		old, new string
		replaced bool
	}{
		{"Item 0 was moved by Bob to shelf 0.", "Item 57 was moved by Bob to shelf 171.", false},
		{"Ticket 12 was moved by Bob to column 3.", "Ticket 57 was moved by Bob to column 9.", false},
		{"User: The box 4 moved to row 3.", "User: The box 9 moved to row 8.", false},
		{"Item 4 moved to row 3.", "Item 4 moved to row 8.", true},
		{"The queue was moved to shelf 3.", "The queue was moved to shelf 8.", true},
	} {
		if c, ok := replacedValue(tt.old, tt.new); ok != tt.replaced {
			t.Errorf("%q, %q: %v %v", tt.old, tt.new, c, ok)
		}
	}
}
