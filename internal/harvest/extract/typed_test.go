package extract_test

import "testing"

func TestWordsAsPeopleTypeThem(t *testing.T) {
	checkSaid(t, [][2]string{
		{"dont rename the exported columns, finance builds reports on them", "instruction: User: Dont rename the exported columns, finance builds reports on them"},
		{"pls dont run migrations by hand", "instruction: User: Pls dont run migrations by hand"},
		{"u shouldnt restart the broker w/o asking the ops team", "instruction: User: U shouldnt restart the broker w/o asking the ops team"},
		{"you shouldnt mail suppliers from the script, anna has to agree first", "instruction: User: You shouldnt mail suppliers from the script, anna has to agree first"},
		{"btw im lactose-intolerant", "fact: User: Im lactose-intolerant"},
		{"keep commits small pls", "instruction: User: Keep commits small pls"},
		{"no wildcard imports pls", "instruction: User: No wildcard imports pls"},
		{"no force pushes on develop pls", "instruction: User: No force pushes on develop pls"},
		{"we use vitest", "fact: User: We use vitest"},

		{"lets go with sqlite for the cache", "decision: User: Lets go with sqlite for the cache"},
		{"im staging cluster läuft die version 4.2", "fact: Im staging cluster läuft die version 4.2"},
		{"we're getting married on 4 may in Faro", "fact: User: We're getting married on 4 may in Faro"},

		{"im getting a 502 on the invoices page of staging", ""},
		{"were seeing timeout errors on the orders page", ""},
		{"im on branch fix-invoices", ""},
		{"wtf is wrong with the invoices page", ""},
		{"dont merge this one, i have to look at the diff first", ""},
		{"thats weird", ""},
		{"cant you see it", ""},
		{"no idea pls", ""},
		{"keep it short pls", ""},
		{"ugh that again", ""},
	})
}

func TestOrdersThatLast(t *testing.T) {
	checkSaid(t, [][2]string{
		{"stop apologising", ""},
		{"stop apologising in every reply", "instruction: User: Stop apologising in every reply"},
		{"pls stop writing docstrings for tests", "instruction: User: Pls stop writing docstrings for tests"},
		{"make sure the imports are sorted in each file", "instruction: User: Make sure the imports are sorted in each file"},
		{"check with me before dropping tables", "instruction: User: Check with me before dropping tables"},
		{"if you bump the parser, regenerate the fixtures", "instruction: User: If you bump the parser, regenerate the fixtures"},
		{"remember i only review in the morning", "fact: User: I only review in the morning"},

		{"run the linter before each merge", "instruction: User: Run the linter before each merge"},
		{"please regenerate the client after every change", "instruction: User: Please regenerate the client after every change"},
		{"update the changelog with each release", "instruction: User: Update the changelog with each release"},

		{"ask Priya before you touch the billing schema", "instruction: User: Ask Priya before you touch the billing schema"},
		{"please check with the legal team before deleting customer data", "instruction: User: Please check with the legal team before deleting customer data"},

		{"keep the two environments identical", "instruction: User: Keep the two environments identical"},
		{"keep the docs in sync", "instruction: User: Keep the docs in sync"},
		{"actualiza el changelog con cada versión", "constraint: Actualiza el changelog con cada versión"},
		{"bitte keine Änderungen direkt auf main pushen", "constraint: Bitte keine Änderungen direkt auf main pushen"},
		{"actualiza el README con lo de antes", ""},
		{"keep the connection open", ""},

		{"ask Priya before lunch", ""},
		{"ask Priya whether the schema is final", ""},
		{"fix the footer on each page", ""},
		{"add a header to every file", ""},
		{"check it before every push", ""},
		{"run the linter before each merge, just this time", ""},
		{"stop the worker", ""},
		{"stop writing that", ""},
		{"make sure the server is up", ""},
		{"ask me before you start now", ""},
		{"if you change this, run it again", ""},
		{"if you touch the parser, tests break", ""},
	})
}

func TestLeadIns(t *testing.T) {
	checkSaid(t, [][2]string{
		{"alright, a bit of background before you begin. invoices are rendered with typst 0.12", "fact: Invoices are rendered with typst 0.12"},
		{"some notes to get you started, invoices are rendered with typst 0.12", "fact: Invoices are rendered with typst 0.12"},
		{"heads up: invoices are rendered with typst 0.12", "fact: Invoices are rendered with typst 0.12"},
		{"couple of things to know:\n- invoices are rendered with typst 0.12\n- customers live in the crm_people table", "fact: Invoices are rendered with typst 0.12 | fact: Customers live in the crm_people table"},
		{"some facts about the project.", ""},

		{"the context window of the summariser is 8000 tokens", "fact: The context window of the summariser is 8000 tokens"},
		{"Quick notes about Typst: it renders all invoices.", "fact: Quick notes about Typst: it renders all invoices."},
	})
}

func TestFactsWithinRequests(t *testing.T) {
	checkSaid(t, [][2]string{
		{"rewrite my bio pls, I left the Hamburg office in may", "fact: User: I left the Hamburg office in may"},
		{"can you fix the dockerfile - we're on alpine 3.20", "fact: User: We're on alpine 3.20"},
		{"why is the lint job red? we're on eslint 9 btw, and biome only formats", "fact: User: We're on eslint 9 btw, and biome only formats"},
		{"since the migration all invoices go through the ledger queue", "fact: Since the migration all invoices go through the ledger queue"},

		{"fix the health check, preview listens on 9443 since Monday", "fact: Preview listens on 9443 since Monday"},
		{"We moved the parser to Go 1.25 in May, please update the image", "fact: User: We moved the parser to Go 1.25 in May"},
		{"Invoices are rendered with typst 0.12, pls bump it in the lockfile", "fact: Invoices are rendered with typst 0.12"},

		{"look at the logs, nginx returns 502 on each call", ""},
		{"if the deploy hangs, please restart the runner", ""},
		{"explain the trace, i dont get it", ""},
		{"add a log line, i need to see the id", ""},
		{"And please don't call, only write, I'm at work until six.", "instruction: User: Please don't call, only write, I'm at work until six."},
		{"For internal use only.", ""},

		{"we live in Linz now, so recommend restaurants there", "fact: User: We live in Linz now"},
		{"good news, I got a job at Zalando!", "fact: User: I got a job at Zalando!"},
	})
}

// A new value behind a request to forget the old one is kept, though the old one was said in another session.
func TestValuesBehindARequestToForget(t *testing.T) {
	checkSaid(t, [][2]string{
		{"Forget that the exporter is written in Rust; it is Kotlin.", "fact: The exporter is written in Kotlin now."},
		{"please forget that the preview port is 8080, it's 9090", "fact: The preview port is 9090 now."},
		{"Forget the fact that Anna owns the importer; it's Ben", "fact: Ben owns the importer now."},
		{"Forget that the exporter is written in Rust.", ""},
		{"Forget that the exporter is written in Rust, please.", ""},
		{"Forget that my sister lives in Lyon, it's private.", ""},
	})
}

func TestCorrectionsAsPeopleTypeThem(t *testing.T) {
	checkSaid(t, [][2]string{
		{"builds run on travis || nvm its gitlab ci since march, travis is gone", "fact: Builds run on gitlab ci"},
		{"builds run on github actions || oops its buildkite", "fact: Builds run on buildkite"},
		{"backups run every friday || edit: saturday", "fact: Backups run every saturday"},
		{"the ttl of the cache is 5 min || its actually 20", "fact: The ttl of the cache is 20 min"},
		{"the pool has 20 connections || hold on, 40, just checked the chart", "fact: The pool has 40 connections"},
		{"the broker listens on 5672 and its admin page on 15672 || i told u wrong, the broker listens on 5671", "fact: The broker listens on 5671 and its admin page on 15672"},
		{"Backups run at 2 am and we keep 30 of them. || Sorry, wrong, we keep 14 of them.", "fact: User: Backups run at 2 am and we keep 14 of them."},

		{"builds run on travis || nvm, leave it", "fact: Builds run on travis"},
		{"the pool has 20 connections || edit the 40 lines above", "fact: The pool has 20 connections"},
	})
}

// A person gives the reason of a request behind it, or two statements with a semicolon between them.
func TestStatementsOfOneSentence(t *testing.T) {
	checkSaid(t, [][2]string{
		{"Sessions expire after 20 minutes; tokens are valid for a day.", "fact: Sessions expire after 20 minutes | fact: Tokens are valid for a day."},
		{"Orders go to Kafka; they are keyed by customer.", "fact: Orders go to Kafka; they are keyed by customer."},
		{"never deploy on Fridays; the support desk is closed at the weekend", "instruction: User: Never deploy on Fridays; the support desk is closed at the weekend"},
		{"restart the exporter, the config lives in /etc/exporter.d on mon-2", "fact: The config lives in /etc/exporter.d on mon-2"},
		{"ask in #infra first, Piotr owns the DNS zones", "fact: Piotr owns the DNS zones"},
		{"lgtm, but never squash the history of a release branch", "instruction: User: Never squash the history of a release branch"},
		{"use `just check`, the whole build takes half an hour", "instruction: User: Use `just check`, the whole build takes half an hour"},
		{"revert the commit, the pipeline is broken", ""},
		{"use the blue one, the red one is taken", ""},
	})
}

// Who owns something and what is used are worth knowing, however short.
func TestShortFactsOfAProject(t *testing.T) {
	checkSaid(t, [][2]string{
		{"Piotr owns the exporter", "fact: Piotr owns the exporter"},
		{"piotr took over the exporter in May", "fact: Piotr took over the exporter in May"},
		{"I use Emacs", "fact: User: I use Emacs"},
		{"we're on Kubernetes", "fact: User: We're on Kubernetes"},
		{"Postgres 16 on staging, 15 in production", "fact: Postgres 16 on staging, 15 in production"},
		{"he owns it", ""},
		{"I'm on it", ""},
		{"I'm on the phone", ""},
	})
}
