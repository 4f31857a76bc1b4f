package consolidate

import (
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/harvest/draft"
)

// What is known beside the text decides, too.
func TestCompareBesideTheText(t *testing.T) {
	at := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		protects string
		old, new Statement
		want     Relation
	}{
		{"the same under the same heading", Statement{Text: "Runs on PostgreSQL 15", Heading: "Ledger"}, Statement{Text: "runs on PostgreSQL 15", Heading: "ledger"}, Same},
		{"another heading is another subject", Statement{Text: "Runs on PostgreSQL 15", Heading: "Ledger"}, Statement{Text: "Runs on PostgreSQL 15", Heading: "Billing"}, Distinct},
		{"a heading that the text names adds nothing", Statement{Text: "The ledger runs on PostgreSQL 15", Heading: "Ledger"}, Statement{Text: "The ledger runs on PostgreSQL 15"}, Same},
		{"no heading is not any heading", Statement{Text: "Runs on PostgreSQL 15", Heading: "Ledger"}, Statement{Text: "Runs on PostgreSQL 15"}, Distinct},
		{"it is whoever it is", Statement{Text: "It runs on port 80", Entities: []string{"ledger"}}, Statement{Text: "It runs on port 80", Entities: []string{"gateway"}}, Distinct},
		{"it was filed under what is said too", Statement{Text: "It runs on Redis", Entities: []string{"ledger", "redis"}}, Statement{Text: "It runs on Redis", Entities: []string{"Ledger"}}, Same},
		{"it is not what is said", Statement{Text: "It runs on Redis", Entities: []string{"ledger", "redis"}}, Statement{Text: "It runs on Redis", Entities: []string{"redis"}}, Distinct},
		{"it is the same thing", Statement{Text: "It runs on port 80", Entities: []string{"Ledger"}}, Statement{Text: "it runs on port 80.", Entities: []string{"ledger"}}, Same},
		{"within a day one of two values is wrong", Statement{Text: "The port is 80", At: at}, Statement{Text: "The port is 81", At: at.Add(SameTime - 1)}, Contradicts},
		{"a day later it has changed", Statement{Text: "The port is 80", At: at}, Statement{Text: "The port is 81", At: at.Add(SameTime)}, Updates},
		{"of unknown times nothing follows", Statement{Text: "The port is 80"}, Statement{Text: "The port is 81", At: at}, Contradicts},
		{"backwards in time nothing changes", Statement{Text: "The port is 80", At: at}, Statement{Text: "The port is 81", At: at.AddDate(0, 0, -9)}, Contradicts},
		{"a birthday never changes", Statement{Text: "Ana's birthday is May 3", At: at}, Statement{Text: "Ana's birthday is May 4", At: at.AddDate(1, 0, 0)}, Contradicts},
		{"since a year before is no change", Statement{Text: "Ana lives in Rome", At: at}, Statement{Text: "Ana has lived in Oslo since 2019", At: at}, Contradicts},
		{"since a month after is one", Statement{Text: "Ana lives in Rome", At: at}, Statement{Text: "Ana has lived in Oslo since June 2026", At: at}, Updates},
		{"a fact has alternatives", Statement{Text: "Ana enjoys coffee"}, Statement{Text: "Ana enjoys tea"}, Distinct},
		{"a preference excludes them", Statement{Text: "Ana wears Vim", Sort: draft.Preference}, Statement{Text: "Ana wears Emacs", Sort: draft.Preference}, Contradicts},
		{"nothing is like nothing", Statement{}, Statement{}, Distinct},
		{"code is the same sign by sign", Statement{Text: "if (a) { b(); }"}, Statement{Text: "if (a) {\n\tb();\n}"}, Same},
		{"or is not", Statement{Text: "if (a) { b(); }"}, Statement{Text: "if (!a) { b(); }"}, Distinct},
	} {
		if v := Compare(tc.old, tc.new); v.Relation != tc.want || v.Why == "" {
			t.Errorf("%s: %+v", tc.protects, v)
		}
	}
}

// The reason names the deciding words, as they were written.
func TestWhyNamesTheWords(t *testing.T) {
	for _, tc := range []struct{ old, new, why string }{
		{"The API listens on port 8080", "The API listens on port 8081", `"port 8080" and "port 8081"`},
		{"the production database", "the staging database", `"production" and "staging"`},
		{"Ana eats meat", "Ana doesn't eat meat", `"doesn't"`},
		{"Ana works at Google", "Ana joined Microsoft", `"joined Microsoft"`},
		{"Ana has a dog", "Ana has a dog named Rex", `"named Rex"`},
		{"User prefers tabs", "User prefers tabs in Go files only", `"in Go files only"`},
	} {
		if v := Compare(Statement{Text: tc.old}, Statement{Text: tc.new}); !strings.Contains(v.Why, tc.why) {
			t.Errorf("%q / %q: %s", tc.old, tc.new, v.Why)
		}
	}
}

// A document is no statement: what is longer than one is the same or something else.
func TestLongTextsAreComparedWordForWord(t *testing.T) {
	long := strings.Repeat("the ledger runs on PostgreSQL 15 and ", 20)
	for other, want := range map[string]Relation{long: Same, strings.ToUpper(long[:1]) + long[1:]: Same, long + "more": Distinct, long[4:]: Same} {
		if v := Compare(Statement{Text: long}, Statement{Text: other}); v.Relation != want {
			t.Errorf("%+v for %q", v, other[:20])
		}
	}
}
