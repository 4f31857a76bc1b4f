package reading

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/analysis"
)

// tongue is a language whose function words the rules know.
type tongue uint8

const (
	english tongue = iota // also every language without lists
	german
	french
	spanish
	portuguese
	tongues
)

// littleWords holds function words, which are part of no name, by language. A noun follows
// those in articles.
var littleWords = [tongues]struct{ articles, others string }{
	german: {`der die das den dem des ein eine einen einem einer eines unser unsere unseren unserem unserer mein meine meinen meinem dein deine sein seine ihr ihre kein keine keinen jeder jede jedes jeden alle allen dieser diese dieses diesen diesem beide beides`,
		`und oder aber denn weil dass daß wenn als wie wo was wer ich du er sie es wir ihr mich mir dich dir ihn ihm uns euch ist sind war waren wird werden wurde wurden hat haben hatte hatten bin bist kann können konnte muss müssen soll sollen sollte darf dürfen
		will wollen möchte mag macht machen geht gehen kommt kommen bleibt bleiben gibt läuft laufen steht liegt heißt heisst fehlt fehlen gilt nutzen verwenden in im an am auf aus bei mit nach von vom zu zum zur für durch gegen ohne um über unter vor hinter neben zwischen seit bis ab
		nicht nie niemals immer noch schon nur auch so doch mal ja nein nee okay danke bitte also übrigens vielleicht leider sehr mehr weniger ganz dann jetzt heute morgen gestern hier da dort dazu davon darin dafür sobald bevor nachdem damit sonst ungefähr etwa pro je sich man nichts alles etwas neu neue neuen alt alte alten hallo moin
		wann warum wieso weshalb woher wohin welche welcher welches welchen welchem wieviel wieviele wen wem hast habt seid bist magst willst kannst könnt`},
	french: {`le la les l un une des du de d mon ma mes ton ta tes son sa ses notre nos votre vos leur leurs ce cet cette ces chaque tout toute tous toutes aucun aucune`,
		`et ou mais donc or ni car que qui quoi dont où si comme quand je j tu il elle on nous vous ils elles me te se lui y en est sont était étaient sera seront être a ont avait avoir fait font faire va vont aller reste restent peut peuvent doit doivent faut veut veulent tourne passe passent
		à au aux dans par pour sur sous sans avec chez vers entre avant après depuis pendant contre jusqu ne n pas plus jamais rien personne toujours encore déjà aussi très bien trop peu moins là ici maintenant aujourd hui hier demain ah oui non ok merci bonjour salut voilà alors puis ensuite enfin même lors environ c s qu m t ça cela ceci celui celle ceux soit quoi
		quel quelle quels quelles comment pourquoi combien as avez êtes`},
	spanish: {`el la los las un una unos unas lo mi mis tu tus su sus nuestro nuestra nuestros nuestras este esta estos estas ese esa esos esas aquel aquella cada todo toda todos todas ningún ninguna otro otra`,
		`y e o u pero sino porque que quien cual cuando donde como si yo tú él ella nosotros ellos ellas me te se le les nos es son era eran fue fueron será serán ser está están estaba estar ha han había haber hay hace hacen hacer va van ir queda quedan sigue siguen puede pueden debe deben quiere tiene tienen pasa pasan
		a al de del en con por para sin sobre entre desde hasta hacia según contra durante tras ante no ni nunca nada nadie siempre también ya muy más menos bien solo sólo aún todavía ahora hoy ayer mañana aquí ahí allí sí vale gracias hola bueno pues luego después antes así además unos cuento pendiente novedad
		qué quién quiénes cuál cuáles cuándo dónde cómo cuánto cuánta cuántos cuántas algún alguna eso esto tienes quieres hagas toques borres modifiques subas pongas metas`},
	portuguese: {`o a os as um uma uns umas meu minha meus minhas teu tua seu sua seus suas nosso nossa nossos nossas este esta estes estas esse essa esses essas aquele aquela cada todo toda todos todas nenhum nenhuma outro outra`,
		`e ou mas porque que quem qual quando onde como se eu tu você ele ela nós vocês eles elas me te lhe nos é são era eram foi foram será ser está estão estava estar tem têm tinha ter há faz fazem fazer vai vão ir fica ficam pode podem deve devem quer passa passam falta faltam
		à ao aos às de do da dos das em no na nos nas num numa com por pelo pela para pra pro sem sobre entre desde até contra durante não nem nunca nada ninguém sempre também já muito mais menos bem só apenas ainda agora hoje ontem amanhã aqui aí ali lá sim obrigado obrigada olá então depois antes assim além gente lo beleza
		quais quanto quanta quantos quantas algum alguma ah oi isso isto`},
}

// foreignWords maps a word to the set of languages in which it is a function word, and to the
// set of those in which it is an article.
var foreignWords = sync.OnceValue(func() map[string][2]uint8 {
	m := map[string][2]uint8{}
	for t := german; t < tongues; t++ {
		for i, list := range []string{littleWords[t].others, littleWords[t].articles} {
			for w := range strings.FieldsSeq(list) {
				e := m[w]
				e[0] |= 1 << t
				e[1] |= uint8(i) << t
				m[w] = e
			}
		}
	}
	return m
})

// recognise determines the language of the text by its function words, and marks them, so
// that they are no part of a name.
func (r *reader) recognise() {
	r.otherScript = otherScript(r.text)
	var hits [tongues]int
	for i := range r.words {
		w := &r.words[i]
		if w.code || w.path {
			continue
		}
		if w.entry.is(function) {
			hits[english]++
		}
		if e := foreignWords()[head(w.low)]; e[0] != 0 {
			for t := german; t < tongues; t++ {
				if e[0]&(1<<t) != 0 {
					hits[t]++
				}
			}
		}
	}
	best := english
	for t := german; t < tongues; t++ {
		if hits[t] > hits[best] || hits[t] == hits[best] && best == spanish && t == portuguese && strings.ContainsAny(r.low, "ãõçê") {
			best = t
		}
	}
	if best == english || hits[best] < 2 {
		return
	}
	r.tongue = best
	for i := range r.words {
		w := &r.words[i]
		if w.code || w.path {
			continue
		}
		e := foreignWords()[head(w.low)]
		switch {
		case e[1]&(1<<best) != 0:
			w.entry.class |= function | determiner
		case e[0]&(1<<best) != 0:
			w.entry.class = w.entry.class&^determiner | function // "no" is no article in Spanish
		default:
			w.entry.class &^= function | verb | adjective | past | finite // an English word that is spelled alike
		}
	}
}

// head returns a word up to its apostrophe: l' for l'équipe, c' for c'est.
func head(low string) string {
	if i := strings.IndexByte(low, '\''); i > 0 && i <= 2 {
		return low[:i]
	}
	return low
}

// otherScript reports whether most letters of a text are of a script in which no language is known, as in
// Arabic or Korean. A sentence has no noun phrases then, only what is written as a name.
func otherScript(text string) bool {
	others := 0
	for _, c := range text {
		switch {
		case c < utf8.RuneSelf:
			if letter(byte(c)) {
				others--
			}
		case !unicode.IsLetter(c):
		case unicode.In(c, unicode.Latin, unicode.Han, unicode.Hiragana, unicode.Katakana):
			others--
		default:
			others++
		}
	}
	return others > 0
}

// maxTopic is the maximum length of a topic in a script without spaces, in runes.
const maxTopic = 8

// unspacedNames returns the name in word i if the word is text in a script without spaces: a
// word in Latin letters, or the topic that ends at a particle or a verb.
func (r *reader) unspacedNames(i int) (Mention, bool) {
	w := &r.words[i]
	text := r.text[w.start:w.end]
	if !strings.ContainsFunc(text, analysis.Unspaced) {
		return Mention{}, false
	}
	spaced := strings.ContainsFunc(text, hangul) // Korean has spaces, but a word may end with a particle
	if n := utf8.RuneCountInString(text); n > 1 && n <= maxTopic && !spaced && !strings.ContainsAny(text, "はがをのでにとへも、。，,是在要不了让把被给说加的改换也想吧吗呢谁我你他她") && !strings.ContainsFunc(text, counting) {
		return Mention{Name: w.name, Display: text, Type: Unknown, Confidence: BySubject}, true
	}
	for k := 0; k < len(text); { // names in Latin letters
		c := text[k]
		if !letter(c) {
			k++
			continue
		}
		j := k
		for j < len(text) && (letter(text[j]) || text[j] >= '0' && text[j] <= '9' || strings.IndexByte("-_./", text[j]) >= 0) {
			j++
		}
		if part := strings.Trim(text[k:j], "-_./"); len(part) > 2 {
			if name := analysis.Entity(part); name != "" && !isUsual(name) {
				return Mention{Name: name, Display: part, Type: System, Confidence: ByIdentifier}, true
			}
		}
		k = j
	}
	if spaced {
		return Mention{}, true
	}
	if t := topic(text); t != "" {
		return Mention{Name: analysis.Entity(t), Display: t, Type: Unknown, Confidence: BySubject}, true
	}
	return Mention{}, true
}

func hangul(r rune) bool { return unicode.Is(unicode.Hangul, r) }

// korean returns the topic with which a sentence in Korean begins, without its particle, and its number
// of words; 0 for none.
func (r *reader) korean(i int) (Mention, int) {
	if !r.words[i].opens || r.words[i].code {
		return Mention{}, 0
	}
	for n := 1; n <= 3 && i+n <= len(r.words); n++ {
		w := &r.words[i+n-1]
		if n > 1 && w.broken {
			break
		}
		last, size := utf8.DecodeLastRuneInString(r.text[w.start:w.end])
		if !strings.ContainsRune("은는이가의", last) {
			continue
		}
		t := r.text[r.words[i].start : w.end-size]
		if utf8.RuneCountInString(t) < 2 || !hangul([]rune(t)[0]) || t == "우리" || t == "저희" || t == "이것" || t == "그것" || t == "저것" {
			break
		}
		return Mention{Name: analysis.Entity(t), Display: t, Type: Unknown, Confidence: BySubject}, n
	}
	return Mention{}, 0
}

// counting reports whether r is a digit or a numeral.
func counting(r rune) bool {
	return r >= '0' && r <= '9' || strings.ContainsRune("一二三四五六七八九十百千万两", r)
}

// greets reports whether a clause in Japanese begins with a greeting, thanks or a request.
func greets(clause string) bool {
	return slices.ContainsFunc([]string{"ありがと", "こんばん", "こんにち", "おはよう", "すみません", "お願い", "よろしく", "大丈夫"}, func(s string) bool { return strings.HasPrefix(clause, s) })
}

// topic returns the beginning of a sentence in Chinese or Japanese up to the word that ends
// its topic.
func topic(text string) string {
	for clause := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune("，,、。！？；：「」", c) }) {
		for _, lead := range []string{"あと", "それと", "ちなみに", "对了", "另外", "还有", "それから", "我们的", "咱们的", "うちの"} {
			clause = strings.TrimPrefix(clause, lead)
		}
		if when, rest, ok := strings.Cut(clause, "から"); ok && utf8.RuneCountInString(when) <= 4 && strings.ContainsAny(when, "月週日年後回度") { // 来月から
			clause = rest
		}
		if greets(clause) {
			continue
		}
		runes := []rune(clause)
		for i := range runes {
			if i > maxTopic {
				break
			}
			particle := i > 0 && strings.ContainsRune("にでへもと", runes[i]) && (!unicode.Is(unicode.Hiragana, runes[i-1]) || strings.HasSuffix(string(runes[:i]), "さん"))
			if particle || counting(runes[i]) || strings.ContainsRune("のはがを是在也想让由要不用从归已只必还改有定说加禁占规到的换", runes[i]) {
				if t := string(runes[:i]); i >= 2 && t != "これ" && t != "それ" && t != "あれ" && !strings.ContainsAny(t, "我你他她这那私今来") {
					return t
				}
				break
			}
		}
	}
	return ""
}
