package reading_test

import (
	"testing"

	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

// Half of these sentences were set aside until the words of orders were written.
func TestOrdersEachTime(t *testing.T) {
	for _, s := range []string{
		"No toques la carpeta vendor, la genera el script.",
		"No hagas commits directos a main.",
		"Ejecuta make lint antes de cada commit.",
		"No borres datos de producción sin preguntar.",
		"Pregúntame antes de instalar dependencias nuevas.",
		"No uses console.log en el código del servidor.",
		"Actualiza el changelog con cada versión.",
		"No modifiquéis el esquema sin una migración.",
		"Ne touche pas au dossier legacy, c'est généré.",
		"Lance make lint avant chaque commit.",
		"Ne fais pas de commits directement sur main.",
		"Ne supprime rien en production sans demander.",
		"Demande-moi avant d'installer une dépendance.",
		"N'utilisez pas console.log dans le code du serveur.",
		"Mets à jour le changelog à chaque version.",
		"Ne modifiez pas le schéma sans migration.",
		"Fass den Ordner legacy nicht an, der wird generiert.",
		"Vor jedem Commit make lint laufen lassen.",
		"Bitte keine Änderungen direkt auf main pushen.",
		"Lösche nichts in der Produktion, ohne zu fragen.",
		"Frag mich, bevor du neue Abhängigkeiten installierst.",
		"Benutze kein console.log im Servercode.",
		"Aktualisiere das Changelog bei jeder Version.",
		"Não mexa na pasta vendor, ela é gerada.",
		"Rode make lint antes de cada commit.",
		"Não faça push direto na main.",
		"Não apague dados de produção sem perguntar.",
		"Pergunte antes de instalar dependências novas.",
		"Não use console.log no código do servidor.",
		"Atualize o changelog a cada versão.",
		"Não altere o esquema sem uma migração.",
	} {
		if !reading.OrdersEachTime(s) {
			t.Errorf("%q is an order for each time", s)
		}
	}
	for _, s := range []string{
		"", "No.", "Ne", "Bitte", "Keine Sorge wegen der Tests.", "Never push to main.",
		"Nicht alle Tests laufen.", "Keine Container laufen.", "No todas las tablas tienen un índice.", "No tienes que hacer nada de eso.", "Não precisas fazer isso na main.",
		"Das Team der Firma testet nichts davon.",
		"No funciona el login desde ayer.",
		"No tienes acceso a ese repositorio.",
		"Ejecuta las pruebas y dime qué falla.",
		"No toques nada por ahora.",
		"No sabes cuánto me costó encontrarlo.",
		"Actualiza el README con lo de antes.",
		"Ne t'inquiète pas, ça arrive.",
		"Lance les tests et dis-moi ce qui échoue.",
		"Ne touche à rien pour l'instant.",
		"Je ne comprends pas pourquoi ça plante.",
		"N'oublie pas de relancer le serveur maintenant.",
		"Mets à jour le README avec ça.",
		"Fass erstmal nichts an.",
		"Mach dir keine Sorgen.",
		"Führ die Tests aus und sag mir, was fehlschlägt.",
		"Ich verstehe nicht, warum das abstürzt.",
		"Vergiss nicht, heute den Server neu zu starten.",
		"Der Login geht seit gestern nicht.",
		"Não funciona o login desde ontem.",
		"Não se preocupe com isso.",
		"Rode os testes e me diga o que falha.",
		"Não mexa em nada por enquanto.",
		"Não sei por que isso quebra.",
		"Atualize o README com isso.",
	} {
		if reading.OrdersEachTime(s) {
			t.Errorf("%q is no order for each time", s)
		}
	}
}
