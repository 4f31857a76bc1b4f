package extract_test

import (
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/harvest/extract"
)

// checkSaid checks what is kept of each conversation: "sort: text", several of them joined with " | ". The
// messages of a conversation are separated by " || ", and "a: " starts one of the assistant.
func checkSaid(t *testing.T, tests [][2]string) {
	t.Helper()
	for _, tt := range tests {
		var messages []string
		for m := range strings.SplitSeq(tt[0], " || ") {
			if text, ok := strings.CutPrefix(m, "a: "); ok {
				messages = append(messages, "assistant: "+text)
			} else {
				messages = append(messages, "user: "+m)
			}
		}
		tr := held(messages...)
		d := extract.Draft(tr, extract.Options{})
		holds(t, tr, d, extract.Options{})
		var got []string
		for _, s := range d.Statements {
			got = append(got, string(s.Sort)+": "+s.Text)
		}
		if got := strings.Join(got, " | "); got != tt[1] {
			t.Errorf("%q\n got %q\nwant %q\n%v", tt[0], got, tt[1], d.Dropped)
		}
	}
}

func TestPoliteRules(t *testing.T) {
	checkSaid(t, [][2]string{
		{"could you please always run the linter before you commit", "instruction: User: Always run the linter before you commit"},
		{"I'd appreciate it if you never force-push to main", "instruction: User: Never force-push to main"},
		{"let's make sure we don't merge on Fridays", "decision: User: Let's make sure we don't merge on Fridays"},
		{"Would you please never store passwords in the repo?", "instruction: User: Never store passwords in the repo"},
		{"I'd like you to never book flights before 9am.", "instruction: User: Never book flights before 9am."},
		{"I'd be grateful if you never sent emails on Sundays.", "instruction: User: I'd be grateful if you never sent emails on Sundays."},
		{"Could you write the minutes in French from now on?", "instruction: User: Write the minutes in French from now on"},
		{"could you always answer in bullet points?", "instruction: User: Always answer in bullet points"},
		{"Let's never schedule calls on Wednesdays.", "instruction: User: Let's never schedule calls on Wednesdays."},
		{"We should always tag releases with a v.", "instruction: User: We should always tag releases with a v."},
		{"When you write SQL, always qualify the columns.", "instruction: User: When you write SQL, always qualify the columns."},

		{"could you please run the linter", ""},
		{"Would you never eat meat?", ""},
		{"Could you always run Linux on a Mac?", ""},
		{"can you check whether the job always fails?", ""},
		{"Could you please tell me why I always lose?", ""},
		{"Could you please never do that again?", ""},
		{"I'd appreciate it if you never did that again.", ""},
		{"I'd appreciate it if you fixed the build.", ""},
		{"I need you to fix it from now on.", ""},
		{"Will you always be there for me?", ""},
		{"In the morning, never a dull moment.", ""},
	})
}

func TestNounsAndOrders(t *testing.T) {
	checkSaid(t, [][2]string{
		{"Deploy to eu-west takes ten minutes.", "fact: Deploy to eu-west takes ten minutes."},
		{"Build artifacts go to the artifacts bucket.", "fact: Build artifacts go to the artifacts bucket."},
		{"Search runs on Elasticsearch 8.", "fact: Search runs on Elasticsearch 8."},
		{"Plan B uses the old API.", "fact: Plan B uses the old API."},
		{"Book club meets every second Thursday.", "fact: Book club meets every second Thursday."},
		{"Upload limits depend on the plan.", "fact: Upload limits depend on the plan."},
		{"Half the team works from Porto.", "fact: Half the team works from Porto."},
		{"Wrote the parser in Rust.", "fact: Wrote the parser in Rust."},
		{"Marta the designer lives in Oslo.", "fact: Marta the designer lives in Oslo."},

		{"Deploy the service to eu-west.", ""},
		{"Check that the deploy takes ten minutes.", ""},
		{"Review changes in the api folder.", ""},
		{"Design tables that hold orders.", ""},
		{"Search for files that use the old API.", ""},
		{"Make tests run faster.", ""},
		{"Scale the workers to 4.", ""},
		{"Kill the process on port 8080.", ""},
		{"Mock the payments client in the tests.", ""},
		{"Trim the images to 400 px.", ""},
	})
}

func TestManyShortSentences(t *testing.T) {
	plain := []string{"We ship the app on Tuesdays.", "The API is on port 8080.", "The database is Postgres 15.", "The owner of billing is Cy.", "Staging lives in eu-west-1.", "Logs go to Loki.",
		"The cache is Redis 7.", "Backups run at 02:00.", "The CI is Buildkite.", "The frontend is written in Svelte.", "The design lead is Mona.", "My desk is in Oslo."}
	if got := taught(t, held("user: "+strings.Join(plain, " "))); len(got) != len(plain) {
		t.Errorf("%d statements of %d sentences: %q", len(got), len(plain), got)
	}
	long := strings.Repeat("The committee, which met in Geneva in the spring of 1994, elected a chairman. ", 6) + strings.Repeat("Its members in Oslo and Lima had no vote on the budget of that year. ", 6)
	if got := taught(t, held("user: "+long)); len(got) > 3 {
		t.Errorf("a pasted article taught %q", got)
	}
}

func TestShortPersonalFacts(t *testing.T) {
	checkSaid(t, [][2]string{
		{"I'm vegetarian", "fact: User: I'm vegetarian"},
		{"my daughter is called Ida", "fact: User: My daughter is called Ida"},
		{"allergic to nuts", "fact: User: Allergic to nuts"},
		{"vegan since 2019", "fact: User: Vegan since 2019"},
		{"I'm not vegan", "fact: User: I'm not vegan"},
		{"I'm an architect", "fact: User: I'm an architect"},
		{"we have three kids", "fact: User: We have three kids"},
		{"I'm left-handed", "fact: User: I'm left-handed"},
		{"I'm 61.", "fact: User: I'm 61."},
		{"I work nights", "fact: User: I work nights"},

		{"I'm tired", ""},
		{"I'm in a hurry", ""},
		{"I'm a mess", ""},
		{"I'm a fan", ""},
		{"I'm on it", ""},
		{"I'm 5", ""},
		{"I have two questions", ""},
		{"blind test", ""},
		{"single page", ""},
		{"Thanks for that. Allergic to nuts.", ""},
	})
}

// What is left to do is a task and no rule, and where something goes each time is a rule and no task.
func TestTasksAndRules(t *testing.T) {
	checkSaid(t, [][2]string{
		{"The parish newsletter still needs to be printed, but Otto does that.", "fact: Still to do: The parish newsletter still needs to be printed, but Otto does that."},
		{"The greenhouse roof still has to be repaired, the neighbours lend us a ladder.", "fact: User: Still to do: The greenhouse roof still has to be repaired, the neighbours lend us a ladder."},
		{"The deposit has to go to my savings account, not to the card.", "constraint: User: The deposit has to go to my savings account, not to the card."},
		{"Crash dumps have to go to the Sentry project of the mobile team.", "fact: Crash dumps have to go to the Sentry project of the mobile team."},
		{"The visa form has to go to the embassy in Bern by Friday.", "fact: Still to do: The visa form has to go to the embassy in Bern by Friday."},
		{"The mailboxes must be emptied at least once a week by the Oslo team.", "constraint: The mailboxes must be emptied at least once a week by the Oslo team."},
	})
}

func TestWhatEnded(t *testing.T) {
	checkSaid(t, [][2]string{
		{"I'm not vegetarian any more.", "fact: User: I'm not vegetarian any more."},
		{"I am not vegan anymore.", "fact: User: I am not vegan anymore."},
		{"I'm no longer single.", "fact: User: I'm no longer single."},
		{"I'm not a nurse any longer.", "fact: User: I'm not a nurse any longer."},
		{"Rex died last month.", "fact: Rex died last month (February 2026)."},
		{"My dog Rex died.", "fact: User: My dog Rex died."},
		{"Bob left the company.", "fact: Bob left the company."},
		{"Lena Vogt has left the team.", "fact: Lena Vogt has left the team."},
		{"Our manager Tom retired.", "fact: User: Our manager Tom retired."},
		{"Our cat passed away in May.", "fact: User: Our cat passed away in May."},
		{"Priya was laid off last week.", "fact: Priya was laid off last week (the week of 23 February 2026)."},

		{"Mara is no longer vegan.", "fact: Mara is no longer vegan."},
		{"Sara left the company.", "fact: Sara left the company."},

		{"I'm not hungry any more.", ""},
		{"I'm not tired anymore.", ""},
		{"I'm not sure any more.", ""},
		{"Jenkins died.", ""},
		{"Jenkins died last night.", ""},
		{"My phone died.", ""},
		{"My laptop died last week.", ""},
		{"The server died last month.", ""},
		{"Bob left a comment.", ""},
		{"Bob left the meeting.", ""},
		{"Everybody left the company.", ""},
		{"He left the team.", ""},
		{"Nobody was fired.", ""},
		{"Somebody died last week.", ""},
		{"Did Bob leave the company?", ""},
		{"Imagine Bob left the company.", ""},
		{"If Bob left the company, who would know?", ""},
		{"Maybe Bob left the company.", ""},
	})
}

func TestWhatOthersAreAndLike(t *testing.T) {
	checkSaid(t, [][2]string{
		{"Sara hates mushrooms.", "fact: Sara hates mushrooms."},
		{"Nina can't stand Kraftwerk.", "fact: Nina can't stand Kraftwerk."},
		{"Otto doesn't eat pork.", "fact: Otto doesn't eat pork."},
		{"My brother loves jazz.", "fact: User: My brother loves jazz."},
		{"Emil is vegetarian.", "fact: Emil is vegetarian."},
		{"Rob is a vegetarian now.", "fact: Rob is a vegetarian now."},
		{"My boss is a runner.", "fact: User: My boss is a runner."},
		{"My dog Bello is deaf.", "fact: User: My dog Bello is deaf."},

		{"Otto loves it.", ""},
		{"Sara likes the idea.", ""},
		{"Rob hates me.", ""},
		{"My cat loves you.", ""},
		{"Lena is tired.", ""},
		{"Rob is a bit of a nerd.", ""},
		{"My friend is a mess.", ""},
		{"My printer is deaf.", ""},
		{"The pod is single.", ""},
		{"Nobody is single.", ""},
		{"He is vegan.", ""},
		{"Imagine Sara hates mushrooms.", ""},
		{"Who hates mushrooms?", ""},
	})
}

func TestAskingFirst(t *testing.T) {
	checkSaid(t, [][2]string{
		{"If the budget exceeds 500 euros, ask me first.", "instruction: User: If the budget exceeds 500 euros, ask me first."},
		{"When a customer wants a refund, check with me first.", "instruction: User: When a customer wants a refund, check with me first."},
		{"Whenever a supplier raises a price, wait for my approval.", "instruction: User: Whenever a supplier raises a price, wait for my approval."},
		{"You can book trains without asking, but flights need my approval.", "instruction: User: You can book trains without asking, but flights need my approval."},
		{"You are allowed to restart the worker without my approval.", "instruction: User: You are allowed to restart the worker without my approval."},
		{"Could you please remember that our lease ends on 3 May 2028?", "fact: User: Our lease ends on 3 May 2028"},
		{"Please remember: the greenhouse key hangs in the shed.", "fact: The greenhouse key hangs in the shed."},
		{"Please note: our dentist is closed on Fridays.", "fact: User: Our dentist is closed on Fridays."},
		{"Keep in mind: never prune the roses in winter.", "instruction: User: Never prune the roses in winter."},
		{"Remember the Milk is our task app in Oslo.", "fact: User: Remember the Milk is our task app in Oslo."},
		{"Could you remind me that my passport expires on 14 March 2027?", "fact: User: My passport expires on 14 March 2027"},
		{"Keep British spelling and past tense throughout.", "instruction: User: Keep British spelling and past tense throughout."},
		{"The API key header is X-Api-Key.", "fact: The API key header is X-Api-Key."},
		{"The password manager is Bitwarden.", "fact: The password manager is Bitwarden."},
		{"Can you please keep in mind that Lena is allergic to nuts?", "fact: Lena is allergic to nuts"},

		{"If it fails, ask me first.", ""},
		{"If you have questions, ask me first.", ""},
		{"If anything is unclear, ask me.", ""},
		{"If the migration fails, ask me what to do.", ""},
		{"When you are done, ask me first.", ""},
		{"You can do that without asking.", ""},
		{"You may restart it without asking.", ""},
		{"You can go now without asking me.", ""},
		{"Could you remember that time we went to Rome?", ""},
		{"Could you remind me that one name?", ""},
		{"Could you remind me that it is broken?", ""},
		{"Could you remind me to call Oslo?", ""},
		{"Keep going throughout the night.", ""},
		{"The API key header is sk-1234abc.", ""},
		{"The API key header value is abc-def.", ""},
		{"The password is hunter.", ""},
		{"The token is stored in Vault.", ""},
		{"Could you please remember to buy milk?", ""},
		{"Could you please remember that it is broken?", ""},
		{"Could you remember what I said about Rome?", ""},
	})
}

// What holds only now, and what is made up, is no knowledge.
func TestOnlyNow(t *testing.T) {
	checkSaid(t, [][2]string{
		{"For this task only: skip the slow tests, the train leaves soon.", ""},
		{"Just this once, we ship to Norway.", ""},
		{"We pay the invoice of Nordwind by cheque, just this once.", ""},
		{"For this session only, my name is Gandalf.", ""},
		{"Just for today, we deploy from the release branch.", ""},
		{"Nur dieses eine Mal liefern wir am Freitag nach Ulm.", ""},
		{"Für diese Aufgabe: überspring die langsamen Tests.", ""},
		{"Juste cette fois, on livre le vendredi à Lyon.", ""},
		{"Pour cette tâche seulement, on saute les tests lents.", ""},
		{"Solo por esta vez, entregamos el viernes en Madrid.", ""},
		{"Só desta vez, entregamos na sexta em Lisboa.", ""},
		{"今回だけ金曜日にデプロイします。", ""},
		{"For this task only:\n- skip the slow tests\n- write to /tmp/out", ""},
		{"For this session only:\n- the tests of the billing service run in Oslo\n- the worker of the mail queue sleeps for five seconds", ""},

		{"Never skip the tests of the billing service, not even for this task.", "instruction: User: Never skip the tests of the billing service, not even for this task."},
		{"Only this time zone is supported: Europe/Oslo.", "fact: Only this time zone is supported: Europe/Oslo."},
		{"For this project we use Go 1.24.", "fact: User: For this project we use Go 1.24."},
		{"Nur dieses Lager schließt freitags um 14 Uhr.", "fact: Nur dieses Lager schließt freitags um 14 Uhr."},
		{"Diesmal haben wir den Vertrag mit Nordwind verlängert.", "fact: Diesmal haben wir den Vertrag mit Nordwind verlängert."},
		{"Para esta oficina pagamos 900 euros en Madrid.", "fact: Para esta oficina pagamos 900 euros en Madrid."},
	})
}

func TestMadeUp(t *testing.T) {
	checkSaid(t, [][2]string{
		{"Imagine you are a wizard. My castle is in Narnia.", ""},
		{"Ok imagine you're a pirate. My ship is the Black Gull and I sail from Tortuga.", ""},
		{"Let's play a role play. My name is Gandalf and I live in Moria.", ""},
		{"Pretend to be my landlord. I live in Moria and pay 300 gold coins.", ""},
		{"Stell dir vor, du bist ein Pirat. Mein Schiff heißt Möwe.", ""},
		{"Imagine que tu es un magicien. Mon château est à Narnia.", ""},
		{"Imagina que eres un pirata. Mi barco se llama Gaviota.", ""},
		{"Imagine que você é um pirata. Meu navio se chama Gaivota.", ""},
		{"我们来玩角色扮演。我叫甘道夫，住在莫里亚。", ""},
		{"ロールプレイをしましょう。私の名前はガンダルフです。モリアに住んでいます。", ""},
		{"Let's play a role play.\nPorts of my castle:\n- gate: 8080\n- tower: 8090", ""},
		{"As an example, a customer says: my card was declined.", ""},
		{"Zum Beispiel sagt ein Kunde: meine Karte wurde abgelehnt.", ""},
		{"Par exemple, un client dit : ma carte a été refusée.", ""},

		{"My passport expires on 14 March 2027. Imagine you are at the border without one.", "fact: User: My passport expires on 14 March 2027."},
		{"I imagine you are busy. My passport expires on 14 March 2027.", "fact: User: My passport expires on 14 March 2027."},
		{"Imagine my surprise. Our office moved to Hamburg.", "fact: User: Our office moved to Hamburg."},
		{"Act as a code reviewer. We use tabs in the billing service.", "fact: User: We use tabs in the billing service."},
		{"My role-play group meets on Thursdays in Ghent.", "fact: User: My role-play group meets on Thursdays in Ghent."},
		{"我们的角色扮演小组每周四在根特聚会。", "fact: 我们的角色扮演小组每周四在根特聚会。"},
		{"Zum Beispiel läuft der Rechnungsdienst auf dem Server Kronos.", "fact: Zum Beispiel läuft der Rechnungsdienst auf dem Server Kronos."},
	})
}

func TestWishesAndHearsay(t *testing.T) {
	checkSaid(t, [][2]string{
		{"I wish we had Kubernetes", ""},
		{"I wish the build took less than 5 minutes", ""},
		{"imagine we moved to Rust", ""},
		{"lol the server is made of cheese", ""},
		{"someone said the API is down", ""},
		{"If we moved to Rust, the build would take 10 minutes.", ""},
		{"I heard the office moves to Berlin.", ""},
		{"People say the old API is faster.", ""},
		{"Somebody told me the vault is in Zurich.", ""},
		{"just kidding, the database is Postgres", ""},
		{"One day we move the blog to Hugo.", ""},

		{"Marta said the port is 9090.", "fact: Marta said the port is 9090."},
		{"According to the docs, the limit is 500.", "fact: According to the docs, the limit is 500."},
		{"The words we heard in Porto were Galician.", "fact: User: The words we heard in Porto were Galician."},
		{"If the primary fails, the replica must take over.", "constraint: If the primary fails, the replica must take over."},
		{"The wish list of the team is in Notion.", "fact: The wish list of the team is in Notion."},
	})
}

func TestPastOutages(t *testing.T) {
	checkSaid(t, [][2]string{
		{"Production was down for two hours on Monday.", ""},
		{"The VPN dropped out for an hour.", ""},
		{"The build broke after the merge.", ""},
		{"The wiki was offline all weekend.", ""},
		{"Redis crashed at 3am.", ""},
		{"Our mail server went down last Friday.", ""},
		{"CI was red for most of Tuesday.", ""},
		{"you are great at this", ""},
		{"you said that already", ""},

		{"Production was down on Monday because the disk of db-2 was full.", "fact: Production was down on Monday because the disk of db-2 was full."},
		{"We had an outage on 3 May because the certificate expired.", "fact: User: We had an outage on 3 May because the certificate expired."},
		{"The nightly backup goes down to tape at 02:00.", "fact: The nightly backup goes down to tape at 02:00."},
		{"The API must be down for at most 5 minutes a month.", "constraint: The API must be down for at most 5 minutes a month."},
		{"The price was down to 40 euros in May.", "fact: The price was down to 40 euros in May."},
		{"The old office was closed down in 2021.", "fact: The old office was closed down in 2021."},
	})
}

func TestShortSentencesOfOtherLanguages(t *testing.T) {
	checkSaid(t, [][2]string{
		{"Wir deployen donnerstags.", "fact: Wir deployen donnerstags."},
		{"Antworte immer auf Deutsch.", "constraint: Antworte immer auf Deutsch."},
		{"Ich bin Vegetarier.", "fact: Ich bin Vegetarier."},
		{"Nunca subas a main sin revisión.", "constraint: Nunca subas a main sin revisión."},
		{"Vivo en Sevilla.", "fact: Vivo en Sevilla."},
		{"Le port est 8081.", "fact: Le port est 8081."},
		{"J'habite à Lyon.", "fact: J'habite à Lyon."},
		{"Moro em Lisboa.", "fact: Moro em Lisboa."},
		{"我们用 pnpm。", "fact: 我们用 pnpm。"},
		{"我住在上海。", "fact: 我住在上海。"},
		{"我吃素。", "preference: 我吃素。"},
		{"请始终用中文回答。", "constraint: 请始终用中文回答。"},

		{"Ich bin müde.", ""},
		{"Ich weiß nicht.", ""},
		{"Siempre igual.", ""},
		{"Soy yo.", ""},
		{"C'est bon.", ""},
		{"Estou aqui.", ""},
		{"没问题。", ""},
		{"我知道了。", ""},
		{"我来了。", ""},
	})
}

func TestPeopleWhoWriteWithoutCapitals(t *testing.T) {
	checkSaid(t, [][2]string{
		{"we deploy on thursdays", "fact: User: We deploy on thursdays"},
		{"my name is sam. we deploy on tuesdays.", "fact: User: My name is sam. | fact: User: We deploy on tuesdays."},
		{"the staging db is called kestrel. it runs on port 5433. my name is sam and i live in oslo. we deploy on tuesdays", "fact: The staging db is called kestrel. it runs on port 5433. | fact: User: My name is sam and i live in oslo. | fact: User: We deploy on tuesdays"},
		{"ok, he fixed it. the backup job runs on host kronos.", "fact: The backup job runs on host kronos."},
		{"done, she fixed it. we increased the volume to 500Gi. the disk is ssd.", "fact: User: We increased the volume to 500Gi."},
		{"unser lager schließt freitags um 14 uhr. das tor bleibt zu.", "fact: Unser lager schließt freitags um 14 uhr."},
		{"das kostet ca. fünf euro, bzw. das doppelte.", "fact: Das kostet ca. fünf euro, bzw. das doppelte."},
		{"use approx. five of them, e.g. foo or bar", ""},
		{"thanks, that was helpful", ""},
		{"i think it looks good", ""},
		{"it works now", ""},
		{"let me check that tomorrow", ""},
		{"makes sense to me", ""},
		{"lunch was good", ""},
	})
}

// "do", "to" and "I" are words of Polish as well.
func TestEnglishWithDoAndTo(t *testing.T) {
	const other = "in a language that is not read"
	for text, want := range map[string]int{
		"Which cluster do I deploy to?":                            0,
		"To which cluster do I deploy?":                            0,
		"How do I restart Redis?":                                  0,
		"Do deploy to cluster Oslo via Argo.":                      0,
		"Serwer nie jest w chmurze, jest na maszynie w Gdańsku.":   1,
		"Kopie zapasowe są na dysku i nie ma ich w innym miejscu.": 1,
	} {
		if d := extract.Draft(held("user: "+text), extract.Options{}); d.Dropped[other] != want {
			t.Errorf("%q: %v", text, d.Dropped)
		}
	}
}

func TestEndOfALongMessage(t *testing.T) {
	tr := held("user: " + strings.Repeat("Rain fell. Bo left. Ann sang. ", 25) + "The greenhouse opens at 04:40.")
	d := extract.Draft(tr, extract.Options{})
	if len(d.Statements) != 1 || d.Statements[0].Text != "The greenhouse opens at 04:40." || d.Dropped["not read"] != 16 {
		t.Errorf("%+v, left out: %v", d.Statements, d.Dropped)
	}
}
