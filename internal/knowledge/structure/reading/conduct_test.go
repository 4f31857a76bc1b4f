package reading_test

import (
	"testing"

	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

// How to behave is about no thing that a turn could name: filed under one, it would
// hold where that is spoken of, and nowhere else.
func TestOrdersOfConductAreAboutNothing(t *testing.T) {
	for _, s := range []string{"Always answer in English.", "Please never use emojis.", "Always call me Mo.", "Never commit secrets.", "Don't ever be rude."} {
		c := claim(s)
		if r := reading.Read(&c, nil); r.Constraint && len(r.Entities) > 0 {
			t.Errorf("%q is about %+v", s, r.Entities)
		}
	}
	for s, want := range map[string]string{
		"Never use KEYS on the production Redis.":      "redis",
		"Never deploy the payments service on Friday.": "payments",
		"Always write to the ledger service twice.":    "ledger",
		"Never call Stripe from a handler.":            "stripe",
	} {
		c := claim(s)
		r := reading.Read(&c, nil)
		found := false
		for _, e := range r.Entities {
			found = found || e.Name == want
		}
		if !r.Constraint || !found {
			t.Errorf("%q: %+v", s, r)
		}
	}
}
