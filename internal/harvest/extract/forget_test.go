package extract

import (
	"slices"
	"strings"
	"testing"
)

// A request to forget is recognised in each language, and what it names is read from it.
func TestAskingToForget(t *testing.T) {
	for text, want := range map[string]string{
		"Please forget my passport date, I don't want you to store that.": "passport",
		"Forget what I said about Pierre being vegetarian.":               "pierr vegetarian",
		"Please disregard what I told you about invoices.":                "invoic",
		"Forget the rule about lowercase error messages.":                 "lowercas error messag",
		"Can you forget my home address?":                                 "home address",
		"Ok, forget that I live in Lyon.":                                 "live lyon",
		"Ignore everything I said about the staging host earlier.":        "stage host",
		"Forget Karim's phone number.":                                    "karim phone",
		"Forget the date of my wedding because it is private.":            "wed",
		"Please don't remember my salary.":                                "salari",
		"Delete my bank details from your memory.":                        "bank",
		"Scratch what I said about Dr. Huber.":                            "dr huber",
		"Vergiss das mit 13 Uhr.":                                         "13 uhr",
		"Bitte vergiss, was ich über Karim gesagt habe.":                  "karim",
		"Kannst du bitte meine Adresse vergessen?":                        "adress",
		"Vergiss mein Passdatum.":                                         "passdatum",
		"Vergiss das bitte.":                                              "",
		"Oublie ce que j'ai dit sur Karim.":                               "karim",
		"S'il te plaît, oublie mon adresse.":                              "adress",
		"Tu peux oublier la règle sur les migrations ?":                   "migrat",
		"Oublie ça.":                                  "",
		"Olvida lo de mi hija, por favor.":            "hija",
		"Por favor, olvida lo que te dije de Andrés.": "andr",
		"Olvida mi dirección.":                        "direccion",
		"Esquece o que eu disse sobre o Rui.":         "rui",
		"Por favor, esqueça meu endereço.":            "endereco",
		"パスポートの日付は忘れてください。":                           "*",
		"请忘掉我的地址。":                                    "*",
		"把我说的关于发票的事忘掉吧。":                              "*",
	} {
		s := sentences(text)
		r, _, ok := asksToForget(&s[0])
		if !ok || want == "*" && len(r.terms) == 0 || want != "*" && strings.Join(r.terms, " ") != want {
			t.Errorf("%q: %v %q, want %q", text, ok, r.terms, want)
		}
	}
	for _, text := range []string{
		"Don't forget my sister's birthday.", "I always forget my keys.", "Forget the tests, we ship today.", "I forgot what I said about the port.",
		"Forget Redis, we use Valkey now.", "Ignore the warnings of the linter in my branch.", "Delete my branch after the merge.", "Remove the cache from memory.",
		"Never forget to lock my screen.", "The service must not forget my session.", "Ignore what the linter says about tabs.", "Forget what I need to do about that.",
		"Disregard the part of the log that I marked.", "Erase my disk.", "I don't remember my password hint.", "Forgetting what I said about it would be fine.",
		"Vergiss meine Tasche nicht.", "Vergiss nicht, dass ich Urlaub habe.", "Ich habe meine Adresse vergessen.", "Bitte nicht vergessen, das Lager schließt um 13 Uhr.",
		"N'oublie pas mon sac.", "Oublie pas mon rendez-vous.", "J'oublie toujours mon adresse.", "Mon chef oublie ses réunions.",
		"No olvides mi cumpleaños.", "Mi hija olvida su mochila.", "No olvide mi pasaporte.", "Não esqueça meu aniversário.", "Eu sempre esqueço meu guarda-chuva.",
		"パスポートを忘れないでください。", "鍵を忘れていました。", "我忘了带钥匙。", "别忘了我的生日。", "不要忘记我的地址。",
	} {
		for _, s := range sentences(text) {
			if r, _, ok := asksToForget(&s); ok {
				t.Errorf("%q is taken for a request to forget %q", text, r.terms)
			}
		}
	}
}

// What a request names has its words, and a date where it asks for one.
func TestAForgetRequestNames(t *testing.T) {
	for _, tt := range []struct {
		request string
		yes, no []string
	}{
		{"Please forget my passport date.", []string{"My passport expires on 14 March 2027."}, []string{"My passport is blue.", "The release is on 14 March."}},
		{"Forget what I said about Pierre being vegetarian.", []string{"My husband Pierre is vegetarian."}, []string{"Pierre lives in Lyon.", "Emil is vegetarian."}},
		{"Vergiss das mit 13 Uhr.", []string{"Das Lager schließt um 13 Uhr."}, []string{"Das Lager schließt um 14 Uhr."}},
		{"Forget the rule about lowercase error messages.", []string{"Error messages are lowercase without trailing period."}, []string{"Messages are queued."}},
		{"Forget that.", nil, []string{"My passport expires on 14 March 2027.", ""}},
	} {
		s := sentences(tt.request)
		r, _, _ := asksToForget(&s[0])
		for _, text := range slices.Concat(tt.yes, tt.no) {
			if got, want := r.Names(text), slices.Contains(tt.yes, text); got != want {
				t.Errorf("%q names %q: %v", tt.request, text, got)
			}
		}
	}
}
