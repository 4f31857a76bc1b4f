package reading_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

func TestPrimary(t *testing.T) {
	known := names{"ledger": true, "acme payments": true, "payments": true, "go": true, "main": true, "paymentsservice": true}
	for _, tt := range []struct {
		text, name string
		typ        reading.Type
		confidence float64
	}{
		// known names
		{"we moved ledger to eu-west-1", "ledger", reading.Unknown, reading.ByCapital},
		{"ledger runs on port 8080", "ledger", reading.Unknown, reading.ByKnown},
		{"acme payments is down", "acme payments", reading.Unknown, reading.ByKnown}, // the longest
		// written as code
		{"`PaymentsService` retries twice", "paymentsservice", reading.System, reading.ByKnown},
		{"OrderMailer retries twice", "ordermailer", reading.System, reading.ByIdentifier},
		{"order_mailer retries twice", "order mailer", reading.System, reading.ByIdentifier},
		{"ken.Claim has no owner", "ken.claim", reading.System, reading.ByIdentifier},
		{"structure/reading/read.go is long", "structure/reading/read.go", reading.System, reading.ByPath},
		// heads that tell the type
		{"the payments service runs in two regions", "payments", reading.System, reading.ByKnown},
		{"the mailer service runs in two regions", "mailer", reading.System, reading.ByHead},
		{"the staging database is pg-7", "staging database", reading.System, reading.ByHead},
		{"The release checklist has nine steps.", "release checklist", reading.Concept, reading.ByHead},
		{"The platform team is on call.", "platform team", reading.Person, reading.ByHead},
		// products and capitals
		{"postgres is at version 15", "postgresql", reading.Tool, reading.ByProduct},
		{"On Monday Ada said that it works.", "ada", reading.Person, reading.ByCapital},
		// who speaks
		{"Ana: I moved to Lyon last month.", "ana", reading.Person, reading.BySpeaker},
		{"User: I prefer tabs over spaces.", "user", reading.Person, reading.BySpeaker},
		{"I prefer tabs over spaces.", "user", reading.Person, reading.ByCapital},
		{"Ana: The colors are so bold, I love them!", "ana", reading.Person, reading.BySpeaker},
		{"Ana: Hey Ben, I moved to Lyon.", "ana", reading.Person, reading.BySpeaker},
		{"User: The mailer service runs in two regions.", "mailer", reading.System, reading.ByHead},
		// orders are about their object
		{"never deploy the mailer service on Fridays", "mailer", reading.System, reading.ByCapital},
		{"never deploy payments on Fridays", "payments", reading.Unknown, reading.ByCapital},
		{"never rename the invoice", "invoice", reading.Unknown, reading.ByObject},
		{"User: Always answer in full sentences.", "user", reading.Person, reading.BySpeech},
		// the head of the subject
		{"The ledger of 2019 is archived.", "ledger", reading.Unknown, reading.ByKnown},
		{"The invoice numbers are unique.", "invoice numbers", reading.Unknown, reading.BySubject},
		// what a part belongs to
		{"The retry limit of the mailer is 5.", "mailer", reading.Unknown, reading.BySubject},
		{"The upload limit is 20 MB.", "upload limit", reading.Unknown, reading.BySubject},
		// a reason is not what an order is about
		{"User: Never move the invoice folder while Ana is away.", "invoice folder", reading.Unknown, reading.ByObject},
		// labels say nothing
		{"Decision: the mailer service moves to Frankfurt.", "mailer", reading.System, reading.ByHead},
		// a later sentence, when the first names nothing
		{"Good news! The mailer service is back.", "mailer", reading.System, reading.ByHead},
	} {
		c := claim(tt.text)
		r := reading.Read(&c, known)
		if len(r.Entities) == 0 {
			t.Errorf("%q is about nothing, want %s", tt.text, tt.name)
			continue
		}
		if m := r.Entities[0]; m.Name != tt.name || m.Type != tt.typ || r.Confidence != tt.confidence {
			t.Errorf("%q is about %s, a %s (%v); want %s, a %s (%v)", tt.text, m.Name, m.Type, r.Confidence, tt.name, tt.typ, tt.confidence)
		}
	}
}

// A common word is a name only where it is written as one.
func TestCommonWordsAreNoNames(t *testing.T) {
	known := names{"go": true, "set": true, "main": true, "test": true, "data": true}
	for _, tt := range []struct{ text, name string }{
		{"go to the set and test the main data", ""},
		{"the data is set", ""},
		{"Go home.", ""},
		{"the mailer is written in Go", "go"},
		{"we ship `main` every night", "main"},
		{"the test service is down", "test"},
	} {
		c := claim(tt.text)
		found := ""
		for _, m := range reading.Read(&c, known).Entities {
			if known[m.Name] {
				found = m.Name
			}
		}
		if found != tt.name {
			t.Errorf("%q names %q, want %q", tt.text, found, tt.name)
		}
	}
}

// "No longer" before a verb is not the start of a name.
func TestNoLongerBeginsNoName(t *testing.T) {
	for text, name := range map[string]string{
		"Actually no longer deploy on Friday.":    "",
		"No longer release on weekends.":          "",
		"The longer release is the nightly one.":  "longer release",
		"No longer push to the staging database.": "staging database",
	} {
		c := claim(text)
		found := ""
		for _, m := range reading.Read(&c, nil).Entities {
			found = m.Name
		}
		if found != name {
			t.Errorf("%q names %q, want %q", text, found, name)
		}
	}
}

// Names that the claim came with are ordered as found ones are.
func TestGivenNamesAreOrderedByWhatTheTextIsAbout(t *testing.T) {
	for _, tt := range []struct {
		text        string
		given, want []string
		confidence  float64
	}{
		{"The mailer service uses Redis.", []string{"Redis", "mailer"}, []string{"mailer", "redis"}, reading.ByGiven},
		{"The mailer service uses Redis.", []string{"Redis", "The Mailer-Service"}, []string{"mailer service", "redis"}, reading.ByGiven},
		{"Ana: The mailer service uses Redis.", []string{"The Billing-Team", "Redis"}, []string{"mailer", "billing team", "redis"}, reading.ByHead},
		{"It is red again.", []string{"The Billing-Team"}, []string{"billing team"}, reading.ByGiven},
		{"Invoices are sent on Mondays.", []string{"ledger", "invoice"}, []string{"invoice", "ledger"}, reading.ByGiven},
	} {
		c := claim(tt.text, tt.given...)
		r := reading.Read(&c, nil)
		for i, name := range tt.want {
			if i >= len(r.Entities) || r.Entities[i].Name != name {
				t.Errorf("%q with %q: %+v, want %q", tt.text, tt.given, r.Entities, tt.want)
				break
			}
		}
		if r.Confidence != tt.confidence {
			t.Errorf("%q with %q: confidence %v, want %v", tt.text, tt.given, r.Confidence, tt.confidence)
		}
	}
}

func TestLastResorts(t *testing.T) {
	c := claim("It is red again.")
	if r := reading.Read(&c, nil); len(r.Entities) != 0 || r.Confidence != 0 {
		t.Errorf("%+v", r)
	}
	c.Scope = ken.Scope{Type: ken.ScopeRepo, ID: "github.com/acme/shop"}
	if r := reading.Read(&c, nil); len(r.Entities) != 1 || r.Entities[0].Name != "shop" || r.Confidence != reading.ByProject || r.Entities[0].Type != reading.Project {
		t.Errorf("%+v", r)
	}
	c.Project = "web-shop"
	if r := reading.Read(&c, nil); r.Entities[0].Name != "web shop" {
		t.Errorf("%+v", r)
	}
	c.Evidence = append(c.Evidence, ken.Evidence{Kind: ken.EvidenceFile, Path: "cart/total.go"})
	if r := reading.Read(&c, nil); r.Entities[0].Name != "cart/total.go" || r.Confidence != reading.ByEvidence {
		t.Errorf("%+v", r)
	}
	c.Scope, c.Project, c.Evidence = ken.Scope{Type: ken.ScopeAgent, ID: "coder"}, "", c.Evidence[:1]
	if r := reading.Read(&c, nil); len(r.Entities) != 0 {
		t.Errorf("an agent's scope is no project: %+v", r)
	}
}

// Somebody else's question behind an answer is not what is said.
func TestTheQuestionIsNotTheFact(t *testing.T) {
	c := claim("Ana: I moved to Lyon. (asked by Ben: Must the mailer service use Redis)", "Ana")
	r := reading.Read(&c, nil)
	if r.Entities[0].Name != "ana" || r.Constraint || len(r.Dependencies) > 0 {
		t.Errorf("%+v", r)
	}
}

// A verb of the third person is no part of the name before it, and a plural noun is.
func TestNamesBeforeVerbs(t *testing.T) {
	for text, want := range map[string]string{
		"The bakery opens at seven.":                   "bakery",
		"The boiler leaks when it is cold.":            "boiler",
		"The printer jams when the paper is damp.":     "printer",
		"The alarm rings twice.":                       "alarm",
		"The gateway logs to stdout.":                  "gateway",
		"The proxy times out after 30 seconds.":        "proxy",
		"The importer skips empty rows.":               "importer",
		"The parser fails on empty lines.":             "parser",
		"The worker sleeps for five seconds.":          "worker",
		"The staff canteen closes at two":              "staff canteen",
		"The night shift ends at six.":                 "night shift",
		"The payments service retries three times.":    "payments",
		"The release notes are written by Lena.":       "release notes",
		"The build logs are in S3.":                    "build logs",
		"The proxy settings are in proxy.yaml.":        "proxy settings",
		"The gateway logs are rotated daily.":          "gateway logs",
		"The invoice totals are rounded.":              "invoice totals",
		"The office plants need water on Mondays.":     "office plants",
		"The wine glasses belong to Marta.":            "wine glasses",
		"The tuition fees for March.":                  "tuition fees",
		"The night shifts at the bakery pay more.":     "night shifts",
		"The holiday rentals in Porto cost 900 euros.": "holiday rentals",
		"The order sheets are in the blue folder.":     "order sheets",
	} {
		c := claim(text)
		if r := reading.Read(&c, nil); len(r.Entities) == 0 || r.Entities[0].Name != want {
			t.Errorf("%q is about %v, want %q", text, r.Entities, want)
		}
	}
}

// Words that speak to the assistant, and "se llama", are no names.
func TestVerbsAreNoNames(t *testing.T) {
	for text, no := range map[string]string{
		"Mi perro se llama Toby.":                      "llama",
		"La empresa se llama Nordwind.":                "llama",
		"El perro que llama la atención es Toby.":      "llama",
		"Vergiss das mit 13 Uhr.":                      "vergiss",
		"Nein, Quatsch, der Laden schließt um 14 Uhr.": "quatsch",
		"Want a shopping list? Answer: Yes please.":    "want",
	} {
		c := claim(text)
		for _, e := range reading.Read(&c, nil).Entities {
			if e.Name == no {
				t.Errorf("%q is about %q", text, no)
			}
		}
	}
	for _, text := range []string{"We run llama on the box.", "La herramienta se llama Llama.", "Usamos Llama 3 para los resúmenes."} {
		c := claim(text)
		if !slices.ContainsFunc(reading.Read(&c, nil).Entities, func(e reading.Mention) bool { return strings.Contains(e.Name, "llama") && e.Type == reading.Tool }) {
			t.Errorf("%q is not about the tool", text)
		}
	}
}

// An imported file holds claims and is not what they are about, unless it is a note whose name is known.
func TestAnImportedFileIsNoSubject(t *testing.T) {
	known := names{"atlas": true, "claude": true, "mem0": true, "garden": true}
	for _, tc := range []struct{ file, text, want string }{
		{"CLAUDE.md", "Run it before every commit.", ""},
		{"GARDEN.md", "It is done twice a week.", ""},
		{"mem0.json", "It must never be deleted.", ""},
		{"atlas.csv", "It is rebuilt every night.", ""},
		{"notes/unknown.md", "It is rebuilt every night.", ""},
		{"Projects/Atlas.md", "It is rebuilt every night.", "atlas"},
		{"Garden.md", "Water twice a week.", "garden"},
	} {
		c := claim(tc.text)
		c.Evidence = []ken.Evidence{ken.FromArtifact("import:"+tc.file, tc.file)}
		got := ""
		if r := reading.Read(&c, known); len(r.Entities) > 0 {
			got = r.Entities[0].Name
		}
		if got != tc.want {
			t.Errorf("%s: %q is about %q, want %q", tc.file, tc.text, got, tc.want)
		}
	}
}
