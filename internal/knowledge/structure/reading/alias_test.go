package reading_test

import (
	"slices"
	"testing"

	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

func TestSentencesThatGiveAnotherName(t *testing.T) {
	for text, want := range map[string][]reading.Alias{
		"The ledger, also called bookkeeper, holds the entries.":       {{Name: "ledger", Other: "bookkeeper"}},
		"The ledger is also known as bookkeeper.":                      {{Name: "ledger", Other: "bookkeeper"}},
		"Bookkeeper aka the ledger runs at night.":                     {{Name: "bookkeeper", Other: "ledger"}},
		"Bookkeeper is another name for the ledger.":                   {{Name: "ledger", Other: "bookkeeper"}},
		"The ledger, formerly bookkeeper, holds the entries.":          {{Name: "ledger", Other: "bookkeeper"}},
		"The ledger, which half of the company still calls bookkeeper": {{Name: "ledger", Other: "bookkeeper"}},
		"The importer (we say imp) reads files.":                       {{Name: "importer", Other: "imp"}},
		"The parcel tracking bridge (PTB) is slow.":                    {{Name: "parcel tracking bridge", Other: "ptb"}},
		"Das Hauptbuch, auch Ledger genannt, ist alt.":                 {{Name: "hauptbuch", Other: "ledger"}},
		"PSP is short for payment service provider.":                   {{Name: "payment service provider", Other: "psp"}},
		"OMS stands for the order management system.":                  {{Name: "order management system", Other: "oms"}},
		// None of these gives a name.
		"The ledger (see below) is slow.":                                                 nil,
		"The ledger is called every night.":                                               nil,
		"Is the ledger aka bookkeeper?":                                                   nil,
		"The ledger runs k8s (Kubernetes).":                                               nil, // the table of products knows that
		"Billing is owned by Kim now (previously Tom).":                                   nil, // a note on what changed
		"Tom no longer leads billing (perhaps no longer, now Kim leads billing anymore).": nil,
		"The port is 9090 (until 3 May 2026: the port, formerly called gate, is 80).":     nil,
		"He is known as a careful reviewer":                                               nil,
		"The team (we are five) is small.":                                                nil,
	} {
		c := claim(text)
		if got := reading.Read(&c, nil).Aliases; !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
