package reading

import (
	"testing"

	"github.com/kenlayer/ken"
)

// What a statement is about is in it, not in what it begins with or what was so before.
func TestPrimaryBehindAnOpening(t *testing.T) {
	for text, want := range map[string]string{
		"Übrigens: Beträge sind immer ganze Cent.":                                                 "betrage",
		"Fwiw the payments service runs on Go 1.26.":                                               "payments",
		"User: Still to do: I haven't written the rejection mails for the other two":               "rejection mails",
		"The deploy window is Thursday now (until 3 May 2026: the Friday of the payments service)": "deploy window",
		"线上库禁止直接执行 DELETE。":                                                                        "线上库",
		"预算四万五。":                                                                                   "预算",
	} {
		c := ken.Claim{Kind: ken.KindFact, Text: text, Evidence: []ken.Evidence{ken.FromUserStatement("s", "1")}}
		r := Read(&c, nil)
		if len(r.Entities) == 0 || r.Entities[0].Name != want {
			t.Errorf("%q is about %+v, want %s", text, r.Entities, want)
		}
	}
}
