package extract_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/extract"
	"github.com/kenlayer/ken/internal/run/session"
)

// monday is when all of the tests' messages were sent.
var monday = time.Date(2026, time.March, 2, 10, 0, 0, 0, time.UTC)

// held is a session of these messages: "user: …", "assistant: …", "tool: …", and
// "Ana/user: …" for one with a name.
func held(said ...string) *session.Transcript {
	tr := &session.Transcript{Info: session.Info{About: session.About{ID: "s"}}}
	for i, s := range said {
		role, text, _ := strings.Cut(s, ": ")
		name, r, named := strings.Cut(role, "/")
		if !named {
			name, r = "", role
		}
		tr.Entries = append(tr.Entries, session.Entry{Seq: uint64(i + 1), At: monday, Message: ken.Message{Role: r, Name: name, Text: text}})
	}
	return tr
}

// taught are the texts of what a session taught.
func taught(t testing.TB, tr *session.Transcript) []string {
	t.Helper()
	d := extract.Draft(tr, extract.Options{})
	holds(t, tr, d, extract.Options{})
	out := []string{}
	for _, s := range d.Statements {
		out = append(out, s.Text)
	}
	return out
}

func TestWhatAUserSays(t *testing.T) {
	for _, tt := range []struct {
		name, said string
		want       string // "sort: text"; "" for no statement
	}{
		// Standing instructions.
		{"always", "Always run make lint before you commit.", "instruction: User: Always run make lint before you commit."},
		{"never", "never commit to main", "instruction: User: Never commit to main"},
		{"from now on", "From now on, answer in German.", "instruction: User: From now on, answer in German."},
		{"please always", "Please always use table tests.", "instruction: User: Please always use table tests."},
		{"please use", "Please use tabs instead of spaces.", "instruction: User: Please use tabs instead of spaces."},
		{"do not", "Don't edit generated files by hand.", "instruction: User: Don't edit generated files by hand."},
		{"you must", "You must never log request bodies.", "instruction: User: You must never log request bodies."},
		{"remember to", "Remember to bump the schema version after a migration.", "instruction: User: Remember to bump the schema version after a migration."},
		{"do not, for now", "Don't commit yet.", ""},
		{"do not worry", "Don't worry about the linter.", ""},
		{"use this", "Use this file for the output.", ""},
		{"always in code", "Reply `/approve always` to the bot.", ""},
		// Preferences.
		{"prefer", "I prefer small commits with one concern each.", "preference: User: I prefer small commits with one concern each."},
		{"rather", "I'd rather have errors returned than logged.", "preference: User: I'd rather have errors returned than logged."},
		{"favourite", "My favourite editor is Helix.", "preference: User: My favourite editor is Helix."},
		{"dislike", "I hate nested ternaries in reviews.", "preference: User: I hate nested ternaries in reviews."},
		// Decisions.
		{"decided", "We decided to drop Oracle because nobody can run it locally.", "decision: User: We decided to drop Oracle because nobody can run it locally."},
		{"instead of", "Let's use pgx instead of lib/pq because it is maintained.", "decision: User: Let's use pgx instead of lib/pq because it is maintained."},
		{"going with", "We're going with weekly releases on Tuesday.", "decision: User: We're going with weekly releases on Tuesday."},
		{"let's see", "Let's see.", ""},
		// Rules and facts of the project.
		{"must", "The export must finish before 06:00 UTC.", "constraint: The export must finish before 06:00 UTC."},
		{"at most", "A batch holds at most 500 invoices.", "constraint: A batch holds at most 500 invoices."},
		{"is", "The staging database is pg-stage-2.", "fact: The staging database is pg-stage-2."},
		{"depends", "payments depends on the ledger service", "fact: Payments depends on the ledger service"},
		{"happens", "Deploys happen on Tuesdays.", "fact: Deploys happen on Tuesdays."},
		{"identifier first", "ledger_sync runs on node 4 every night.", "fact: ledger_sync runs on node 4 every night."},
		// Persons.
		{"moved", "I moved to Lyon in May.", "fact: User: I moved to Lyon in May."},
		{"family", "My sister Ana is a nurse.", "fact: User: My sister Ana is a nurse."},
		{"name", "I'm Craig, a developer from Leeds.", "fact: User: I'm Craig, a developer from Leeds."},
		{"hedged", "I think the old cluster runs Debian 11.", "fact: User: I think the old cluster runs Debian 11."},
		// Remembering.
		{"remember that", "Remember that the demo is on 5 June.", "fact: The demo is on 5 June."},
		{"note a preference", "Please note that I prefer tabs over spaces.", "preference: User: I prefer tabs over spaces."},
		{"remember when", "Remember when we lost the index?", ""},
		// What is left of a longer sentence.
		{"request behind", "I moved to Lyon in May, can you suggest a dentist?", "fact: User: I moved to Lyon in May"},
		{"request behind, no mark", "I'm using Flask 2.3.1 on Python 3.11, can you help me with the routes", "fact: User: I'm using Flask 2.3.1 on Python 3.11"},
		{"opening", "By the way, my office is in building 7.", "fact: User: My office is in building 7."},
		{"openings", "Oh, and also, the office closes at 18:00 on Fridays.", "fact: The office closes at 18:00 on Fridays."},
		{"emphasis", "The **staging** database is pg-stage-2.", "fact: The staging database is pg-stage-2."},
		// Not statements.
		{"question", "Which table does the ledger read?", ""},
		{"question without a mark", "how do i deploy the ledger to staging", ""},
		{"tag", "The routing is manual in version 2, isn't it?", ""},
		{"request", "Fix the failing test in ledger_test.go.", ""},
		{"polite request", "I'd like you to refactor the ledger package.", ""},
		{"help", "I need help with the ledger import.", ""},
		{"conditional request", "If the ledger test fails, rerun it twice.", ""},
		{"thanks", "Thanks, that worked great!", ""},
		{"greeting", "Good morning! How are you?", ""},
		{"assent", "Sounds good, go ahead.", ""},
		{"praise", "Great work on the parser refactoring!", ""},
		{"hypothetical", "Imagine we had ten million users in Europe.", ""},
		{"example", "For example, a user named Bob could own 3 invoices.", ""},
		{"pronoun", "It runs every night at 3.", ""},
		{"pointing", "That service was slow in January.", ""},
		{"leads up", "Here is the configuration of the staging cluster:", ""},
		{"fragment", "For internal research purposes only.", ""},
		{"little", "We should be fine.", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr := held("user: " + tt.said)
			d := extract.Draft(tr, extract.Options{})
			holds(t, tr, d, extract.Options{})
			got := ""
			for _, s := range d.Statements {
				got += string(s.Sort) + ": " + s.Text
			}
			if got != tt.want {
				t.Errorf("%q\n got %q\nwant %q\n%v", tt.said, got, tt.want, d.Dropped)
			}
			if tt.want == "" && len(d.Dropped) == 0 {
				t.Errorf("%q was left out without a reason", tt.said)
			}
		})
	}
}

func TestAttribution(t *testing.T) {
	for _, tt := range []struct {
		name string
		said []string
		want []string
	}{
		{"both of two people count", []string{"Ana/user: I moved to Lyon in May.", "Ben/assistant: My brother Carl lives in Lyon."},
			[]string{"Ana: I moved to Lyon in May.", "Ben: My brother Carl lives in Lyon."}},
		{"several users", []string{"Ana/user: The staging database is pg-stage-2.", "assistant: Noted.", "Ben/user: Deploys happen on Tuesdays."},
			[]string{"Ana: The staging database is pg-stage-2.", "Ben: Deploys happen on Tuesdays."}},
		{"an assistant with a name is no person beside an unnamed user", []string{"user: I moved to Lyon in May.", "Kai/assistant: I moved to Paris in June."},
			[]string{"User: I moved to Lyon in May."}},
		{"an assistant that calls itself so", []string{"Ana/user: I moved to Lyon in May.", "Assistant/assistant: I moved to Paris in June."},
			[]string{"Ana: I moved to Lyon in May."}},
		{"no name twice", []string{"Ana/user: I moved to Lyon in May.", "Ana/assistant: I moved to Paris in June."},
			[]string{"Ana: I moved to Lyon in May."}},
		{"a pronoun takes the sentence before along", []string{"user: My sister Ana lives in Lyon. She is a nurse at a hospital."},
			[]string{"User: My sister Ana lives in Lyon. She is a nurse at a hospital."}},
		{"which keeps what it was", []string{"user: We decided to drop Oracle. It needs a licence for each laptop."},
			[]string{"User: We decided to drop Oracle. It needs a licence for each laptop."}},
		{"not over a blank line", []string{"user: My sister Ana lives in Lyon.\n\nShe is a nurse at a hospital."},
			[]string{"User: My sister Ana lives in Lyon."}},
		{"an answer takes its question along", []string{"Ana/user: How long have you trained for the marathon?", "Ben/assistant: About six months."},
			[]string{"Ben: About six months. (asked by Ana: How long have you trained for the marathon)"}},
		{"not one that says nothing itself", []string{"Ana/user: How long have you had them?", "Ben/assistant: It took about six months."}, []string{}},
		{"an agent's question too", []string{"user: I train a lot for marathons.", "assistant: How long have you trained for the marathon?", "user: It took me six months."},
			[]string{"User: I train a lot for marathons.", "How long have you trained for the marathon? Answer: It took me six months."}},
		{"spoken to by name", []string{"Ana/user: Ben, I moved to Lyon in May.", "Benjamin/assistant: Great!"}, []string{"Ana: I moved to Lyon in May."}},
		{"advice is none", []string{"Ana/user: Never give up on your dreams, Ben!", "Ben/assistant: You should visit the museum in Lyon."}, []string{}},
		{"a label", []string{"user: User: I moved to Lyon in May."}, []string{"User: I moved to Lyon in May."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, taught(t, held(tt.said...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEntities(t *testing.T) {
	d := extract.Draft(held("Ana/user: My sister Zoe works at Croix-Rousse on Sundays.", "Ben/assistant: Nice."), extract.Options{})
	if len(d.Statements) != 1 {
		t.Fatal(d.Statements)
	}
	if diff := cmp.Diff([]string{"Ana", "Zoe", "Croix-Rousse"}, d.Statements[0].Entities); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHedgesAreDoubted(t *testing.T) {
	confidence := func(said string) float64 {
		d := extract.Draft(held("user: "+said), extract.Options{})
		if len(d.Statements) != 1 {
			t.Fatalf("%q: %v", said, d.Statements)
		}
		return d.Statements[0].Confidence
	}
	sure, hedged := confidence("The old cluster runs Debian 11."), confidence("Maybe the old cluster runs Debian 11.")
	if sure <= hedged || hedged > 0.5 {
		t.Errorf("%v and %v", sure, hedged)
	}
	if asked := confidence("Remember that the old cluster runs Debian 11."); asked <= sure {
		t.Errorf("%v is not above %v", asked, sure)
	}
}

func TestImpersonalSentences(t *testing.T) {
	checkSaid(t, [][2]string{
		{"It is forbidden to push to main.", "constraint: It is forbidden to push to main."},
		{"It is not allowed to restart the broker by day.", "constraint: It is not allowed to restart the broker by day."},
		{"Il ne faut jamais déployer le vendredi.", "constraint: Il ne faut jamais déployer le vendredi."},
		{"Il est interdit de pousser sur main.", "constraint: Il est interdit de pousser sur main."},
		{"Il faut demander à Karim avant chaque migration.", "constraint: Il faut demander à Karim avant chaque migration."},
		{"Es dürfen nie Migrationen während der Bürozeiten laufen.", "constraint: Es dürfen nie Migrationen während der Bürozeiten laufen."},
		{"Es ist verboten, direkt auf main zu pushen.", "constraint: Es ist verboten, direkt auf main zu pushen."},
		{"Es gibt zwei Lager, Ulm und Kempten.", "fact: Es gibt zwei Lager, Ulm und Kempten."},
		{"Il ne faut jamais ouvrir la cave sans gants.", "constraint: Il ne faut jamais ouvrir la cave sans gants."},
		{"Il est interdit de fumer dans le centre de Lille.", "constraint: Il est interdit de fumer dans le centre de Lille."},
		{"Il est interdit d'utiliser le wifi des invités.", "constraint: Il est interdit d'utiliser le wifi des invités."},
		{"Il faut demander à Nadia avant chaque voyage.", "constraint: Il faut demander à Nadia avant chaque voyage."},
		{"Il faut deux relecteurs pour chaque contrat.", "constraint: Il faut deux relecteurs pour chaque contrat."},
		{"Nous vendons des vélos. Il n'y a pas de livraison le dimanche.", "fact: Nous vendons des vélos. | fact: Il n'y a pas de livraison le dimanche."},
		{"Es darf niemand ohne Helm in die Halle.", "constraint: Es darf niemand ohne Helm in die Halle."},
		{"Es müssen immer zwei Leute die Rechnung prüfen.", "constraint: Es müssen immer zwei Leute die Rechnung prüfen."},
		{"Es ist nicht erlaubt, Kundendaten per Mail weiterzugeben.", "constraint: Es ist nicht erlaubt, Kundendaten per Mail weiterzugeben."},
		{"It is not allowed to smoke in the warehouse.", "constraint: It is not allowed to smoke in the warehouse."},
		{"It's strictly prohibited to feed the ducks in Oslo.", "constraint: It's strictly prohibited to feed the ducks in Oslo."},
		{"It is mandatory that two people sign the contract.", "constraint: It is mandatory that two people sign the contract."},
		{"Il ne faut pas que les clients voient les prix d'achat.", "constraint: Il ne faut pas que les clients voient les prix d'achat."},
		{"Es darf kein Gerät ohne Prüfung ans Netz.", "constraint: Es darf kein Gerät ohne Prüfung ans Netz."},

		{"It is on port 8080.", ""},
		{"It is required.", ""},
		{"It is allowed here.", ""},
		{"Il est en panne.", ""},
		{"Il déploie le vendredi.", ""},
		{"Il est interdit.", ""},
		{"Es läuft auf Port 8080.", ""},
		{"Es darf nicht nass werden.", ""},
		{"Es gibt Probleme seit gestern.", ""},
		{"Il y a un souci avec le build.", ""},
		{"Il faut que tu m'aides.", ""},
		{"Es müssen die Lampen im Flur getauscht werden.", ""},
		{"Il ne faut que dix minutes pour le train de Paris.", ""},
		{"Il faut le faire avant chaque réunion avec nous.", ""},
		{"Il faut corriger le test du panier et les autres.", ""},
		{"Il ne faut jamais le redémarrer la nuit.", ""},
		{"Il ne faut pas s'inquiéter pour les tests.", ""},
		{"Il est interdit de le supprimer.", ""},
		{"Il est interdit en Bretagne depuis le 3 mai.", ""},
		{"Il habite à Lyon depuis deux ans avec nous.", ""},
		{"Il faut du lait pour ce soir.", ""},
		{"Es ist verboten in Bayern seit 2019.", ""},
		{"Es ist verboten, das zu tun.", ""},
		{"Es gibt sie in Rot und Blau.", ""},
		{"Es gibt keinen Grund zur Sorge.", ""},
		{"It is forbidden to do this.", ""},
		{"It is forbidden in Bavaria since 2019.", ""},
		{"It is not allowed to restart it at night.", ""},
		{"It's required by the auditor in Oslo.", ""},
	})
}
