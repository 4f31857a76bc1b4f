package harvest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
)

// A correction withdraws only the statement that it corrects.
func TestCorrectionsTakeBackWhatTheyCorrect(t *testing.T) {
	for name, tt := range map[string]struct {
		said       []ken.Message
		keep, lose []string
	}{
		"a pronoun behind a correction": {[]ken.Message{user("The ledger service is owned by Cy."), assistant("Noted."),
			user("The cache uses Redis for sessions. Scratch that, it uses Memcached for sessions on port 11211."), assistant("Noted.")}, []string{"owned by Cy"}, []string{"Redis"}},
		"no correction": {[]ken.Message{user("The ledger service listens on port 8080. Make that configurable by an environment variable."), assistant("Noted.")},
			[]string{"8080"}, nil},
		"a word that corrects elsewhere": {[]ken.Message{user("The backup of the ledger runs at 2am. Error correction uses Reed-Solomon with 4 parity shards."), assistant("Noted.")},
			[]string{"2am", "Error correction uses"}, nil},
		"an old answer": {[]ken.Message{user("Please look at the ledger service of the shop."), assistant("Which port does the ledger service use?"), user("8080"), assistant("Noted."),
			user("The lamp of the lighthouse is green."), assistant("Noted."), user("I meant the staging log of the shop."), assistant("Noted.")}, []string{"8080"}, []string{"use? Answer: the staging"}},
		"the thing that was wrong": {[]ken.Message{user("The mailer listens on port 8025. The admin port is 8080. The retry limit is 5."), assistant("Noted."),
			user("I was wrong about the admin port, it's 9090."), assistant("Noted.")}, []string{"8025", "limit is 5", "The admin port is 9090. (previously 8080)"}, []string{": The admin port is 8080.", "I was wrong"}},
		"one of several values": {[]ken.Message{user("Redis runs on localhost:6379, Postgres on 5432 with database shop_dev."), assistant("Noted."),
			user("I was wrong about the database name, it's shop_development."), assistant("Noted.")}, []string{"Redis runs on localhost:6379, Postgres on 5432 with database shop_development. (previously shop_dev)"}, []string{"previously:"}},
		"one of several values, with more than a value": {[]ken.Message{user("Staging is on host kronos, production on host atlas."), assistant("Noted."),
			user("I was wrong about production, it's on hyperion."), assistant("Noted.")}, []string{"Staging is on host kronos, production on host atlas (no longer, now hyperion)."}, []string{"previously"}},
		"a value that moved": {[]ken.Message{user("Our office is in Berlin."), assistant("Noted."), user("Our office moved to Hamburg."), assistant("Noted.")},
			[]string{"Berlin (no longer, now Our office moved to Hamburg)", "moved to Hamburg. (previously: Our office is in Berlin)"}, nil},
		"the thing that has another value": {[]ken.Message{user("The mailer listens on port 8025. The gateway listens on port 8080."), assistant("Noted."),
			user("I was wrong, the mailer listens on port 8026."), assistant("Noted.")}, []string{"gateway listens on port 8080", "8026. (previously: The mailer"}, nil},
		"a person that was wrong": {[]ken.Message{user("Ben owns the search service. Lena owns the billing service."), assistant("Noted."),
			user("I misspoke about the search service, Ana owns it."), assistant("Noted.")}, []string{"Lena owns", "Ana owns it. (previously: Ben owns"}, nil},
		"what is to be forgotten": {[]ken.Message{user("The mailer listens on port 8025. The staging host is stage-3."), assistant("Noted."),
			user("Forget what I said about the mailer."), assistant("Noted.")}, []string{"stage-3"}, []string{"8025", "Forget"}},
		"what is to be ignored": {[]ken.Message{user("I live in Graz. My dentist is Dr. Huber. My sister lives in Linz."), assistant("Noted."),
			user("Ignore what I told you about my dentist."), assistant("Noted.")}, []string{"Graz", "Linz"}, []string{"Huber"}},
		"a thing of which nothing was said": {[]ken.Message{user("The cache holds 200 entries. The queue holds 900 entries."), assistant("Noted."),
			user("I was wrong about Friday's outage, it was the DNS."), assistant("Noted.")}, []string{"200", "900", "I was wrong about Friday's outage, it was the DNS."}, nil},
		"a review about a thing": {[]ken.Message{user("The cache holds 200 entries. The queue holds 900 entries."), assistant("Noted."),
			user("The review was about the cache, it found 3 problems."), assistant("Noted.")}, []string{"200", "900"}, []string{"previously"}},
		"another sentence of the message": {[]ken.Message{user("Dagny does the cutover of the shop. And TTL: I was wrong with 300, the reseller's resolver ignores everything below 600."), assistant("Noted.")},
			[]string{"Dagny", "I was wrong with 300"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.say(t, "s", tt.said...)
			r.end(t, "s")
			facts := texts(r.kind(t, ken.KindFact))
			for _, w := range tt.keep {
				if !strings.Contains(facts, w) {
					t.Errorf("lost %q:\n%s", w, facts)
				}
			}
			for _, w := range tt.lose {
				if strings.Contains(facts, w) {
					t.Errorf("kept %q:\n%s", w, facts)
				}
			}
		})
	}
}

// A secret in the assistant's question is not copied into the user's answer.
func TestAnAnswerKeepsNoSecretOfItsQuestion(t *testing.T) {
	r := newRig(t)
	r.say(t, "s", user("I have to log in to db1 of the shop."), assistant("The database password is hunter2Xy9zz on db1. Which one do you want?"), user("the second one"), assistant("Noted."))
	r.end(t, "s")
	if facts := texts(r.kind(t, ken.KindFact)); strings.Contains(facts, "hunter2") {
		t.Errorf("kept\n%s", facts)
	}
}

// A value does not replace one in another unit.
func TestASizeReplacesNoTime(t *testing.T) {
	r := newRig(t)
	old := r.writeClaim(t, "The payments service keeps its logs for 30 days.")
	r.say(t, "s", user("The payments service keeps its logs for 20 gb of disk now."), assistant("Noted."))
	out := r.end(t, "s")
	if slices.Contains(out.Superseded, old.ID) {
		t.Errorf("a size replaced a time: %+v", out)
	}
}

// A short reply that corrects the assistant replaces what was known, and what the assistant repeated.
func TestAShortReplyReplacesWhatIsKnown(t *testing.T) {
	for _, reply := range []string{"no, it's 8081", "that's outdated, it's 8081 now"} {
		r := newRig(t)
		r.say(t, "s1", user("The gateway of the shop listens on port 8080."), assistant("Noted."))
		r.end(t, "s1")
		known := r.find(t, "8080")
		r.clock.pass(48 * time.Hour)
		r.say(t, "s2", user("Where does the gateway listen?"))
		r.inject(t, "s2", itemOf(known))
		r.say(t, "s2", assistant("The gateway of the shop listens on port 8080."), user(reply))
		out := r.end(t, "s2")
		if c := r.find(t, "listens on port 8081. (was 8080"); !slices.Equal(out.Superseded, []string{known.ID}) || c.Status != ken.StatusObserved {
			t.Errorf("%q: %+v, %+v", reply, out, c)
		}
	}
}
