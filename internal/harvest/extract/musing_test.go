package extract

import "testing"

// What is done, planned, guessed or felt at the moment is no statement; what holds is one.
func TestMusing(t *testing.T) {
	for text, want := range map[string]string{
		"Plot the residuals for that unit":                             reasonRequest,
		"I guess nobody reads that page anyway":                        reasonTalk,
		"I'll tell the others tomorrow":                                reasonTalk,
		"Maybe I should buy a second one":                              reasonTalk,
		"If we used freezegun everywhere we'd have to patch asyncio.":  reasonIf,
		"Maybe the old cluster runs Debian 11.":                        "",
		"Squash the commits of a branch always.":                       "",
		"fyi the gateway stays on version 17":                          "",
		"Half the fleet runs Debian 12":                                "",
		"If the queue is full, the worker drops the job after 3 tries": "",
		"I'll always keep the token in vault":                          "",
	} {
		parts := sentences(text)
		if len(parts) == 0 {
			t.Fatalf("%q is no prose", text)
		}
		s := parts[0]
		s.open(nil)
		if v := judge(&s, true); v.reason != want {
			t.Errorf("%q: %q, want %q", text, v.reason, want)
		}
	}
	for text, want := range map[string]bool{
		"Pets have a way of cheering us up.":                  true,
		"Giving a home to needy kids is such a loving way.":   true,
		"My sister moved to Leeds.":                           false,
		"Painting on Sundays keeps me sane, I do it since 10": false,
		"Luna is our cat.":                                    false,
	} {
		s := sentences(text)[0]
		if got := platitude(&s, map[string]bool{}); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
