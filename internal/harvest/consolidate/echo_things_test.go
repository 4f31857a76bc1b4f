package consolidate_test

import (
	"testing"

	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/run/session"
)

// What the model says of an injected claim in other nouns is an echo where its names and numbers
// are the claim's; the same words of a user are their own.
func TestModelsParaphraseIsAnEcho(t *testing.T) {
	injected := []session.Injection{
		{ID: "exporter", Text: "The exporter writes to acme-invoices at 02:30 UTC."},
		{ID: "mongo", Text: "The billing service keeps invoices in MongoDB 4."},
		{ID: "rate", Text: "Partners may call the API 350 times a minute."},
		{ID: "owner", Text: "The mailer is owned by Cy Okafor."},
		{ID: "day", Text: "Deploys happen on Tuesdays."},
	}
	e := consolidate.NewEcho(injected)
	for text, want := range map[string]string{
		"Each night at half past two UTC the exporter fills acme-invoices.": "exporter",
		"MongoDB 4 holds what billing has invoiced.":                        "mongo",
		"For partners, the limit is 350 requests to the API per minute.":    "rate",
		"Cy Okafor answers for everything that mails.":                      "owner",
		// New, though it resembles what is known.
		"The exporter writes to acme-refunds at 02:30 UTC.":  "",
		"The billing service keeps refunds in PostgreSQL 15": "",
		"Partners may call the API 500 times a minute.":      "",
		"Cy Okafor is on leave until Friday.":                "",
		"The mailer retries failed sends with a backoff.":    "",
		"350 tests failed in the nightly run.":               "",
	} {
		id, kind := e.Judge(text, false)
		if id != want || (kind == consolidate.Echoed) != (want != "") {
			t.Errorf("%q: %s of %q, want %q", text, kind, id, want)
		}
		if _, kind := e.Judge(text, true); kind == consolidate.Echoed {
			t.Errorf("%q is an echo in a user's mouth", text)
		}
	}
}
