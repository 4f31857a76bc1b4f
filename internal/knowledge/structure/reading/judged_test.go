package reading_test

import (
	"testing"

	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

// What was said in a session is filed under what a trained judgement finds, wherever that stands
// in the sentence, and under what the rules read where it is not sure.
func TestJudgedSubject(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"The auditors complained, so refunds are booked on the day they are issued.", "refunds"},
		{"From June the team plan is 15 euros per seat.", "team plan"},
		{"User: We raised the upload limit to 64 MB.", "upload limit"},
		{"Nachts um drei läuft das Backup auf die Synology.", "backup"},
		{"OrderMailer retries twice.", "ordermailer"},
		{"User: Our wiki runs on Confluence", "wiki"}, // what it runs on comes behind
		{"The metrics are stored in Prometheus", "metrics"},
		{"Piotr owns the exporter", "exporter"},
		{"Should the invoice reminder go out by mail? Answer: Yes, Priya wants it on Mondays", "invoice reminder"}, // a question says what its answer is about
		{"Which currency does the price list use? Answer: Euros", "price list"},
		{"Wann läuft bei euch die Wartung der Server? Answer: sonntags um vier", "wartung"},
		{"User: I set the session timeout to 20 minutes.", "session timeout"},
		{"User: I am allergic to peanuts.", "user"},
		{"User: I found a new job at Statkraft.", "user"},
		{"User: We settled on plain text for the billing worker.", "billing worker"},
		{"Dana decides about refunds above 500 euros.", "dana"},
		{"User: We live in Bergen.", "user"},
		{"Wir wohnen in Graz.", "user"},
		{"Nous avons déménagé à Rennes.", "user"},
		{"Soy vegetariana.", "user"},
		{"User: We upgraded the API to Node 22.", "api"},
		{"User: We migrated our invoices from MySQL to Postgres.", "invoices"},
		{"The certificates are renewed by acme.sh (until 2 March 2026: Letters are sent by hand)", "certificates"},
	} {
		c := claim(tt.text)
		c.Session = "s1"
		if reading.Assign(&c, nil); len(c.Entities) == 0 || c.Entities[0] != tt.want {
			t.Errorf("%q is about %q, want %s", tt.text, c.Entities, tt.want)
		}
	}
	known := names{"ledger": true}
	for _, text := range []string{"The ledger entries are kept for ten years.", "Never deploy the ledger on Fridays."} {
		c := claim(text)
		c.Session = "s1"
		if reading.Assign(&c, known); len(c.Entities) == 0 || c.Entities[0] != "ledger" {
			t.Errorf("%q is about %q, though the ledger is known", text, c.Entities)
		}
	}
	c := claim("The auditors complained, so refunds are booked on the day they are issued.", "Ana")
	if reading.Assign(&c, nil); len(c.Entities) > 0 && c.Entities[0] == "refunds" {
		t.Errorf("what was written by hand is filed by %q", c.Entities)
	}
}

// The marks of Chinese and Japanese part words, though no space follows them.
func TestWideMarks(t *testing.T) {
	for text, want := range map[string]string{"上周之后，消息全都走 Pulsar。缓存在 Redis！": "redis", "定时任务那边还是 XXL-JOB。": "xxl job"} {
		c := claim(text)
		found := false
		for _, m := range reading.Read(&c, nil).Entities {
			found = found || m.Name == want
		}
		if !found {
			t.Errorf("%q does not name %s: %+v", text, want, reading.Read(&c, nil).Entities)
		}
	}
}
