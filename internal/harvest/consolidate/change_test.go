package consolidate

import "testing"

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
	} {
		c, ok := replacedValue(tt.old, tt.new)
		if got := tt.old[c.was.from:c.was.to]; ok != (tt.want != "") || got != tt.want {
			t.Errorf("%q\n after %q: %q, want %q", tt.new, tt.old, got, tt.want)
			t.Logf("%+v | %+v", valuesOf(tt.old), valuesOf(tt.new))
		}
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
