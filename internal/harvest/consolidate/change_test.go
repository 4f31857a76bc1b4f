package consolidate

import (
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/draft"
)

// Where a person lives or works is replaced, whatever is said beside the new place.
func TestLifeMovesOn(t *testing.T) {
	for _, tt := range []struct {
		old, new string
		want     Relation
	}{
		{"User: I live in Bergen", "User: I moved to Oslo last week (the week of 23 February 2026)", Updates},
		{"User: We live in Bergen", "User: We moved to Oslo in autumn (2025) for the school", Updates},
		{"User: I work for Equinor", "User: I joined Statkraft last month (January 2026)", Updates},
		{"User: I'm based in Bergen", "User: I relocated to Oslo with my wife", Updates},
		{"User: I work at Equinor", "User: I found a new job at Statkraft", Updates},
		{"User: I work for Equinor as a driller", "User: I left Equinor for Statkraft in March", Updates},
		{"User: My wife works at Equinor", "User: My wife took a position at Statkraft", Updates},
		{"User: I work for Equinor", "User: My new employer is at Statkraft", Updates},
		{"User: I work for Equinor", "User: I found a job at Statkraft for my nephew", Distinct},
		{"User: I work for Equinor", "User: I had a job at Statkraft in summer", Distinct},
		{"User: I work for Equinor", "User: I had an interview at Statkraft", Distinct},
		{"User: I work for Equinor", "User: I got a job offer at Statkraft", Distinct},
		{"User: I work for Equinor", "User: I left Equinor for good", Distinct},
		{"User: I live in Bergen with my brother", "User: I moved to Oslo", Distinct},
		{"User: I live in Bergen", "User: I moved to the window seat (February 2026)", Distinct},
		{"User: The fair is next week (the week of 2 March 2026)", "User: The fair is next week (the week of 9 March 2026)", Distinct},
	} {
		if v := Compare(Statement{Text: tt.old}, Statement{Text: tt.new}); v.Relation != tt.want {
			t.Errorf("%s → %s: %s (%s), want %s", tt.old, tt.new, v.Relation, v.Why, tt.want)
		}
	}
}

// Also in other languages, a new home or employer replaces the old one, and what is said beside it stays.
func TestLifeMovesOnElsewhere(t *testing.T) {
	for _, tt := range []struct {
		old, new string
		want     Relation
	}{
		{"Wir wohnen in Graz.", "Wir sind im Mai nach Linz umgezogen.", Updates},
		{"Ich lebe in Graz mit zwei Katzen.", "Ich wohne jetzt in Linz.", Amends},
		{"Ich bin nach Graz gezogen.", "Ich bin nach Linz gezogen.", Updates},
		{"Ich arbeite bei Voestalpine.", "Ich habe eine neue Stelle bei Andritz.", Updates},
		{"Je vis à Lille.", "On a déménagé à Rennes en mars.", Updates},
		{"Je travaille chez Michelin.", "J'ai un nouveau poste chez Valeo.", Updates},
		{"Vivimos en Gijón.", "Me mudé a Oviedo.", Updates},
		{"Moro em Braga.", "Agora moro em Faro.", Updates},
		{"Wir wohnen in Graz.", "Wir sind noch nicht nach Linz gezogen.", ""},
		{"Vivimos en Gijón.", "Al final no nos hemos mudado a Oviedo.", ""},
		{"Wir wohnen in Graz.", "Meine Schwester ist nach Linz gezogen.", ""},
		{"Ich wohne in Graz.", "Ich arbeite jetzt bei Andritz.", ""},
		{"Wir wohnen in Graz.", "Wir wohnen in Graz und in Linz.", ""},
		{"Wir wohnen in Graz.", "Vielleicht sind wir im Mai nach Linz gezogen.", ""},
	} {
		n := candidate{claim: &ken.Claim{Text: tt.old}}
		if n.readChange(tt.new); n.Relation != tt.want {
			t.Errorf("%q after %q: %q %s", tt.new, tt.old, n.Relation, n.Why)
		}
	}
}

// What "we" switched to replaces what "our" tool was, by its name, by the old value, or by the kind of both.
func TestSwitchedTools(t *testing.T) {
	for _, tt := range []struct {
		old, new string
		want     Relation
	}{
		{"User: Our helpdesk is Zendesk.", "User: we moved to Freshdesk in autumn", Updates},
		{"The helpdesk is Zendesk.", "User: We replaced Zendesk with Plain.", Updates},
		{"User: Our helpdesk is Plain.", "User: We migrated the helpdesk to Zendesk last week.", Updates},
		{"User: Our password manager is LastPass.", "User: We changed from LastPass to Bitwarden.", Updates},
		{"User: Our helpdesk is Zendesk.", "User: We moved to Slack.", Distinct},
		{"User: Our helpdesk is Zendesk.", "User: We might move to Freshdesk.", Distinct},
		{"User: Our helpdesk is Zendesk.", "User: We moved the wiki to Freshdesk.", Distinct},
		{"User: Our first customer is Zendesk.", "User: We switched to Freshdesk.", Distinct},
		{"User: Our helpdesk is Zendesk.", "User: We switched to Freshdesk for the French office.", Distinct},
		{"User: Our helpdesk is Zendesk.", "User: Dana switched to Freshdesk.", Distinct},
	} {
		if v := Compare(Statement{Text: tt.old}, Statement{Text: tt.new}); v.Relation != tt.want {
			t.Errorf("%s → %s: %s (%s), want %s", tt.old, tt.new, v.Relation, v.Why, tt.want)
		}
	}
	then := time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
	for text, want := range map[string]Relation{
		"User: I joined Statkraft in 2015": Distinct, "User: I got a job at Statkraft in May 2019": Distinct, "User: I joined Statkraft in 2026": Updates,
	} {
		v := Compare(Statement{Text: "User: I work at Equinor", At: then}, Statement{Text: text, At: then.AddDate(0, 1, 0)})
		if v.Relation != want {
			t.Errorf("%s: %s (%s), want %s", text, v.Relation, v.Why, want)
		}
	}
	said := func(id, text string, at time.Time) ken.Claim {
		return ken.Claim{ID: id, Text: text, Kind: ken.KindFact, Status: ken.StatusObserved, Session: "s" + id, CreatedAt: at, UpdatedAt: at}
	}
	known := []ken.Claim{said("1", "User: Our shop is Shopify.", then), said("2", "User: Our outlet is Magento.", then)}
	fresh := said("3", "User: We switched to Shopware.", then.AddDate(0, 1, 0))
	if a := Plan(fresh, known); a.Do != Write {
		t.Errorf("one of two tools was replaced without saying which: %+v", a)
	}
	if a := Plan(fresh, known[:1]); a.Do != Supersede {
		t.Errorf("the only one was not replaced: %+v", a)
	}
}

// What happened in a year before an earlier statement does not end what that says.
func TestLongAgo(t *testing.T) {
	then := time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
	for _, tt := range [][2]string{
		{"User: We use Postgres 17.", "User: We moved to Postgres 15 in 2022."},
		{"The rent is 900 euros.", "The rent was raised to 850 euros in May 2021."},
		{"Ich wohne in Graz.", "Ich bin im Jahr 2019 nach Linz gezogen."},
	} {
		known := ken.Claim{ID: "1", Text: tt[0], Kind: ken.KindFact, Status: ken.StatusObserved, Session: "s1", CreatedAt: then, UpdatedAt: then}
		fresh := ken.Claim{ID: "2", Text: tt[1], Kind: ken.KindFact, Status: ken.StatusObserved, Session: "s2", CreatedAt: then.AddDate(0, 1, 0), UpdatedAt: then.AddDate(0, 1, 0)}
		if a := Plan(fresh, []ken.Claim{known}); len(a.Amend) > 0 || a.Do != Write {
			t.Errorf("%q after %q: %+v", tt[1], tt[0], a)
		}
	}
}

// A rule that shares words with a fact does not end the fact.
func TestARuleEndsNoFact(t *testing.T) {
	then := time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
	for _, tt := range [][2]string{
		{"Tests need Docker 27.", "User: Always use tabs in YAML files from now on, the tests need it."},
		{"Integration tests need Docker 27.", "User: From now on always use tabs in YAML files of the tests."},
		{"The tests need Docker 27", "User: Always use tabs in YAML files and run the tests with -race instead."},
	} {
		known := ken.Claim{ID: "1", Text: tt[0], Kind: ken.KindFact, Status: ken.StatusObserved, Session: "s1", CreatedAt: then, UpdatedAt: then}
		fresh := ken.Claim{ID: "2", Text: tt[1], Domain: string(draft.Instruction), Kind: ken.KindFact, Status: ken.StatusObserved, Session: "s2", CreatedAt: then.AddDate(0, 1, 0), UpdatedAt: then.AddDate(0, 1, 0)}
		if a := Plan(fresh, []ken.Claim{known}); len(a.Amend) > 0 || a.Do != Write {
			t.Errorf("%q after %q: %+v", tt[1], tt[0], a)
		}
	}
}

// Which value of an earlier statement a later one replaces, "" for none.
func TestReplacedValue(t *testing.T) {
	for _, tt := range []struct{ old, new, want string }{
		{"Et la sauvegarde complète part tous les soirs à 22h.", "On a décalé la complète à 2h du matin, ça gênait la clôture de caisse j'aurais jamais dû accepter 22h à l'époque, mdr", "22h"},
		{"User: Left achilles, the physio is Mr. Banerjee, every second Thursday 17:30, he caps me at 50 km a week till he says otherwise", "User: Me again, so.... physio lifted it to 60 k", "50 km"},
		{"Termin ist der 13. März, 19 Uhr, in der alten Turnhalle.", "Hallenwart sagt ab: am 13. ist Judo, wir weichen auf den 20. März aus und gehen ins Gasthaus Lindner", "13. März"},
		{"Te cuento: el monolito se llama Tortuga, es Rails 7.1 con Sidekiq, y desplegamos los martes y los jueves por la mañana.", "novedad: ahora solo hay despliegue los miércoles a las 10, lo ha pedido soporte porque los jueves tienen pico de llamadas", "martes y los jueves"},
		{"o frete grátis é a partir de R$ 250, me ajuda a escrever a página de entrega?", "Subiu o frete da Jadlog, então agora o grátis começa em 320 reais e nos textos é 'você'", "R$ 250"},
		{"coletas toda segunda e quinta", "mudança: só uma coleta por semana, na quarta, porque o carro da universidade foi pra revisão", "segunda e quinta"},
		{"Aurélie in marketing is the customer for it and she wants a ranked list, not probabilities, 5000 names.", "Aurélie came back, the budget's been cut so it's the top 3,000 now", "5000 names"},
		{"The payments service keeps its logs for 30 days.", "The ledger service keeps its logs for 14 days now.", ""},
		{"Staging keeps the logs for 30 days.", "Production logs are kept for 14 days now.", ""},
		{"The Leeds office has 62 seats.", "For the Team plan please make it 70 seats.", ""},
		{"Deploys of the web app go out on Tuesday.", "Deploys of the mobile app go out on Thursday now.", ""},
		{"The backup runs on Mondays at 3.", "The handover moves off Monday to Wednesday 11:00.", ""},
		{"The mailer retries 3 times.", "The importer now retries 5 times.", ""},
		{"The gateway in Leeds listens on port 8080.", "The gateway in York now listens on port 9090.", ""},
		{"The ledger is a Rust crate that writes to the `entries` table Priyanka owns it.", "User: Small reshuffle over here, Priyanka went to payments and bookkeeper is with Tomasz now can you grep who else touches entries", "Priyanka"},
		{"Projeto AEDES-SUL, 24 armadilhas em Pelotas, quem coordena é a professora Iracema.", "mudança: só uma coleta por semana, a Iracema saiu de licença, o Otávio responde pelo projeto até agosto", "Iracema"},
		{"Oskar owns the snapshotter.", "Hana took over the snapshotter from Oskar.", ""},
		{"Oskar owns the snapshotter.", "Hana took the snapshotter over from Oskar.", "Oskar"},
		{"Das Projekt leitet Frau Krause.", "Das Projekt geht im Mai an Herrn Vogt in Leipzig.", ""},
		{"Ana owns the billing service.", "Ana went to Lisbon with Ben.", ""},
		{"The mailer is owned by Cy.", "The auth service is owned by Cy.", ""},
		{"The triangle has sides of 9, 12 and 15 cm.", "The triangle does not have sides of 10 cm, 15 cm and 20 cm.", ""},
		{"Feb 16 - Mar 15: final tests of the project.", "The final tests of the project now end on March 31.", ""},
		{"The page size is 200 at most.", "Product cut the page size from 200 to 100.", "200"},
		{"The search takes 200 ms.", "The search takes 200 ms here and 300 ms on staging.", ""},
		{"The drift window is 14 days.", "The drift window becomes 21 days.", "14 days"},
		{"We deploy on Tuesdays.", "We deploy on Thursdays now.", "Tuesdays"},
		{"Our rate limit is 200 requests per second.", "We raised the rate limit to 350 requests per second.", "200 requests"},
		{"We deploy on Tuesdays.", "Actually we no longer deploy on Tuesdays but on Thursdays.", "Tuesdays"},
		{"The choir meets on Mondays.", "The choir no longer meets on Mondays but on Wednesdays.", "Mondays"},
		{"The team retro is on Wednesday.", "The team retro isn't on Wednesday anymore but on Friday.", "Wednesday"},
		{"The gateway listens on port 8080.", "The gateway no longer listens on port 8080 but on 9090.", "8080"},
		{"The influx container answers on 9999, that's the default.", "Influx went back to 8086 with the final 2.0, nothing listens on 9999 any more", "9999"},
		{"Paul trains on Fridays.", "Paul no longer trains on Fridays, but on Sundays.", "Fridays"},
		{"O treino é às terças.", "O treino já não é às terças mas às quintas.", "terças"},
		{"Der Chor probt montags.", "Der Chor probt nicht mehr montags, sondern mittwochs.", "montags"},
		{"We deploy on Tuesdays.", "We deploy not only on Tuesdays but on Thursdays too.", ""},
		{"Der Chor probt montags.", "Der Chor probt nicht nur montags, sondern auch mittwochs.", ""},
		{"We deploy on Tuesdays.", "The mobile team no longer deploys on Mondays but on Thursdays.", ""},
		{"The shop is open on Saturday.", "The shop is open on Saturday but on Sunday it is closed now.", ""},
		{"The meeting is on 3 May.", "I'm not there on 3 May but on 4 May.", ""},
		{"The gym is open from 8:00.", "The gym is no longer open on Sunday but on Monday from 8:00.", ""},
	} {
		c, ok := replacedValue(tt.old, tt.new)
		if got := tt.old[c.was.from:c.was.to]; ok != (tt.want != "") || got != tt.want {
			t.Errorf("%q\n after %q: %q, want %q", tt.new, tt.old, got, tt.want)
			t.Logf("%+v | %+v", valuesOf(tt.old), valuesOf(tt.new))
		}
	}
	if c, _ := replacedValue("The proxy listens on 9999, as is the default.", "The proxy went back to 8086 with the final 2.0, it no longer listens on 9999."); c.is != "8086" {
		t.Errorf("9999 became %q", c.is)
	}
	for _, tt := range []struct{ old, new, want string }{
		{"The mail quota's 500 a day", "I was wrong, it's 300 a day on the Mailgun plan we have", "500"},
		{"The backoff starts at 10s", "User: No scratch that, 30s, 10 got us banned by the harbour authority's API", "10s"},
		{"Auf welchen Wert soll ich gehen? Answer: 8k", "Dann 16k, das JWT vom neuen Login ist so ein Brocken", "8k"},
		{"To what value? Answer: 64 I'd say", "User: Let's do 40 then", "64"},
		{"The mail quota's 500 a day", "We have 300 servers.", ""},
	} {
		c, ok := correctedValue(tt.old, tt.new)
		if got := tt.old[c.was.from:c.was.to]; ok != (tt.want != "") || got != tt.want {
			t.Errorf("%q\n corrects %q: %q, want %q", tt.new, tt.old, got, tt.want)
			t.Logf("%+v | %+v", valuesOf(tt.old), valuesOf(tt.new))
		}
	}
}

// TestLaterStatements checks that a later statement which only plans something, which is about a sibling or
// which says the same again leaves an earlier one as it is, and that one which says that it has changed
// or that a task was done does not.
func TestLaterStatements(t *testing.T) {
	for _, tt := range []struct {
		old, new string
		changes  bool
	}{
		{"We use Postgres 15.", "We might move to Postgres 17 next year.", false},
		{"Billing deploys on Tuesdays.", "We're thinking about moving billing deploys to Wednesdays.", false},
		{"The session timeout is 30 minutes.", "Maybe we should lower the session timeout to 15 minutes now.", false},
		{"The API runs on Node 18.", "We plan to move the API to Node 22 in the autumn.", false},
		{"The choir meets on Mondays.", "We could move the choir to Thursdays at some point.", false},
		{"The lease ends in May.", "I'm going to move the end of the lease to June.", false},
		{"The cache is Redis 6.", "Should we move the cache to Redis 7?", false},
		{"Der Chor probt montags.", "Vielleicht probt der Chor jetzt donnerstags.", false},
		{"If all goes well, the choir meets on Mondays.", "If the hall is free, we could move the choir to Thursdays.", false},
		{"The webinar is on 3 March.", "The webinar is on 10 March now, maybe Olga moderates it.", true},
		{"We might release on Tuesday.", "We might release on Thursday instead.", true},
		{"The choir meets on Mondays.", "The choir meets on Thursdays now.", true},
		{"The choir is going to meet on Mondays.", "The choir is going to meet on Thursdays now.", true},
		{"The webinar is planned for 3 March.", "Change of plan: the webinar is on 10 March.", true},

		{"Our standup is at 10.", "Standup is at 10.", false},
		{"The demo for the client is tomorrow (19 May 2026) at 3pm.", "The demo for the client is tomorrow (26 May 2026) at 3pm.", false},
		{"The mailer's timeout is 30 s.", "The mailer's retry limit is 5 now.", false},
		{"Ben owns search.", "Ana owns billing now.", false},
		{"Production runs on 8080.", "Staging now runs on 8081.", false},
		{"Qui valide le planning ? Answer: moi", "Unseal keys are with 5 people, you need 3.", false},

		{"There is a deploy freeze until the audit is done.", "The deploy freeze is over.", true},
		{"User: We use Redis for sessions.", "User: We no longer use Redis.", true},
		{"The nightly sync copies orders to the warehouse.", "The nightly sync was switched off.", true},
		{"My sister lives with us in the guest room.", "My sister moved out.", true},
		{"Tom is on call on Fridays.", "Tom left the team.", true},
		{"The choir's summer break lasts until August.", "The summer break has ended.", true},
		{"Lea owns the exporter.", "Tom left the team.", false},
		{"There is a deploy freeze until the audit is done.", "The hiring freeze will be over in May.", false},
		{"There is a deploy freeze until the audit is done.", "The deploy freeze isn't over yet.", false},
		{"The orders queue keeps messages for 7 days.", "The retry of invoices was switched off.", false},

		{"User: Still to do: We still need to add an index on orders.created_at.", "Done: added the index on orders.created_at.", true},
		{"Still to do: The staging certificate still has to be rotated.", "User: I rotated the staging certificate yesterday (24 May 2026).", true},
		{"Still to do: The release notes still have to be written.", "The release notes are written.", true},
		{"Still to do: The hall's deposit is not paid, someone has to pay it.", "The hall's deposit is paid.", true},
		{"Still to do: We still need to add an index on orders.created_at.", "We added an index on customers.email.", false},
		{"Still to do: The release notes still have to be written.", "The release notes are in docs/release.md as always.", false},
		{"Still to do: The cake still has to be ordered at Bakery Sol.", "The flowers are ordered at Bakery Sol.", false},
		{"Still to do: The staging certificate still has to be rotated.", "The staging certificate isn't rotated.", false},
		{"The staging certificate is rotated on Mondays.", "The staging certificate was rotated.", false},
		{"Feature flags of the app go through LaunchDarkly.", "I'm adding a feature flag to the app.", false},
	} {
		n := candidate{claim: &ken.Claim{Text: tt.old}}
		if !planned(tt.old, tt.new) {
			n.readChange(tt.new)
			if n.Relation == "" {
				n.judgeChange(tt.new, false)
			}
		}
		if (n.Relation != "") != tt.changes {
			t.Errorf("%q\n after %q: %q %s", tt.new, tt.old, n.Relation, n.Why)
		}
	}
}

// Statements that share no word are not about the same thing, however likely the model thinks that
// one replaces the other.
func TestConcerns(t *testing.T) {
	for _, tt := range []struct {
		before, after string
		want          bool
	}{
		{"We go jogging on Sunday.", "We bought a new car last week (the week of 16 November 2026).", false},
		{"We usually shop on Saturday morning.", "User: We moved to Grenoble last weekend (14 November 2026).", false},
		{"Unser Lager schließt freitags.", "Ich habe gestern ein Fahrrad gekauft.", false},
		{"We go jogging on Sunday.", "We go jogging on Saturday.", true},
		{"Unser Lager schließt freitags.", "Unser Lager schließt jetzt samstags.", true},
		{"The deploy day is Tuesday.", "The deploy day is Tuesday.", false},
	} {
		if got := concerns(tt.before, tt.after); got != tt.want {
			t.Errorf("%q after %q: %v", tt.after, tt.before, got)
		}
	}
}

// TestChangesWithinOneSession checks that a statement which surely says that something changed amends or replaces
// one of the same session, and that others leave it as it is.
func TestChangesWithinOneSession(t *testing.T) {
	said := func(id, text string, after time.Duration) ken.Claim {
		e := ken.FromUserStatement("s", "m"+id)
		e.FetchedAt = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC).Add(after)
		return ken.Claim{ID: id, Kind: ken.KindFact, Text: text, Session: "s", Status: ken.StatusObserved, Confidence: 0.8, CreatedAt: e.FetchedAt, Evidence: []ken.Evidence{e}}
	}
	for _, tt := range []struct {
		old, new string
		changes  bool
	}{
		{"User: Our office is in Berlin.", "User: Our office moved to Hamburg.", true},
		{"Mi proveedor de pescado es Mariscos Gómez.", "Hemos cambiado de proveedor: ahora es Pescados Ruiz.", true},
		{"Unser Steuerberater ist Herr Vogt.", "Wir haben den Steuerberater gewechselt, jetzt ist es Frau Lind.", true},
		{"We track issues in Jira.", "We switched to Linear for issues.", true},
		{"User: My bank is Sparkasse.", "User: I changed banks, it's ING now.", true},
		{"User: My car is a Skoda.", "User: I sold the Skoda, now I drive a Kia.", true},
		{"The wiki lives on Confluence.", "The wiki moved to Notion.", true},
		{"There is a deploy freeze until the audit is done.", "The deploy freeze is over.", true},

		{"User: Our office is in Berlin.", "User: Our warehouse moved to Hamburg.", false},
		{"User: Our office is in Berlin.", "User: My sister moved to Hamburg.", false},
		{"User: Our office is in Berlin.", "User: Our office may move to Hamburg.", false},
		{"User: Our office is in Berlin.", "User: Our office has a garden.", false},
		{"The login tests are failing on CI.", "The checkout tests are green now.", false},
		{"User: My manager is Karim.", "User: Sofia is my dentist now.", false},
		{"User: We go jogging on Sunday.", "User: We bought a new car last week.", false},
		{"Billing is owned by Ana.", "Search is owned by Ben now.", false},
		{"User: Emil is allergic to nuts.", "User: Jonas is now allergic to milk.", false},
		{"Unser Lager ist in Ulm.", "Unser Büro ist jetzt in Kempten.", false},
		{"We use Grafana for dashboards.", "We now use Loki for logs.", false},
		{"User: My parents live in Porto.", "User: My parents now have a dog.", false},
	} {
		fresh := said("", tt.new, time.Minute)
		if a := Plan(fresh, []ken.Claim{said("old", tt.old, 0)}); (len(a.Amend)+len(a.IDs) > 0) != tt.changes {
			t.Errorf("%q\n after %q: %s %q", tt.new, tt.old, a.Do, a.Reason)
		}
		fresh = said("", tt.old, 0)
		if a := Plan(fresh, []ken.Claim{said("new", tt.new, time.Minute)}); a.Do == Supersede || len(a.Amend) > 0 {
			t.Errorf("%q\n before %q: %s %q", tt.old, tt.new, a.Do, a.Reason)
		}
	}
}
