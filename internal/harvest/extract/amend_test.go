package extract

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
)

// A short reply that gives another value changes what was said right before.
func TestShortCorrections(t *testing.T) {
	for _, tt := range []struct {
		told []string // by the user and the assistant in turn
		want []string
		was  string
	}{
		{told: []string{"The nightly backup runs at 2 am.", "Noted.", "sorry, 3 am"}, want: []string{"The nightly backup runs at 3 am."}, was: "The nightly backup runs at 2 am."},
		{told: []string{"The nightly backup runs at 02:00.\nno, 03:00"}, want: []string{"The nightly backup runs at 03:00."}, was: "The nightly backup runs at 02:00."},
		{told: []string{"Invoices are kept for 30 days.", "OK, retention of invoices: 30 days.", "wait, 90 days"}, want: []string{"Invoices are kept for 90 days."}, was: "Invoices are kept for 30 days."},
		{told: []string{"How do I start the gateway?", "Run `make serve`. The gateway listens on port 8080 by default.", "no, it's 8081"}, want: []string{"The gateway listens on port 8081 by default."}},
		{told: []string{"who should review this?", "Ben owns the billing service, so I'd ask him.", "not Ben, Carla. thanks"}, want: []string{"Carla owns the billing service"}},
		{told: []string{"what do we run in production?", "Your ledger runs on MySQL 8.", "that's outdated, it's postgres 16 now"}, want: []string{"The ledger runs on postgres 16."}},

		{told: []string{"fix the test", "I changed the timeout of the test to 5 s.", "no, 10 s"}}, // a request
		{told: []string{"The nightly backup runs at 2 am.", "Is that still so?", "no, 3 am"}, want: []string{"The nightly backup runs at 3 am."}, was: "The nightly backup runs at 2 am."},
		{told: []string{"what is the price?", "You pay $5 for the parser plan.", "no, $7"}}, // about the reader
		{told: []string{"which line?", "The bug is in parser.go line 80.", "no, look at line 90"}},
	} {
		var said []ken.Message
		for i, text := range tt.told {
			said = append(said, ken.Message{Role: []string{"user", "assistant"}[i%2], Text: text})
		}
		var got []string
		was := ""
		for _, k := range collect(speeches(entries(said...)), true, 300, dropped{}) {
			got, was = append(got, k.attributed(300)), k.corrected
			if agents := k.statement(300).Agent; agents != (k.corrected == "" && strings.HasPrefix(strings.ToLower(k.quote), "no") || k.quote == "that's outdated, it's postgres 16 now") {
				t.Errorf("%q has words of the assistant: %v", k.text, agents)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || was != tt.was {
			t.Errorf("%q (-want +got), was %q:\n%s", tt.told, was, diff)
		}
	}
}
