package harvest_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/harvest"
)

// A request to forget what was said in an earlier session is no fact. What it names stays, and is put before a person.
func TestWhatTheUserAsksToForgetIsPutBeforeAPerson(t *testing.T) {
	for name, tt := range map[string]struct {
		known   []string
		request string
		marked  string
	}{
		"a date":              {[]string{"My passport expires on 14 March 2027.", "My sister lives in Linz."}, "Please forget my passport date, I don't want you to store that.", "passport expires"},
		"a person":            {[]string{"My husband Pierre is vegetarian.", "My brother Pierre-Yves lives in Nice."}, "Forget what I said about Pierre being vegetarian, he eats fish now.", "vegetarian"},
		"a subject":           {[]string{"We pay invoices within 30 days.", "The office is in Graz."}, "Please disregard what I said about invoices, that was for another company.", "invoices"},
		"a rule":              {[]string{"Error messages are lowercase without trailing period.", "The build needs Go 1.24."}, "Forget the rule about lowercase error messages, we dropped that.", "lowercase"},
		"in Spanish":          {[]string{"Mi hija Lucía lleva las redes sociales.", "Mi jefe vive en Valencia."}, "Olvida lo de mi hija, por favor.", "Lucía"},
		"in German":           {[]string{"Wir haben ein Lager in Ulm, und es ist bis 13 Uhr offen.", "Wir haben auch ein Büro in Graz, es ist ab 9 Uhr offen."}, "Vergiss das mit 13 Uhr.", "13 Uhr"},
		"in French":           {[]string{"Mon chef s'appelle Karim.", "J'habite à Grenoble depuis 2019."}, "Oublie ce que j'ai dit sur Karim.", "Karim"},
		"in Portuguese":       {[]string{"Meu chefe se chama Rui e mora em Braga.", "O depósito fica no Porto."}, "Esquece o que eu disse sobre o Rui.", "Rui"},
		"nothing that it has": {[]string{"My sister lives in Linz.", "The build needs Go 1.24."}, "Forget what I said about the mailer.", ""},
		"no request":          {[]string{"My passport expires on 14 March 2027.", "My sister lives in Linz."}, "Don't forget my passport date.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var marks []string // ids of claims
			r := newRig(t, func(o *harvest.Options) {
				o.AskToForget = func(_ context.Context, claim, request, session string, _ time.Time) error {
					if session != "s2" || !strings.HasPrefix(tt.request, request) {
						t.Errorf("asked by %q in %s", request, session)
					}
					marks = append(marks, claim)
					return nil
				}
			})
			for _, k := range tt.known {
				r.say(t, "s1", user(k), assistant("OK."))
			}
			r.end(t, "s1")
			before := texts(r.kind(t, ken.KindFact))
			r.clock.pass(48 * time.Hour)
			r.say(t, "s2", user(tt.request), assistant("OK."))
			r.end(t, "s2")
			if after := texts(r.kind(t, ken.KindFact)); after != before {
				t.Errorf("facts were\n%s\nand are\n%s", before, after)
			}
			var got []string
			for _, id := range marks {
				c, err := r.store.Get(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(c.Kind)+" "+c.Text)
			}
			if len(got) > 1 || tt.marked != "" && (len(got) == 0 || !strings.HasPrefix(got[0], "fact ") || !strings.Contains(got[0], tt.marked)) || tt.marked == "" && len(got) > 0 {
				t.Errorf("put before a person: %q, want %q; facts:\n%s", got, tt.marked, before)
			}
			for _, e := range r.kind(t, ken.KindEpisode) {
				if e.Session == "s2" {
					t.Errorf("a session that only asks to forget has a summary: %s", e.Text)
				}
			}
		})
	}
}

// Within one session, neither a fact nor the summary has what the user then asked to forget.
func TestASummaryHasNothingThatWasToBeForgotten(t *testing.T) {
	for name, tt := range map[string]struct {
		said       []string
		lose, keep string
	}{
		"a question":  {[]string{"Could you remind me that my passport expires on 14 March 2027?", "I have two kids, Jonas and Emil.", "Please forget my passport date."}, "2027", "Jonas"},
		"a statement": {[]string{"My boss Karim works in Lyon. The deploy host is stage-3.", "Forget what I said about Karim."}, "Karim", "stage-3"},
		"in French":   {[]string{"Mon chef s'appelle Karim.", "Le serveur de test est stage-3.", "Oublie ce que j'ai dit sur Karim."}, "Karim", "stage-3"},
		"a new value": {[]string{"The mailer listens on port 8025. The deploy host is stage-3.", "Forget what I told you about the mailer, the deploy day is Friday."}, "8025", "deploy day is Friday"},
		"all of it":   {[]string{"My boss is called Karim Benali.", "Forget what I said about Karim."}, "Karim", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			for _, text := range tt.said {
				r.say(t, "s", user(text), assistant("OK."))
			}
			r.end(t, "s")
			all := slices.Concat(r.kind(t, ken.KindFact), r.kind(t, ken.KindEpisode))
			got := texts(all)
			for i := range all {
				got += "\n" + all[i].Heading
			}
			if strings.Contains(got, tt.lose) || !strings.Contains(got, tt.keep) || strings.Contains(got, "orget") {
				t.Errorf("learned\n%s", got)
			}
		})
	}
}
