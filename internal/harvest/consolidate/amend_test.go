package consolidate_test

import (
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/harvest/consolidate"
)

func amended(sentence, reply string) (text, was string) {
	r, ok := consolidate.ReadReply(reply)
	if !ok {
		return "", ""
	}
	return r.Amend(sentence)
}

func TestAmended(t *testing.T) {
	for _, tt := range []struct{ sentence, reply, want string }{
		{"The gateway listens on port 8080 by default.", "no, it's 8081", "The gateway listens on port 8081 by default."},
		{"The nightly backup runs at 2 am.", "sorry, 3 am", "The nightly backup runs at 3 am."},
		{"We keep logs for 30 days.", "wait, 90 days", "We keep logs for 90 days."},
		{"We keep logs for 30 days.", "no wait, 90", "We keep logs for 90 days."},
		{"Our deploy day is Tuesday.", "actually Thursday", "Our deploy day is Thursday."},
		{"Our staging cluster is in eu-west-1", "eu-central-1, sorry", "Our staging cluster is in eu-central-1"},
		{"Standup is at 9:30.", "it's 9:45 since May", "Standup is at 9:45."},
		{"The ledger runs on MySQL 8, according to docker-compose.yml.", "that's outdated, it runs on postgres 16 now", "The ledger runs on postgres 16."},
		{"Ben owns the billing service.", "not Ben, Carla.", "Carla owns the billing service."},
		{"Ben owns the billing service.", "Carla, not Ben", "Carla owns the billing service."},
		{"Ben owns the billing service.", "no, it's Carla", "Carla owns the billing service."},
		{"Ben owns the billing service.", "it's Carla since June, not Ben", "Carla owns the billing service."},
		{"The cluster runs Kafka 3.6.", "Actually it is Kafka 4.0 since Monday, not 3.6.", "The cluster runs Kafka 4.0."},
		{"A call may take 30 seconds.", "no, 45 seconds", "A call may take 45 seconds."},
		{"A call may take 30 s.", "hm, that was the old value, it is 45 secs now", "A call may take 45 secs."},
		{"The lock is kept for 10 minutes.", "that's the old setting: 15 min", "The lock is kept for 15 min."},
		{"A failed call is repeated for 2 days.", "wrong, I checked: it's 36 hours", "A failed call is repeated for 36 hours."},
		{"A call takes 30 seconds, and its result is kept for 2 days.", "no, 20 seconds", "A call takes 20 seconds, and its result is kept for 2 days."},
		{"A call takes 30 seconds, and its result is kept for 2 days.", "no, 36 hours", ""},
		{"The pool has 20 connections.", "it's 60 now, not 20", "The pool has 60 connections."},
		{"The exporter runs on mon-1.", "it runs on mon-2, not mon-1", "The exporter runs on mon-2."},
		{"The retry limit of the mailer is 5.", "should be 3", "The retry limit of the mailer is 3."},
		{"The invoices are in the table `invoices`.", "it's called billing_invoices", "The invoices are in the table `billing_invoices`."},
		{"The base URL is https://api.acme.io/v1.", "no: https://api.acme.io/v2", "The base URL is https://api.acme.io/v2."},
		{"The metrics are at metrics.acme.io.", "nope, stats.acme.io", "The metrics are at stats.acme.io."},
		{"The budget is $2,000 a month.", "sorry, $3,000", "The budget is $3,000 a month."},
		{"We build with Go 1.25.", "no, 1.26", "We build with Go 1.26."},
		{"Unser Deploy-Tag ist Dienstag.", "nein, Donnerstag", "Unser Deploy-Tag ist Donnerstag."},
		{"网关的端口是 8081", "不对,是 8082", "网关的端口是 8082"},

		// with a reason
		{"The gateway listens on port 8080.", "oops, 8081, i was looking at the wrong env file", "The gateway listens on port 8081."},
		{"My flight to Oslo leaves on May 12", "sorry, May 14, misread the ticket", "My flight to Oslo leaves on May 14"},
		{"Ben owns the billing service.", "wait no, Carla, I mixed them up.", "Carla owns the billing service."},
		{"We keep logs for 30 days.", "no, 90, because I was thinking of the audit trail", "We keep logs for 90 days."},
		{"The API key header is X-Api-Token.", "nope, X-Lark-Token, had it confused w/ the old gateway", ""},
		{"The API key header is X-Api-Token.", "nope, X-Lark-Token, i had it confused w/ the old gateway", "The API key header is X-Lark-Token."},
		{"The gateway listens on port 8080.", "no, 8081, it crashed again", ""}, // says more
		{"The gateway listens on port 8080.", "no, 8081, i forgot to say that admin is on 9000", ""},

		// the first word of a sentence has a capital letter anyway
		{"Rate limit is 100 rps per tenant.", "no, X-Lark-Token", ""},
		{"Rate limit is 100 rps per tenant.", "no, Carla", ""},
		{"Backup storage was moved twice.", "sorry, Carla", ""},
		{"Carla-only tasks are in the wiki.", "no, Ben", ""},

		{"The Dockerfile uses Node 20.", "that's outdated, it's Node 22 since March", "The Dockerfile uses Node 22."},
		{"The invoices go to the bucket `acme-invoices-eu`.", "no, `acme-billing-eu`", "The invoices go to the bucket `acme-billing-eu`."},
		{"The on-call phone is with Maja.", "sorry, it's with Tomas", "The on-call phone is with Tomas."},
		{"The ledger runs on MySQL, according to the wiki.", "not MySQL, PostgreSQL", "The ledger runs on PostgreSQL."},
		{"The Dockerfile uses Node 20.", "no, Python 3.12", ""},
		{"The deploy is now on Monday.", "not now, later", ""}, // no value

		{"The bug is in parser.go line 80.", "no, look at line 90", ""},
		{"The test passes with a timeout of 5 s.", "no it still fails", ""},
		{"The import runs at 2 am and at 4 am.", "no, 5 am", ""},                       // which one?
		{"The gateway listens on port 8080.", "8081", ""},                              // corrects nothing
		{"The gateway listens on port 8080.", "no, why?", ""},                          // asks
		{"The gateway listens on port 8080.", "no", ""},                                // gives no value
		{"The gateway listens on port 8080.", "no, it's fine", ""},                     //
		{"The gateway listens on port 8080.", "that's right, 8080", ""},                // the same
		{"The gateway listens on port 8080.", "it's late", ""},                         //
		{"The gateway listens on port 8080.", "it's 9 pm, let's stop", ""},             // says more
		{"Ben owns the billing service.", "sorry, Ben", ""},                            // the same
		{"Ben and Ana own the billing service.", "no, Carla", ""},                      // which one?
		{"The tests need Docker.", "no, I don't have Docker", ""},                      //
		{"The deploy takes 5 minutes.", "no, 2 people", ""},                            // another unit
		{"The report goes to Ana on Monday.", "not now, maybe on Tuesday", ""},         //
		{"Use the v1 endpoint of the search service.", "not really, but thanks", ""},   //
		{"The worker is restarted twice a day.", "it should be restarted by cron", ""}, //
	} {
		got, was := amended(tt.sentence, tt.reply)
		if got != tt.want || (was != "") != (got != "") {
			t.Errorf("%q, %q: %q for %q, want %q", tt.sentence, tt.reply, got, was, tt.want)
		}
	}
}

// Whatever two texts are, what is amended is the sentence with something else in one place.
func FuzzAmended(f *testing.F) {
	f.Add("The gateway listens on port 8080, according to docker-compose.yml.", "no, it's 8081")
	f.Add("Ben owns the billing service.", "not Ben, Carla")
	f.Add("The ledger runs on `MySQL` 8.", "sorry, `postgres` 16")
	f.Add("网关的端口是 8081", "不对,是 8082")
	f.Fuzz(func(t *testing.T, sentence, reply string) {
		text, was := amended(sentence, reply)
		if text == "" {
			return
		}
		at := strings.Index(sentence, was)
		if was == "" || at < 0 || text == sentence {
			t.Fatalf("%q for %q: %q", text, was, sentence)
		}
		for ; at >= 0; at = next(sentence, was, at) {
			if strings.HasPrefix(text, sentence[:at]) {
				return
			}
		}
		t.Fatalf("%q does not begin like %q before %q", text, sentence, was)
	})
}

func next(s, part string, after int) int {
	if i := strings.Index(s[after+1:], part); i >= 0 {
		return after + 1 + i
	}
	return -1
}
