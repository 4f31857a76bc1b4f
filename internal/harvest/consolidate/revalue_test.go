package consolidate

import "testing"

// pairs of an earlier and a later statement; the value that the later one replaces, "" for none.
var valuePairs = []struct{ before, after, was string }{
	// The same attribute, whatever is said of the change.
	{"Our prod cluster runs Kubernetes 1.27.", "Since Saturday night prod is at Kubernetes 1.29", "1.27"},
	{"Three services here: verification on 8080, provisioning on 8888 and management on 8088.", "With TLS on by default the verification service got 8443.", "8080"},
	{"Three services here: verification on 8080, provisioning on 8888 and management on 8088.", "Provisioning: 9443.", "8888"},
	{"User: We have a lot of eggs in the fridge - 30 dozen at the moment!", "User: We've got 20 dozen eggs stocked up in the fridge right now.", "30 dozen"},
	{"standup's at 9:45", "the standup begins at 10:15 instead", "9:45"},
	{"Attachments are capped at 25 MB by the ingress.", "I set the cap on attachments to 60 MB", "25 MB"},
	{"staging lives on hetz-04", "hetz-04 had a dying disk, staging is on hetz-11 as of this morning", "hetz-04"},
	{"Le front tourne sous Node 18.", "le front est monté à Node 22 la semaine dernière, plus besoin de nvm", "18"},
	{"O limite de conexões do Postgres está em 100.", "subi o limite de conexões do Postgres pra 250 depois da queda de ontem", "100"},
	{"任务调度中心部署在 10.2.0.15。", "任务调度中心上周搬到了 10.2.0.31。", "10.2.0.15"},
	{"開発サーバーはポート3000で動いています。", "開発サーバーのポートは8001にしました。", "3000"},
	{"The retry limit of the mailer is 5.", "The mailer has a retry limit of 8.", "5"},
	{"Der Build dauert 12 Minuten.", "Der Build dauert 7 Minuten.", "12 Minuten"},
	{"The wiki is at docs.acme.io", "The wiki is at wiki.acme.io", "docs.acme.io"},
	{"Questions about the billing export go to Hanna.", "for anything on the billing export, Ruben is the one to ask from here on", "Hanna"},
	{"Um den Importer kümmert sich Frau Albers.", "Der Importer liegt inzwischen bei Herrn Yıldız", "Frau Albers"},
	{"The mailer is owned by Cy.", "The mailer is owned by Dee.", "Cy"},
	{"The influx container answers on 9999, that's the beta default.", "influx went back to 8086 with the final 2.0, nothing listens on 9999 any more", "9999"},
	{"I'm trying to plan out my project timeline and I have a deadline of April 1, 2024, for the first sprint.", "I'm trying to update my project timeline to reflect the new sprint deadline of April 5, 2024, but I'm stuck.", "April 1"},

	// Different things, lists, parts, places, negations, events.
	{"The EU cluster has 12 nodes.", "The US cluster has 20 nodes now.", ""},
	{"We support Python 3.11.", "We also support Python 3.13 now.", ""},
	{"We support Python 3.11.", "We support Python 3.13.", ""},
	{"The staging api runs on port 8443.", "The production api runs on port 9443.", ""},
	{"The staging api runs on port 8443.", "The api runs on port 9443.", ""},
	{"The api runs on port 8443.", "The staging api runs on port 9443 now.", ""},
	{"Postgres in production is 15.4.", "Postgres in staging is 16.2.", ""},
	{"The parser's timeout is 5 seconds.", "The parser's retry delay is 2 seconds.", ""},
	{"The login page loads in 900 ms on mobile.", "The login page loads in 400 ms on desktop.", ""},
	{"The orders table is partitioned by month.", "The events table is partitioned by day.", ""},
	{"The integration tests take 14 minutes.", "The unit tests take 3 minutes now.", ""},
	{"Backups of the wiki run at 02:00.", "Backups of the tracker run at 03:30.", ""},
	{"Emma's birthday is on 3 April.", "Emil's birthday is on 19 April.", ""},
	{"I ran the half marathon in Utrecht in 1:52.", "I ran the half marathon in Ghent in 1:49.", ""},
	{"I paid 40 euros for the gas.", "I paid 55 euros for the gas.", ""},
	{"My brother is 31.", "My brother's wife is 29.", ""},
	{"Die Kasse in Filiale Nord hat die Nummer 14.", "Die Kasse in Filiale Süd hat die Nummer 9.", ""},
	{"The meeting starts at 10:00.", "The meeting ends at 11:30.", ""},
	{"The freeze for 4.2 is on 12 June.", "The freeze for 4.3 is on 9 August.", ""},
	{"The api does not listen on 8080.", "The api listens on 8081.", ""},
	{"The api listens on 8080.", "The api could listen on 8081.", ""},
	{"The api listens on 8080.", "If the proxy is there, the api listens on 8081.", ""},
	{"The api talks to cache-01.", "The api talks to cache-02.", ""},
	{"The gateway depends on redis.", "The gateway depends on memcached.", ""},
	{"The replica runs on db-02.", "The primary runs on db-05.", ""},
	{"The first run takes 9 minutes.", "The second run takes 2 minutes.", ""},
	{"The dump is 40 GB.", "The dump takes 40 minutes.", ""},
	{"Alerts go to #pay-alerts.", "Deploys go to #pay-deploys.", ""},
	{"The import reads up to 500 rows a second.", "The import writes up to 300 rows a second.", ""},
	{"La réunion avec les parents est à 18h.", "La réunion avec les profs est à 17h.", ""},
	{"El turno de mañana empieza a las 8:00.", "El turno de tarde empieza a las 15:00.", ""},
	{"O servidor de testes usa a porta 8080.", "O servidor de produção usa a porta 9090.", ""},
	{"数据库端口是 5432。", "缓存端口是 6379。", ""},
	{"本番のポートは443です。", "検証のポートは8443です。", ""},
	{"Lunch with Aylin is on Tuesday.", "Lunch with Deniz is on Thursday.", ""},
	{"Room 2.14 holds 12 people.", "Room 0.03 holds 30 people.", ""},
	{"In May the bill was 120 euros.", "In June the bill was 140 euros.", ""},
	{"The worker keeps 3 retries.", "The worker keeps 3 retries and 2 threads.", ""},
	{"Ana: I have 2 cats.", "Ben: I have 3 cats.", ""},
	{"Version 2.3 came out on 3 May.", "Version 2.4 came out on 9 June.", ""},
	{"Node 1 has 16 GB.", "Node 2 has 32 GB.", ""},
	{"Gate A12 closes at 9:40.", "Gate B3 closes at 10:05.", ""},
	{"Lena owns the checkout frontend.", "Karim owns the checkout backend.", ""},
	{"Marta reviews the SQL migrations.", "Piet reviews the SQL migrations.", ""},
	{"Ana is on the platform team.", "Luca is on the platform team now.", ""},
	{"The mailer is owned by Cy.", "The auth service is owned by Dee.", ""},
	{"The mailer is owned by Cy.", "The mailer's tests are owned by Dee.", ""},
	{"Sofia approves pull requests in the terraform repo.", "Jorge approves pull requests in the helm repo.", ""},
	{"My brother works at Siemens.", "My brother's wife works at Bosch.", ""},
	{"We use Sentry for errors.", "We use Grafana for dashboards.", ""},
	{"The plugin works in Firefox.", "The plugin works in Safari, at last.", ""},
	{"Page size in the admin list is 50.", "Page size in the public list is 20 now.", ""},
	{"Im Büro in Kiel arbeiten 12 Leute.", "Im Büro in Bonn arbeiten 30 Leute.", ""},
	{"The first deploy of a week takes 20 minutes.", "A small deploy takes 4 minutes now.", ""},
	{"The crawler fetches 40 pages.", "The crawler renders 12 pages.", ""},
	{"Der Import liest 500 Zeilen.", "Der Import schreibt 300 Zeilen.", ""},
	{"Der Raum im Erdgeschoss hat 12 Stühle.", "Der Raum im Dachgeschoss hat 30 Stühle.", ""},
	{"The small plan has 5 seats.", "The large plan has 50 seats.", ""},
	{"Payments of number 5 are retried.", "Payments of number 6 are retried.", ""},
	{"Ticket 12 is closed.", "Ticket 13 is closed.", ""},
	{"Server 3 is down.", "Server 4 is down.", ""},
	{"db-02 is slow on Mondays.", "db-05 is slow on Mondays.", ""},
	{"Monday is a holiday.", "Tuesday is a holiday.", ""},
	{"Version 2.3 is deprecated.", "Version 2.4 is deprecated.", ""},
	{"PR 101 adds retries.", "PR 102 adds retries.", ""},
	{"The test covers issue 12.", "The test covers issue 13.", ""},
	{"Chapter 2 is about lists.", "Chapter 3 is about lists.", ""},
	{"Der Rechner 4 ist langsam.", "Der Rechner 5 ist langsam.", ""},
	{"La salle 4 est réservée.", "La salle 5 est réservée.", ""},
}

func TestRevalued(t *testing.T) {
	for _, p := range valuePairs {
		was := ""
		c, ok := replacedValue(p.before, p.after)
		if !ok {
			c, ok = (&laterStatement{text: p.after}).revalued(p.before)
		}
		if ok {
			was = p.before[c.was.from:c.was.to]
		}
		if was != p.was {
			t.Errorf("%q after %q replaces %q, want %q", p.after, p.before, was, p.was)
		}
	}
}
