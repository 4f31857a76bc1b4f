package extract

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

// cues are the phrases of one language that distinguish a statement from a request, a question or a
// pleasantry. A phrase is whole words where the language separates words by spaces. In Chinese and
// Japanese it is any substring of the sentence.
type cues struct {
	words        string   // frequent words that identify the language, separated by spaces
	unspaced     bool     // words are not separated by spaces
	questions    []string // a sentence that starts with one is a question
	asked        []string // a sentence that has one is a question
	requests     []string // a sentence that starts with one is a request
	wanted       []string // a sentence that has one is a request
	greetings    []string // a short sentence that has one is a pleasantry
	pointing     []string // a sentence that starts with one needs the one before
	impersonal   []string // unless it starts with one of these
	troubles     []string // reports of something that is broken today
	hypothetical []string
	said         []string // words before or after a quotation
	corrections  []string // a sentence that has one takes back what was said right before
	offers       []string // a question that starts with one offers to do something
	later        []string // an answer that has one puts the question off
	decisions    []string
	preferences  []string
	rules        []string
	open         []string // tasks that are still to be done
}

func phrasesOf(s string) (out []string) {
	for p := range strings.SplitSeq(s, ",") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// languages holds the languages besides English in which statements are found.
var languages = map[string]*cues{
	"de": {
		words: `der die das und ist nicht wir ich du mit auf für im den dem ein eine einen sind es auch noch bei vom zum zur haben hat wird werden aber
			wie was schon uns mir mich dir so dann nur bitte gerade oder wenn dass beim kein keine muss bin heiße wohne immer nie niemals vor nach jedem jeder jeden alles nichts ohne über statt`,
		questions:    phrasesOf("was, wer, wie, wo, wann, warum, wieso, weshalb, welche, welcher, welches, gibt es, hast du, habt ihr, weißt du, ist das"),
		requests:     phrasesOf("kannst du, könntest du, kannst, könntest, würdest du, bitte, schau, schaust du, mach, machst du, zeig, zeigst du, hilf, hilfst du, prüf, prüfe, prüfst du, schreib, schreibst du, such, suchst du, erstell, erstellst du, erkläre, erklär, ich brauche, ich bräuchte, ich möchte, ich hätte gern, ich will, brauche, lass uns mal, leg, starte, bau, füge, ändere, aktualisiere, trag, trägst du"),
		wanted:       phrasesOf("kannst du, könntest du, brauche deine hilfe, hilf mir"),
		greetings:    phrasesOf("danke, dank, moin, hallo, servus, guten morgen, guten tag, guten abend, tschüss, schönen tag, schönen abend, bis dann, bis morgen, super, prima, klasse, sehr gut, perfekt, top, cool, alles klar, passt, feierabend"),
		impersonal:   phrasesOf("es gibt, es dürfen, es müssen, es werden, es gilt, es darf niemand, es darf kein, es darf keine, es darf keiner, es muss jeder, es ist verboten, es ist untersagt, es ist nicht erlaubt, es ist nicht gestattet, es ist pflicht, es ist vereinbart, es ist abgemacht"),
		pointing:     phrasesOf("er, sie, es, dies, dieser, diese, dort, damit, davon, dazu"),
		troubles:     phrasesOf("kaputt, ist rot, sind rot, geht nicht, gehen nicht, nicht mehr durch, schlägt fehl, schlagen fehl, fehlgeschlagen, stürzt ab, funktioniert nicht, hängt, klemmt, kommen 502er, spinnt, bricht ab, seit gestern, seit heute"),
		hypothetical: phrasesOf("angenommen, stell dir vor, vielleicht, oder doch, was wäre wenn, hätte, wäre es"),
		said:         phrasesOf("sagte, sagt, meinte, schrieb, steht im, zitat, sprach"),
		corrections:  phrasesOf("nein warte, nein moment, ach nein, nein doch, quatsch, korrektur, moment nein, ich meinte, stimmt nicht, halt nein, vertan, verschrieben"),
		offers:       phrasesOf("soll ich, darf ich, wie kann ich, womit kann ich, was kann ich, kann ich, brauchst du noch, möchtest du, willst du, sonst noch, noch etwas, passt das"),
		later:        phrasesOf("später, nicht jetzt, morgen, weiß nicht, keine ahnung, moment, mal sehen, gleich"),
		decisions:    phrasesOf("wir haben beschlossen, haben entschieden, haben uns entschieden, beschlossen, wir nehmen, wir nutzen, wir bleiben bei, wir wechseln, wir steigen auf, ab jetzt, ab sofort, vereinbart"),
		preferences:  phrasesOf("ich mag, mag ich, lieber, bevorzuge, am liebsten, ich hasse, ich esse kein, ich trinke kein, allergisch, vegetarisch, vegan"),
		rules:        phrasesOf("nie, niemals, immer, auf keinen fall, darf nicht, dürfen nicht, darf nur, dürfen nur, darf niemand, es darf kein, es darf keine, es darf keiner, muss immer, müssen immer, verboten, untersagt, nicht erlaubt, nicht gestattet, pflicht, nur noch, höchstens, mindestens, keinesfalls, stets, grundsätzlich"),
		open:         phrasesOf("fehlt noch, fehlen noch, steht noch aus, stehen noch aus, steht aber noch aus, noch offen, muss noch, müssen noch, fehlt dann noch, noch nicht fertig, noch nicht erledigt, bleibt noch, ist noch zu, sind noch zu"),
	},
	"fr": {
		words: `le la les des et est pas nous je tu vous avec pour dans sur une du au aux que qui ce cette il elle on ne plus mais sont avons ai c'est
			j'ai n'est mon ma mes notre nos votre bien tout toujours chez par d'un d'une à j'habite jamais avant après chaque`,
		questions:    phrasesOf("est-ce que, qu'est-ce, quel, quelle, quels, quelles, comment, pourquoi, où, quand est-ce, combien, qui est, une idée"),
		requests:     phrasesOf("tu peux, peux-tu, pouvez-vous, vous pouvez, pourrais-tu, tu pourrais, pourriez-vous, merci de, s'il te plaît, s'il vous plaît, aide-moi, montre, montre-moi, regarde, vérifie, écris, fais, fais-moi, lance, ajoute, corrige, donne-moi, je voudrais, j'aimerais, j'ai besoin, il me faudrait, il faut que tu, il faut que vous, je cherche, prépare, mets à jour"),
		wanted:       phrasesOf("tu peux, peux-tu, pouvez-vous, pourrais-tu, un coup de main, petite question"),
		greetings:    phrasesOf("merci, salut, bonjour, bonsoir, coucou, parfait, super, génial, top, bonne journée, bonne soirée, à plus, à demain, ça marche, au revoir, nickel"),
		impersonal:   phrasesOf("il faut, il ne faut, il faudra, il y a, il n'y a, il existe, il est interdit, il est strictement interdit, il est défendu, il est obligatoire, il est convenu, il est prévu, il n'est pas permis"),
		pointing:     phrasesOf("il, elle, ils, elles, ça, cela, c'est, celui-ci, celle-ci, ceci, ce dernier"),
		troubles:     phrasesOf("ne marche plus, ne marche pas, ne fonctionne pas, ne fonctionne plus, est cassé, est cassée, en panne, plante, est rouge, sont rouges, échoue, échouent, en erreur, depuis hier, depuis ce matin"),
		hypothetical: phrasesOf("peut-être, imaginons, supposons, et si, admettons, sinon on"),
		said:         phrasesOf("dit, dixit, disait, a dit, écrivait, citation, écrit"),
		corrections:  phrasesOf("non attends, ah non, pardon, correction, je me trompe, je me suis trompé, je me suis trompée, je voulais dire, enfin non, euh non, attends non"),
		offers:       phrasesOf("je peux, dois-je, que puis-je, en quoi puis-je, comment puis-je, puis-je, qu'est-ce que je peux, comment je peux, veux-tu que, voulez-vous que, autre chose, souhaites-tu, souhaitez-vous, on continue, tu veux que, est-ce que je"),
		later:        phrasesOf("plus tard, pas maintenant, demain, je ne sais pas, je sais pas, aucune idée, attends, on verra"),
		decisions:    phrasesOf("on a décidé, nous avons décidé, décidé, on passe à, nous passons, on garde, on part sur, on prend, désormais, dorénavant, à partir de, validé"),
		preferences:  phrasesOf("je préfère, j'aime, je déteste, je n'aime pas, allergique, végétarien, végétarienne, végane, plutôt"),
		rules:        phrasesOf("jamais, toujours, il est défendu, il n'est pas permis, interdit, interdite, interdits, obligatoire, il faut, il ne faut, doit, doivent, ne doit, ne doivent, au maximum, au plus, au moins, uniquement, pas question, défense de, aucun"),
		open:         phrasesOf("il manque encore, manque encore, reste à, il reste, il me reste, à faire, pas encore, en attente, j'attends encore, toujours pas, doit encore, dois encore"),
	},
	"es": {
		words: `el la los las de y es no que en un una con por para del se lo mi tu su nos está están son como más pero ya al hay tengo tiene
			hemos muy te me le esto esta este todo todos cuando porque sin soy vivo siempre nunca usamos antes después cada nada`,
		questions:    phrasesOf("qué, quién, cómo, cuándo, dónde, cuánto, cuántos, cuál, por qué, hay alguna, alguna idea, sabes si"),
		requests:     phrasesOf("puedes, me puedes, podrías, me podrías, por favor, ayúdame, muéstrame, mira, revisa, revísame, me revisas, escribe, haz, hazme, busca, prepara, dame, añade, pon, corrige, actualiza, necesito, quiero que, quisiera, me gustaría, quería, échame"),
		wanted:       phrasesOf("puedes, podrías, una mano con, me ayudas, échame"),
		greetings:    phrasesOf("gracias, hola, buenos días, buenas tardes, buenas noches, buenas, perfecto, genial, estupendo, vale, de nada, hasta luego, hasta mañana, adiós, saludos, guay"),
		pointing:     phrasesOf("él, ella, ellos, ellas, eso, esto, ese, esa, aquello, lo, la de"),
		troubles:     phrasesOf("no funciona, no funcionan, está roto, está rota, falla, fallan, fallando, está caído, está caída, en rojo, da error, se cae, se cuelga, desde ayer, desde esta mañana"),
		hypothetical: phrasesOf("quizá, quizás, tal vez, imagina, supongamos, y si, a lo mejor"),
		said:         phrasesOf("dijo, dice, decía, escribió, gritó, cita, pone"),
		corrections:  phrasesOf("ay no, no espera, no perdón, perdón, perdona, qué digo, quiero decir, me equivoqué, me he equivocado, corrijo, miento, mejor dicho, digo no"),
		offers:       phrasesOf("quieres que, en qué puedo, qué puedo, cómo puedo, te parece, algo más, lo hago, puedo, continúo, desea que, desea algo"),
		later:        phrasesOf("luego, más tarde, ahora no, mañana, no sé, ni idea, espera, ya veremos"),
		decisions:    phrasesOf("hemos decidido, decidimos, decidido, nos quedamos con, usamos, vamos con, pasamos a, cambiamos a, a partir de, desde ahora, acordamos, hemos acordado"),
		preferences:  phrasesOf("prefiero, me gusta, no me gusta, odio, me encanta, alérgico, alérgica, vegetariano, vegetariana, vegano, vegana"),
		rules:        phrasesOf("nunca, jamás, siempre, prohibido, prohibida, obligatorio, obligatoria, no se puede, no se toca, no se tocan, hay que, debe, deben, no debe, como máximo, como mínimo, solo, sólo, nada de, ni se te ocurra"),
		open:         phrasesOf("falta, faltan, todavía no, aún no, pendiente, pendientes, queda por, quedan por, me queda, tengo que, sin hacer, estoy esperando, seguimos esperando"),
	},
	"pt": {
		words: `o a os as de e é não que em um uma com por para do da dos das no na nos nas se meu minha seu sua está são como mais mas já ao tem
			temos muito você vocês isso este esta tudo quando porque sem pra pro tá foi sou moro sempre nunca usamos antes depois cada nada`,
		questions:    phrasesOf("o que, quem, como, quando é, onde, quanto, quantos, qual, quais, por que, tem como, alguma ideia, sabe se"),
		requests:     phrasesOf("você pode, pode, podes, poderia, podia, consegue, me ajuda, ajuda, mostra, me mostra, olha, dá uma olhada, verifica, escreve, faz, cria, prepara, adiciona, corrige, atualiza, preciso, quero que, gostaria, queria, por favor, monta"),
		wanted:       phrasesOf("você pode, me ajuda, dá uma olhada, pode me"),
		greetings:    phrasesOf("obrigado, obrigada, oi, olá, bom dia, boa tarde, boa noite, valeu, perfeito, ótimo, beleza, show, maravilha, tchau, até logo, até amanhã, abraço"),
		pointing:     phrasesOf("ele, ela, eles, elas, isso, isto, esse, essa, aquilo"),
		troubles:     phrasesOf("não funciona, não está funcionando, tá quebrado, está quebrado, quebrado, quebrada, quebrou, falha, falhando, caiu, dá erro, dando erro, travou, travando, no vermelho, desde ontem, desde hoje"),
		hypothetical: phrasesOf("talvez, imagina, suponha, e se, quem sabe"),
		said:         phrasesOf("disse, diz, dizia, escreveu, gritou, citação"),
		corrections:  phrasesOf("não espera, não pera, ops, desculpa, perdão, quer dizer, me enganei, errei, corrigindo, aliás não, digo, melhor dizendo, minto"),
		offers:       phrasesOf("quer que, posso, como posso, em que posso, no que posso, o que posso, mais alguma, algo mais, deseja que, continuo, tudo bem se"),
		later:        phrasesOf("depois, agora não, amanhã, mais tarde, não sei, sei lá, espera, vamos ver"),
		decisions:    phrasesOf("decidimos, ficou decidido, decidido, vamos usar, vamos com, ficamos com, mudamos para, passamos a, a partir de, combinamos, combinado que"),
		preferences:  phrasesOf("prefiro, gosto de, não gosto, odeio, adoro, alérgico, alérgica, vegetariano, vegetariana, vegano, vegana"),
		rules:        phrasesOf("nunca, jamais, sempre, proibido, proibida, obrigatório, obrigatória, não pode, não podem, tem que, deve, devem, no máximo, no mínimo, só, somente, apenas, nada de, é vedado"),
		open:         phrasesOf("ainda falta, falta, faltam, ainda não, pendente, pendentes, ficou pendente, ainda preciso, ainda tenho, estou esperando, aguardando, por fazer"),
	},
	"zh": {
		unspaced:     true,
		asked:        phrasesOf("吗, 呢?, 怎么, 为什么, 什么时候, 哪个, 多少?, 几个?, 是不是, 能不能, 行不行, 有没有"),
		requests:     phrasesOf("请, 帮, 麻烦, 你看, 看看, 看一下, 查一下, 你能, 你帮, 给我, 写一, 改一下, 跑一下, 我想, 我要, 我需要, 需要你"),
		wanted:       phrasesOf("帮我, 帮忙, 麻烦你, 看一下, 查一下, 看看吧"),
		greetings:    phrasesOf("谢谢, 你好, 您好, 早上好, 辛苦, 再见, 晚安, 太好了, 厉害, 不错, 好的, 多谢, 拜拜, 哈哈"),
		pointing:     phrasesOf("它, 他, 她, 这个, 那个, 这样, 那样"),
		troubles:     phrasesOf("报错, 挂了, 坏了, 失败, 跑不通, 跑不过, 不通过, 崩溃, 超时了, 连不上, 红了, 红的"),
		hypothetical: phrasesOf("假如, 如果要是, 也许, 要不, 说不定"),
		said:         phrasesOf("说过, 写道, 据说, 老话, 常说"),
		corrections:  phrasesOf("不对, 说错, 错了, 更正, 记错, 打错"),
		offers:       phrasesOf("帮你, 帮您, 帮忙, 要我, 需要我, 还有, 要不要我, 可以吗, 我来"),
		later:        phrasesOf("再说, 先不, 不用, 以后, 晚点, 待会, 明天再, 不知道, 回头"),
		decisions:    phrasesOf("决定, 定了, 选定, 采用, 改成, 改为, 以后都, 商定"),
		preferences:  phrasesOf("我喜欢, 我不喜欢, 更喜欢, 偏好, 过敏, 吃素, 我讨厌"),
		rules:        phrasesOf("禁止, 不能, 不准, 不许, 必须, 一律, 只能, 不得, 绝对不, 千万别, 千万不要, 至少, 最多, 务必, 规定, 不要再, 不加, 请始终, 始终用, 始终使用, 请一直, 请总是, 不要直接"),
		open:         phrasesOf("还没, 还差, 尚未, 待办, 没写完, 没做完, 还要, 还得, 等着"),
	},
	"ja": {
		unspaced:     true,
		asked:        phrasesOf("ですか, ますか, でしょうか, ませんか, だろうか, かな?, どう思"),
		wanted:       phrasesOf("ください, いただけますか, お願いできますか, お願いします, してほしい, もらえますか, くれますか, 教えて, 見てもらえ, 手伝って"),
		greetings:    phrasesOf("ありがとう, こんにちは, おはよう, こんばんは, お疲れ, よろしく, さすが, 助かり, 了解, 承知, また明日, すごい, 最高, では、また, 失礼します"),
		pointing:     phrasesOf("それは, これは, あれは, それが, 彼は, 彼女は"),
		troubles:     phrasesOf("エラー, 失敗, 落ちて, 落ちる, 落ちました, 動かない, 動きません, 動かなく, 壊れ, 赤いまま, 止まって, 止まりました, 通らない, 通りません"),
		hypothetical: phrasesOf("もしかしたら, 仮に, たとえば, かもしれ"),
		said:         phrasesOf("と言って, と書いて, と言いました, ことわざ, と言われ"),
		corrections:  phrasesOf("間違え, いや、, 訂正, じゃなくて, ではなくて, 失礼、, 違いました, 違った"),
		offers:       phrasesOf("お手伝い, お役に立て, ご用件, 他に, ほかに"),
		later:        phrasesOf("あとで, 後で, また今度, わかりません, 分かりません, 未定"),
		decisions:    phrasesOf("決めました, 決まりました, 決定, にします, に変わります, に変更, することに, になりました, 採用"),
		preferences:  phrasesOf("好きです, 嫌い, 苦手, のほうがいい, の方がいい, アレルギー, 好みます"),
		rules:        phrasesOf("禁止, 絶対, 必ず, 厳守, ないでください, してはいけ, しないこと, 守って, 必須, 以上は, 以内に, だけです, 決まり, 据え置き, 貼らない, 残さない, ルール"),
		open:         phrasesOf("まだ, 未着手, 待ちです, 残って, 終わっていません, できていません, これから"),
	},
}

// unread holds languages that are only recognised, so that their sentences are not taken for another
// language's.
var unread = map[string]string{
	"it": `il lo gli di che è per una un non con del della nel nella sono ho abbiamo questo anche ma come più dal alla`,
	"nl": `het een de en van is niet wij ik met voor op zijn er maar dat ook nog bij naar aan wordt hebben heeft`,
	"pl": `nie jest się na w z że jak ale są mamy dla przez od`,
	"en": `the a is are to of and in on for we i it that with you this be not have at from as by but was will our my can`,
}

// unreadLanguage stands for a language in which no statements are found.
var unreadLanguage = &cues{}

var frequent = sync.OnceValue(func() map[string]map[string]bool {
	m := map[string]map[string]bool{}
	for name, words := range unread {
		m[name] = analysis.Set(words)
	}
	for name, c := range languages {
		if !c.unspaced {
			m[name] = analysis.Set(c.words)
		}
	}
	return m
})

// languageOf returns the language of a text, nil for English. known is false where the language can't
// be determined.
func languageOf(text string) (c *cues, known bool) {
	letters, han, kana, latin := 0, 0, 0, 0
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r):
			continue
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			kana++
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.Is(unicode.Latin, r):
			latin++
		}
		letters++
	}
	switch {
	case letters == 0:
		return nil, false
	case kana > 1 && 4*(kana+han) > letters:
		return languages["ja"], true
	case 4*(kana+han) > letters:
		return languages["zh"], true
	case 2*latin < letters:
		return unreadLanguage, true
	}
	score := map[string]int{}
	words := wordsOf(squeeze(text))
	for i := range words {
		for name, list := range frequent() {
			if list[words[i].low] {
				score[name]++
			}
		}
	}
	best := "en"
	for _, name := range [...]string{"de", "fr", "es", "pt", "it", "nl", "pl"} {
		if score[name] > score[best] {
			best = name
		}
	}
	if score[best] < 2 {
		return nil, false
	}
	if best == "en" {
		return nil, true
	}
	if c := languages[best]; c != nil {
		return c, true
	}
	return unreadLanguage, true
}

// form returns a sentence in the form in which has and starts search for phrases.
func (c *cues) form(text string) string {
	if c.unspaced {
		return strings.TrimLeft(text, " 、,")
	}
	words := wordsOf(text)
	var b strings.Builder
	b.WriteByte(' ')
	for i := range words {
		if w := strings.TrimLeft(words[i].low, "¿¡«"); w != "" {
			b.WriteString(w + " ")
		}
	}
	return b.String()
}

// has reports whether a sentence contains one of the phrases.
func (c *cues) has(form string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(p string) bool {
		return c.unspaced && strings.Contains(form, p) || !c.unspaced && strings.Contains(form, " "+p+" ")
	})
}

// starts reports whether a sentence starts with one of the phrases. A name or a word such as "ok" may
// precede it.
func (c *cues) starts(form string, phrases []string) bool {
	for _, p := range phrases {
		if c.unspaced {
			if strings.HasPrefix(form, p) {
				return true
			}
		} else if i := strings.Index(form, " "+p+" "); i == 0 || i > 0 && len(p) > 5 && strings.Count(form[:i+1], " ") <= 3 {
			return true
		}
	}
	return false
}

// Minimum lengths of a statement.
const (
	leastCharacters = 6 // for languages without spaces between words
	leastWords      = 3
	shortGreeting   = 6  // words; a longer sentence says more than its pleasantry
	shortUnspaced   = 16 // characters; the same for languages without spaces between words
)

// judge classifies a person's sentence.
func (c *cues) judge(s *sentence) verdict {
	if c == unreadLanguage {
		return refused(reasonLanguage)
	}
	f := c.form(s.text)
	rule := c.has(f, c.rules) || reading.OrdersEachTime(s.text)
	if reason := c.refuses(s, f, rule); reason != "" {
		return refused(reason)
	}
	v := verdict{sort: draft.Fact, confidence: 0.8}
	switch {
	case c.has(f, c.open):
		v.open = true
	case rule:
		v.sort, v.confidence = draft.Constraint, 0.7
	case c.has(f, c.decisions):
		v.sort = draft.Decision
	case c.has(f, c.preferences):
		v.sort = draft.Preference
	}
	return v
}

// refuses returns the reason why a sentence with the form f is no statement, or "".
func (c *cues) refuses(s *sentence, f string, rule bool) string {
	length, long := len(s.words), len(s.words) > shortGreeting
	if c.unspaced {
		length, long = characters(s.text), characters(s.text) > shortUnspaced
	}
	exclaims := strings.HasSuffix(s.text, "!") || strings.HasSuffix(s.text, "！")
	switch {
	case s.text[0] == '[' || strings.HasSuffix(s.text, ":") || strings.HasSuffix(s.text, "："):
		return reasonEmpty
	case hasCredential(s):
		return reasonSecret
	case s.asks || c.starts(f, c.questions) || c.has(f, c.asked):
		return reasonQuestion
	case quoted(s.text, func() bool { return c.has(f, c.said) }):
		return reasonQuoted
	case !rule && (c.starts(f, c.requests) || c.has(f, c.wanted)):
		return reasonRequest
	case joking(s), c.has(f, c.greetings) && !long, exclaims && !numbered(s.text) && !strings.Contains(s.text, "`") && (!rule || !c.has(f, prohibitions)):
		return reasonTalk
	case c.has(f, c.hypothetical), c.starts(f, examples) && (c.has(f, c.said) || strings.Contains(s.text, ":")):
		return reasonIf
	case !rule && c.has(f, c.troubles):
		return reasonTrouble
	case c.unspaced && length < leastCharacters && !rule && !c.has(f, c.preferences), !c.unspaced && length < leastWords:
		return reasonEmpty
	}
	return ""
}

// examples begin a sentence that may be made up.
var examples = phrasesOf("zum beispiel, beispielsweise, als beispiel, par exemple, por ejemplo, por exemplo")

// prohibitions are rules that count also in an exclamation. "It has to be beautiful!" is no rule.
var prohibitions = phrasesOf(`nie, niemals, auf keinen fall, darf nicht, dürfen nicht, verboten, nicht erlaubt, nur noch, keinesfalls, jamais, interdit, interdite, interdits, ne doit, ne doivent, pas question, défense de, aucun,
	nunca, jamás, prohibido, prohibida, no se puede, no se toca, no se tocan, no debe, ni se te ocurra, jamais, proibido, proibida, não pode, não podem, é vedado, siempre, toujours, immer, sempre,
	禁止, 不能, 不准, 不许, 必须, 一律, 只能, 不得, 绝对不, 千万别, 千万不要, 务必, してはいけ, しないで, 禁止, 必ず`)

// quoted reports whether most of a sentence is within quotation marks, or it tells what somebody
// said.
func quoted(text string, says func() bool) bool {
	from, to := -1, -1
	for i, r := range text {
		switch r {
		case '"', '“', '”', '„', '«', '»', '「', '」', '『', '』':
			if from < 0 {
				from = i
			}
			to = i
		case '\'', '‘', '’':
			if i == 0 || text[i-1] == ' ' || i+len(string(r)) >= len(text) || strings.ContainsRune(" ,.;!?)", rune(text[min(i+len(string(r)), len(text)-1)])) {
				if from < 0 && (i == 0 || text[i-1] == ' ') {
					from = i
				} else if from >= 0 {
					to = i
				}
			}
		}
	}
	if from < 0 || to <= from {
		return false
	}
	inside := text[from:to]
	words := len(strings.Fields(inside))
	if n := characters(inside); words < 4 && !(analysis.Unspaced(rune0(inside)) && n > 10) {
		return false
	}
	return 3*len(inside) >= 2*len(text) || says()
}

// quotations returns the byte ranges within quotation marks that hold more than one sentence or many
// words.
func quotations(text string) (out [][2]int) {
	ends := map[rune]rune{'«': '»', '“': '”', '„': '“', '「': '」', '『': '』', '"': '"'}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		end, opens := ends[r]
		if !opens {
			i += size
			continue
		}
		n := strings.IndexRune(text[i+size:], end)
		if n < 0 {
			i += size
			continue
		}
		if inside := text[i+size : i+size+n]; len(strings.Fields(inside)) > 5 && strings.ContainsAny(strings.TrimRight(inside, ".!? "), ".!?") {
			out = append(out, [2]int{i, i + size + n + utf8.RuneLen(end)})
		}
		i += size + n + utf8.RuneLen(end)
	}
	return out
}

func rune0(s string) rune {
	for _, r := range s {
		if unicode.IsLetter(r) {
			return r
		}
	}
	return ' '
}

// joking reports whether the speaker laughs about the sentence.
func joking(s *sentence) bool {
	return !numbered(s.text) && (has(s.words, len(s.words), laughs) || strings.ContainsAny(s.text, "😅")) ||
		strings.ContainsAny(s.text, "😂🤣") || strings.Contains(s.text, "(笑)") || strings.Contains(s.text, "哈哈")
}

var laughs = analysis.Set("lol haha hahaha rofl lmao jaja jajaja rsrs rs kkk kkkk mdr ptdr hihi hehe xd")
