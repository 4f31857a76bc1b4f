package consolidate

import "testing"

func TestAlternatives(t *testing.T) {
	for _, tc := range []struct {
		x, y        string
		want, known bool // known: even where names have to be of a known kind
	}{
		{"8080", "8081", true, true},
		{"30 seconds", "60 seconds", true, true},
		{"30 seconds", "30 minutes", false, false},
		{"30 seconds", "5 minutes", false, false},
		{"October 15", "October 16", true, true},
		{"October 15", "October 15 2026", false, false},
		{"Monday", "October 15", false, false},
		{"9:30", "10:00", true, true},
		{"us-east-1", "eu-west-1", true, true},
		{"us-east-1", "Frankfurt", false, false},
		{"in Google", "in Google Cloud", false, false},
		{"with Postgres", "with MySQL", true, true},
		{"with Postgres", "with Kafka", false, false},
		{"with Postgres", "with Foo", false, false},
		{"by Priya", "by Marco", true, false},
		{"in Germany", "in Berlin", false, false},
		{"in Germany", "in France", true, true},
		{"Python 3.11", "Python 3.12", true, true},
		{"main", "master", true, false},
		{"a manager", "the manager", false, false},
		{"very slow code", "rather old code", false, false},
		{"2 or 3", "4", false, false},
		{"not 2", "4", false, false},
	} {
		value := func(s string) []word {
			w := read("it is " + s).words[2:]
			if len(w) > 1 && w[0].has(prep) {
				w = w[1:]
			}
			return w
		}
		x, y := value(tc.x), value(tc.y)
		if got := alternatives(x, y, false); got != tc.want {
			t.Errorf("%q and %q: %v", tc.x, tc.y, got)
		}
		if got := alternatives(y, x, true); got != (tc.want && tc.known) {
			t.Errorf("%q and %q, of a known kind: %v", tc.y, tc.x, got)
		}
	}
}

func TestRegion(t *testing.T) {
	for s, want := range map[string]bool{"us-east-1": true, "europe-west4": true, "ap-southeast-2": true, "us": false, "a-b-c": false,
		"": false, "-1": false, "1-2": false, "US-EAST-1": false, "x-1-y": false} {
		if got := region(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

// Every word that the tables name in a rule is one that the reader produces.
func TestTablesSpeakTheReadersWords(t *testing.T) {
	verbs := map[string]bool{"be": true, "have": true, "do": true}
	for _, e := range lexicon() {
		if e.is&verb != 0 {
			verbs[e.norm] = true
		}
	}
	for _, table := range []map[phrase]aspect{states, changes} {
		for p := range table {
			key := p.key
			if len(key) > 3 && key[:3] == "be " {
				key = key[3:]
			}
			if !verbs[key] {
				t.Errorf("no verb %q", key)
			}
			if p.prep != "" && lexicon()[p.prep].is&prep == 0 {
				t.Errorf("no preposition %q", p.prep)
			}
		}
	}
	for w := range quantified {
		if !verbs[w] {
			t.Errorf("no verb %q", w)
		}
	}
	for p := range single {
		key := p.key
		if len(key) > 3 && key[:3] == "be " {
			key = key[3:]
		}
		if !verbs[key] {
			t.Errorf("no verb %q", key)
		}
	}
}
