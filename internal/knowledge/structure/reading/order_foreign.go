package reading

import (
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
)

// foreign reports whether word i is part of a common form of must, must not, always or
// never in German, French or Spanish.
func (r *reader) foreign(from, i, to int) bool {
	return r.voice != person && (r.commandsGerman(from, i, to) || r.commandsFrench(from, i, to) || r.commandsSpanish(from, i))
}

// commandsGerman is foreign for German.
func (r *reader) commandsGerman(from, i, to int) bool {
	please := r.is(i-1, "bitte")
	switch r.words[i].low {
	case "muss", "müssen": // not: ich muss, das muss an … liegen
		return !r.around(from, i, "ich", "du", "er", "sie", "wir", "es", "das") && !r.later(i, to, "sein", "haben") || r.around(from, i, "wir") && r.later(i, to, "immer")
	case "darf", "dürfen":
		return !r.around(from, i, "ich", "du") && !(r.is(i+1, "man") && r.is(i+2, "ja")) && r.later(i, to, "nicht", "nie", "niemals", "kein", "keine", "nur")
	case "nie", "niemals":
		return (i == from || please) && r.german(to-1) && !r.has(i, to, first)
	case "immer":
		return please || i == from && r.german(to-1) || i == from+1 && r.german(from)
	}
	return false
}

// commandsFrench is foreign for French.
func (r *reader) commandsFrench(from, i, to int) bool {
	switch r.words[i].low {
	case "doit", "doivent":
		if i > from && (r.words[i-1].upper && !r.words[i-1].opens || r.named(i-1, i)) {
			return false // "Yanis doit le faire"
		}
		return !r.around(from, i, "je", "tu", "il", "elle", "ce", "ça", "cela") && !r.is(i+1, "être", "avoir") || r.later(i, to, "jamais", "pas")
	case "jamais":
		return r.is(from, "ne") && i <= from+3
	case "faut":
		return r.anyOf(from, i, "il", "ne")
	case "toujours":
		return i == from+1 && !r.words[from].entry.is(function)
	}
	return false
}

// commandsSpanish is foreign for Spanish.
func (r *reader) commandsSpanish(from, i int) bool {
	switch r.words[i].low {
	case "nunca":
		return i == from && !r.is(i+1, "he", "fui", "mais")
	case "siempre":
		return i == from || i == from+1 && !r.words[from].entry.is(function) && !r.is(from, "yo", "casi")
	case "debe", "deben":
		return !r.is(i+1, "haber", "ser", "estar", "de") || r.anyOf(from, i, "no")
	}
	return false
}

// german reports whether word i may be a German infinitive or imperative: it ends in
// -en, -rn or -e.
func (r *reader) german(i int) bool {
	low := r.word(i)
	return len(low) > 4 && fits(low, strings.HasSuffix, "en", "rn", "e")
}

// orderWords holds words of orders by tongue. The verb of a Spanish or Portuguese prohibition is in the subjunctive; where its
// ending does not tell, it is listed.
var orderWords = [tongues]struct {
	not      map[string]bool // words that make an order a prohibition
	verbs    map[string]bool // of prohibitions
	notVerbs map[string]bool // verbs that calm somebody, and those that end like a subjunctive
	pronouns map[string]bool // objects that the order does not name
	each     []string        // the order holds each time
	askFirst []string        // it asks to be asked
	now      []string        // it holds now only
}{
	german: {
		not:      analysis.Set("nicht nichts nie niemals kein keine keinen keinem keiner keines"),
		notVerbs: analysis.Set("vergiss vergesst mach mache sorge sorg wundere hab denk denke"),
		pronouns: analysis.Set("es ihn sie ihm ihnen das dies dir dich mir mich uns"),
		each:     []string{"vor jedem", "vor jeder", "nach jedem", "nach jeder", "bei jedem", "bei jeder", "zu jedem", "zu jeder", "mit jedem", "mit jeder", "in jedem", "in jeder", "jedes mal", "jedesmal"},
		askFirst: []string{"frag mich, bevor", "frage mich, bevor", "fragt mich, bevor", "fragen sie mich, bevor", "frag mich vorher", "frag mich erst", "frag mich zuerst", "frag vorher", "frag erst", "frag uns, bevor", "sag mir bescheid, bevor", "gib mir bescheid, bevor", "gib bescheid, bevor", "frag mich bevor"},
		now:      []string{"jetzt", "heute", "erstmal", "erst mal", "noch nicht", "vorerst", "gerade", "diesmal", "im moment", "zurzeit", "momentan", "einstweilen", "fürs erste"},
	},
	french: {
		not:      analysis.Set("pas jamais plus rien aucun aucune personne"),
		notVerbs: analysis.Set("inquiète inquiétez oublie oubliez hésite hésitez importe t'inquiète n'oublie n'oubliez n'hésite n'hésitez n'importe n'aie n'ayez panique paniquez"),
		pronouns: analysis.Set("le la les me te se nous vous y en"),
		each:     []string{"avant chaque", "après chaque", "à chaque", "pour chaque", "dans chaque", "avec chaque", "chaque fois"},
		askFirst: []string{"demande-moi avant", "demandez-moi avant", "demande-nous avant", "demande d'abord", "demande avant", "préviens-moi avant", "prévenez-moi avant", "consulte-moi avant"},
		now:      []string{"pour l'instant", "pour le moment", "maintenant", "aujourd'hui", "tout de suite", "encore", "cette fois", "ce soir", "ce matin"},
	},
	spanish: {
		not:      analysis.Set("no"),
		verbs:    analysis.Set("toque use haga borre modifique cambie suba ponga escriba instale ejecute añada agregue elimine envíe mande publique despliegue edite comparta registre imprima guarde toquen usen hagan borren modifiquen cambien suban pongan escriban instalen ejecuten añadan agreguen eliminen envíen manden publiquen desplieguen editen compartan registren impriman guarden"),
		notVerbs: analysis.Set("tienes puedes sabes debes quieres haces vienes eres estás vas ves dices entiendes necesitas usas llevas crees piensas recuerdas pones sales traes lees olvides olvidéis preocupes preocupéis dudes más además después antes veces gracias meses todas ellas estas esas unas muchas algunas otras mientras apenas ideas"),
		pronouns: analysis.Set("lo la los las le les me te se nos os"),
		each:     []string{"antes de cada", "después de cada", "con cada", "en cada", "a cada", "tras cada", "cada vez"},
		askFirst: []string{"pregúntame antes", "preguntame antes", "pregúntanos antes", "pregunta antes", "pregunten antes", "consúltame antes", "consulta antes", "avísame antes", "avisa antes"},
		now:      []string{"ahora", "hoy", "por el momento", "de momento", "todavía", "aún", "esta vez"},
	},
	portuguese: {
		not:      analysis.Set("não"),
		verbs:    analysis.Set("toque use utilize faça apague altere mexa mude suba modifique crie remova exclua delete commite publique edite escreva adicione coloque ponha instale execute rode envie mande registre logue imprima guarde salve compartilhe misture reescreva formate desative ignore toquem usem façam apaguem alterem mexam mudem subam modifiquem criem removam excluam publiquem editem escrevam adicionem coloquem instalem executem rodem enviem mandem registrem imprimam guardem salvem compartilhem"),
		notVerbs: analysis.Set("tens podes sabes deves queres fazes vens és estás vais vês dizes precisas usas achas pensas mais depois antes vezes meses todas elas estas essas umas muitas algumas outras apenas"),
		pronouns: analysis.Set("se me te nos lhe"),
		each:     []string{"antes de cada", "depois de cada", "com cada", "em cada", "a cada", "cada vez"},
		askFirst: []string{"pergunte antes", "pergunta antes", "me pergunte antes", "pergunte-me antes", "perguntem antes", "avise antes", "me avise antes", "fale comigo antes", "consulte antes"},
		now:      []string{"agora", "hoje", "por enquanto", "por ora", "ainda", "desta vez", "dessa vez"},
	},
}

// ordersEachTime reports whether a sentence in German, French, Spanish or Portuguese is an order that holds beyond the moment: "no
// toques la carpeta vendor", "lance make lint avant chaque commit", "frag mich, bevor du etwas installierst".
func (r *reader) ordersEachTime(from, to int) bool {
	if r.is(from, "bitte") {
		from++
	}
	if r.tongue == english || to-from < 3 || r.voice == person {
		return false
	}
	o, text := &orderWords[r.tongue], r.low[r.words[from].start:r.words[to-1].end]
	if containsPhrase(text, o.now, false) || o.notVerbs[r.words[from].low] {
		return false
	}
	first := r.words[from].entry
	return containsPhrase(text, o.askFirst, false) || !first.is(function) && containsPhrase(text, o.each, false) || r.prohibits(from, to)
}

// pastVerb returns the index of the word behind the verb with which an order that holds each time begins, or from.
func (r *reader) pastVerb(from, to int) int {
	if r.tongue == english || !r.ordersEachTime(from, to) {
		return from
	}
	if r.is(from, "bitte") {
		from++
	}
	not := orderWords[r.tongue].not[r.words[from].low]
	switch {
	case r.tongue == german && (not || r.words[from].entry.is(function)): // "keine Secrets committen"
		return from
	case not, r.words[from].low == "ne":
		return from + 2
	}
	return from + 1
}

// prohibits reports whether a sentence in the reader's tongue is a prohibition.
func (r *reader) prohibits(from, to int) bool {
	o, first, second := &orderWords[r.tongue], &r.words[from], r.word(from+1)
	if o.pronouns[second] || o.notVerbs[second] {
		return false
	}
	switch r.tongue {
	case german: // "fass den Ordner nicht an", "keine Secrets committen", "vor jedem Commit testen"
		if o.not[first.low] || r.is(from, "vor") && r.is(from+1, "jedem", "jeder") {
			return r.german(to-1) && !r.words[to-1].upper && !states[r.words[to-1].low] && second != "alle" && second != "ganz"
		}
		verb := !first.entry.is(function) && (r.words[from+1].entry.is(determiner) && !r.is(from+1, "der", "des") || o.not[second])
		return verb && r.some(from+1, to, func(i int) bool { return o.not[r.words[i].low] })
	case french: // "ne touche pas au dossier", "n'utilise jamais eval"
		return (first.low == "ne" || strings.HasPrefix(first.low, "n'")) && r.some(from+1, min(from+4, to), func(i int) bool { return o.not[r.words[i].low] })
	}
	return o.not[first.low] && (o.verbs[second] || fits(second, strings.HasSuffix, "es", "as", "éis", "áis"))
}

// states holds German verbs that say how things are, at the end of "nicht alle Tests laufen".
var states = analysis.Set("laufen gehen funktionieren fehlen existieren passen bleiben kommen stehen liegen helfen scheitern haben werden sein können dürfen müssen sollen stimmen reichen")

// OrdersEachTime reports whether a sentence in German, French, Spanish or Portuguese is an order that holds beyond the moment.
func OrdersEachTime(sentence string) bool {
	var words [48]word
	r := reader{text: sentence, low: lower(sentence), words: words[:0], voice: user}
	r.scan()
	r.recognise()
	return len(r.words) > 0 && r.ordersEachTime(0, len(r.words))
}
