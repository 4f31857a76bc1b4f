package extract_test

import (
	"strings"
	"testing"
)

// A short answer is kept with the question that it answers, the last word of a message counts,
// and statements are read in six languages beside English.
func TestAnswersLastWordsAndLanguages(t *testing.T) {
	for _, tt := range []struct {
		name string
		said []string
		has  string
		not  string
	}{
		{"an answer", []string{"assistant: Which port does the preview server use locally?", "user: 4180"}, "Which port does the preview server use locally? Answer: 4180", ""},
		{"put off", []string{"assistant: Which port does the preview server use locally?", "user: later"}, "", "later"},
		{"an offer", []string{"assistant: Would you like to see the other pages?", "user: sure"}, "", "sure"},
		{"taken back", []string{"assistant: How many nodes may be down at once?", "user: two, no wait, one"}, "Answer: one", "two"},
		{"open", []string{"user: The rejection mails for Oslo still need to be written by Ana."}, "Still to do: ", ""},
		{"without capitals", []string{"user: go back. we stay on protoc 1.34.2 until the mobile team has shipped 9.0"}, "1.34.2", "go back"},
		{"German", []string{"user: Die Beträge in der Rechnung sind immer ganze Cent. Kannst du die Tests starten?"}, "ganze Cent", "Tests"},
		{"German last word", []string{"assistant: Ab wann darf die Wartung in der Nacht beginnen?", "user: 14 Uhr. Nein, warte: 12 Uhr."}, "12 Uhr", "14 Uhr"},
		{"French", []string{"user: La base de facturation tourne sur le serveur pg-fact-01. Merci beaucoup !"}, "pg-fact-01", "Merci"},
		{"Spanish", []string{"user: La fecha con la editora es el 30 de junio. ¿Me revisas el ritmo?"}, "30 de junio", "ritmo"},
		{"Portuguese", []string{"user: As amostras vão para o freezer a -80 em 4 horas. Obrigado!"}, "freezer", "Obrigado"},
		{"Chinese", []string{"user: 线上库禁止直接执行 DELETE，要走工单。帮我看一下日志。"}, "工单", "日志"},
		{"Japanese", []string{"user: 決済SDKは審査が通るまで4.3のまま据え置きです。原因を調べてください。"}, "4.3", "調べて"},
		{"an unread language", []string{"user: База данных для оплаты работает на сервере pg-01 в Осло."}, "", "pg-01"},
	} {
		got := strings.Join(taught(t, held(tt.said...)), "\n")
		if !strings.Contains(got, tt.has) || tt.not != "" && strings.Contains(got, tt.not) {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}

func TestOffersAreNoQuestions(t *testing.T) {
	checkSaid(t, [][2]string{
		{"Can you help me? || a: Of course! Want a meal plan? || Yes please. Our family has four people.", "fact: User: Our family has four people."},
		{"I'm planning my week. || a: Great. Want a shopping list? || Yes, go ahead.", ""},
		{"Our mascot lives in the Blue Room. || a: Do you want lunch? || Yes please, and my name is Sam.", "fact: User: Our mascot lives in the Blue Room. | fact: User: My name is Sam."},
		{"Hi || a: Need any dates in it? || no thanks", ""},
		{"Hi || a: Do you want the report weekly? || weekly, on Mondays", "fact: Do you want the report weekly? Answer: weekly, on Mondays"},
		{"Hi || a: Which plan does the team want? || the pro plan", "fact: Which plan does the team want? Answer: the pro plan"},
		{"Hi || a: Do you want dark mode? || Yes, dark mode everywhere", "fact: Do you want dark mode? Answer: Yes, dark mode everywhere"},
		{"Hi || a: Do we use yarn? || no", "fact: Do we use yarn? Answer: no"},
		{"Bonjour ! || a: Bonjour ! Que puis-je faire ? || La base de données est PostgreSQL 14.", "fact: La base de données est PostgreSQL 14."},
		{"Hallo || a: Hallo! Wie kann ich helfen? || Unser Lager schließt freitags um 14 Uhr.", "fact: Unser Lager schließt freitags um 14 Uhr."},
		{"Hola || a: ¿En qué puedo ayudarte? || Vivo en Valencia.", "fact: Vivo en Valencia."},
		{"Olá || a: Olá! Como posso ajudar? || O servidor fica em Lisboa.", "fact: O servidor fica em Lisboa."},
		{"你好 || a: 有什么可以帮您？ || 数据库在上海机房。", "fact: 数据库在上海机房。"},
		{"こんにちは || a: 何かお手伝いできますか？ || サーバーは大阪にあります。", "fact: サーバーは大阪にあります。"},
	})
}
