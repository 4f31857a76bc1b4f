package extract

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/draft"
)

func TestLists(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"our environments:\n- staging: staging.acme.io, 2 replicas\n- sandbox: sandbox.acme.io, no replicas", []string{"Our environments: staging: staging.acme.io, 2 replicas", "Our environments: sandbox: sandbox.acme.io, no replicas"}},
		{"ports are\ngateway: 8080\nledger: 8082\n\nThe mailer has none of its own.", []string{"Ports: gateway: 8080", "Ports: ledger: 8082", "The mailer has none of its own."}},
		{"The pool of the ledger in production:\nDB_POOL_SIZE=20\nCACHE_TTL=300", []string{"The pool of the ledger in production: DB_POOL_SIZE=20", "The pool of the ledger in production: CACHE_TTL=300"}},
		{"Owners: auth - Priya, billing - Ben", []string{"Owners: auth - Priya", "Owners: billing - Ben"}},
		{"| service | owner | port |\n|---|---|---|\n| auth | Priya | 8081 |\n| billing | Ben | |", []string{"Service auth: owner Priya, port 8081", "Service billing: owner Ben"}},
		{"Still open:\n- rate limiting on /login\n- docs for the webhook", []string{"Rate limiting on /login", "Docs for the webhook"}},

		{"Add these endpoints:\n- login\n- logout", nil},                                    // a request
		{"Can you check the following?\n- login page\n- logout page", nil},                  // a question
		{"Here's the error:\nhost: unreachable\nport: refused", nil},                        // a program's output
		{"1. User Authentication:\n   - Registration\n   - Login", nil},                     // the line before is an item itself
		{"Our replicas:\n- two", nil},                                                       // no list
		{"- staging: 2 replicas\n- sandbox: none", nil},                                     // nothing says what it is
		{"```\nour pools:\nDB_POOL_SIZE=20\nCACHE_TTL=300\n```", nil},                       // code
		{"Our services:\n" + strings.Repeat("- service of the team\n", mostEntries+1), nil}, // pasted
		{"Two things on our services:\n- The ledger runs in Oslo.\n- The mailer retries five times.", // read as sentences
			[]string{"The ledger runs in Oslo.", "The mailer retries five times."}},
	} {
		got, _ := heardOf(tt.text)
		for i := range got {
			got[i] = capital(got[i])
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
	}
}

// The items of a list of rules are rules, and those of open points are tasks.
func TestKindsOfLists(t *testing.T) {
	found := Draft(entries(ken.Message{Role: "user", Text: "Some rules for this repo:\n1. no force pushes\n2. squash merge only\n\nLeft to do:\n- docs for the webhook\n- tests of the parser"}), Options{})
	var got []string
	for _, s := range found.Statements {
		if s.Sort == draft.Instruction {
			s.Text = "rule: " + s.Text
		}
		got = append(got, s.Text)
	}
	want := []string{"rule: User: No force pushes", "rule: User: Squash merge only", "Still to do: Docs for the webhook", "Still to do: Tests of the parser"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Below a line that announces rules, sentences are rules too.
func TestListsOfRules(t *testing.T) {
	for _, intro := range []string{"A few conventions:", "How we work here:", "please follow these:", "Keep in mind:", "Our coding style:"} {
		found := Draft(entries(ken.Message{Role: "user", Text: intro + "\n- no print statements in library code\n- every handler has a timeout\n- dates are stored in UTC"}), Options{})
		if len(found.Statements) != 3 {
			t.Errorf("%s: %+v", intro, found.Statements)
		}
		for _, s := range found.Statements {
			if s.Sort != draft.Instruction {
				t.Errorf("%s: %q is of sort %v", intro, s.Text, s.Sort)
			}
		}
	}
	for _, intro := range []string{"can you fix these rules:", "review the guidelines below:"} {
		found := Draft(entries(ken.Message{Role: "user", Text: intro + "\n- no print statements in library code\n- one class per file"}), Options{})
		if len(found.Statements) > 0 {
			t.Errorf("%s: %+v", intro, found.Statements)
		}
	}
}

// A list of credentials, or a table with a column of them, is never kept, whatever the values look like.
func TestListsOfCredentials(t *testing.T) {
	for _, text := range []string{
		"Our passwords:\n- staging: hunter2\n- production: swordfish",
		"The API keys of the shop are\nana: abc\nben: def",
		"Passwords: ana - hunter2, ben - swordfish",
		"PINs of the doors:\nNORTH=4711\nSOUTH=4712",
		"Logins of the team:\nana: hunter2\nben: swordfish",
		"| user | password |\n|---|---|\n| ana | hunter2 |\n| ben | swordfish |",
		"Our accounts:\n| user | access key |\n|---|---|\n| ana | hunter2 |\n| ben | swordfish |",
	} {
		if got, drop := heardOf(text); len(got) > 0 || drop[reasonSecret] != 2 {
			t.Errorf("%q: kept %q, dropped %v", text, got, drop)
		}
	}
}

// An entry that is named like a credential is never kept, whatever its value looks like.
func TestListsWithCredentials(t *testing.T) {
	for _, line := range []string{"DB_PASSWORD=summer", "password: summer", "API_KEY=abc", "api key: abc def", "AUTH_HEADER=Basic", "STRIPE_SECRET=x1", "github-token: none yet", "SESSION_ID=77", "db.passwd=summer", "COOKIE_SALT=pepper",
		"DATABASE=postgres://ken:summer@db/ken"} {
		for _, text := range []string{"Our settings in production:\nREGION=eu-west-1\n" + line, "Our settings in production:\n- region eu-west-1\n- " + line} {
			got, _ := heardOf(text)
			for _, k := range got {
				if k != "Our settings in production: REGION=eu-west-1" && k != "Our settings in production: region eu-west-1" {
					t.Errorf("%q: kept %q", text, k)
				}
			}
		}
	}
}

// The line above a list of rules is part of them only if it says what they are for.
func TestLineAboveRules(t *testing.T) {
	for text, want := range map[string]string{
		"Some ground rules before we start:\n- never pick unripe grapes\n- use gloves in the cellar":        "Never pick unripe grapes",
		"House rules:\n- no shoes in the studio\n- never feed the cat":                                      "No shoes in the studio",
		"Ein paar Regeln vorab:\n- nie auf main pushen\n- immer Tabs in Go":                                 "Nie auf main pushen",
		"Rules for the cellar:\n- never pick unripe grapes\n- use gloves in the cellar":                     "Rules for the cellar: never pick unripe grapes",
		"Style rules of the newsletter:\n- never use exclamation marks in titles\n- British spelling first": "Style rules of the newsletter: never use exclamation marks in titles",
	} {
		if got, _ := heardOf(text); len(got) != 2 || got[0] != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
