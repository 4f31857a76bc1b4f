package reading

import (
	"strings"
	"unicode/utf8"
)

// normWords holds, for each tongue after English, phrases that establish a practice (cues), and phrases of
// sentences about something else (other). They match whole words; in Chinese and Japanese they match
// anywhere.
var normWords = []struct {
	unspaced          bool
	cues, pins, other []string // pins count with the version of a tool: "sigue en Java 17", not "sigue en Madrid"
}{
	{ // German
		cues: []string{"ab sofort", "grundsätzlich", "ausschließlich", "ausnahmslos", "tabu", "eingefroren bis", "nur über", "nur aus", "nur von", "nur mit", "nur per", "nur nach", "nur durch", "nur noch", "nur am", "nur im", "nur in",
			"bleibt bis", "bleiben bis", "bleibt auf", "bleiben auf", "niemand", "nichts geht", "alles läuft über", "alles geht über", "nicht ohne", "wir verwenden nur", "wir nutzen nur", "nie ohne", "nie direkt", "wir deployen nie", "kein deploy", "keine deploys", "bleibt eingefroren", "wird nicht mehr", "werden nicht mehr", "immer in", "immer mit", "immer über"},
		other: []string{"ich", "mein", "meine", "meinen", "vielleicht", "gestern", "heute", "leider", "würde", "könnte", "war", "waren", "hatte", "glaube", "du", "bitte", "sie hat", "er hat", "weiß"},
	},
	{ // French
		cues:  []string{"uniquement", "exclusivement", "désormais", "dorénavant", "reste sur", "restent sur", "reste gelé", "reste gelée", "restent en", "personne ne", "rien ne part", "aucun déploiement", "aucune mise en production", "tout passe par", "passe par", "jamais sans", "pas de déploiement", "ne sort jamais", "ne sortent jamais", "on garde", "on n'utilise que", "toujours en", "toujours avec", "ne doit pas", "jusqu'à la fin de"},
		other: []string{"je", "j'ai", "mon", "ma", "mes", "peut-être", "hier", "aujourd'hui", "était", "étaient", "tu", "vous", "s'il", "sait", "crois", "aurait"},
	},
	{ // Spanish
		cues: []string{"únicamente", "exclusivamente", "a partir de ahora", "de ahora en adelante", "solo desde", "sólo desde", "solo por", "solo con", "solo en", "solo se", "sólo se", "se quedan en", "congelado hasta", "congelada hasta", "congelados hasta", "nadie toca", "nadie sube", "nadie despliega",
			"nada sale", "todo pasa por", "nunca sin", "ningún despliegue", "no se despliega", "no se toca", "no se hace", "no se usa", "siempre en", "siempre con"},
		pins:  []string{"queda en", "sigue en"},
		other: []string{"yo", "mi", "mis", "quizás", "quizá", "ayer", "hoy", "era", "fue", "creo", "tú", "usted", "sabe", "me"},
	},
	{ // Portuguese
		cues: []string{"apenas por", "apenas em", "apenas com", "apenas a partir", "somente", "exclusivamente", "a partir de agora", "de agora em diante", "só por", "só com", "só em", "só a partir", "só pelo", "só pela", "ficam em", "congelado até", "congelada até", "ninguém mexe", "ninguém toca", "ninguém faz", "nada sai",
			"tudo passa", "nunca sem", "nenhum deploy", "não se faz", "não se usa", "sempre em", "sempre com"},
		pins:  []string{"fica em", "fica no", "continua em", "continua no"},
		other: []string{"eu", "meu", "minha", "talvez", "ontem", "hoje", "era", "foi", "acho", "você", "me", "sabe"},
	},
	{ // Chinese
		unspaced: true,
		cues:     []string{"必须", "务必", "不得", "禁止", "严禁", "不允许", "不准", "只能", "一律", "不要", "统一用", "统一使用", "从现在起", "以后都", "以后一律", "保持在", "冻结到", "只从", "只在", "只用", "绝不", "始终用", "都要经过"},
		other:    []string{"我", "吗", "？", "昨天", "今天", "可能", "也许", "觉得", "请", "谢谢", "你", "」", "”"},
	},
	{ // Japanese
		unspaced: true,
		cues:     []string{"必ず", "禁止", "してはいけ", "てはならな", "ないでください", "しないこと", "すること。", "のみ", "に限る", "に限り", "原則", "統一", "今後は", "以降は", "凍結", "しか使わ", "だけから", "だけを使", "からのみ", "固定", "のままにする", "経由する", "許可しない"},
		other:    []string{"私", "？", "ですか", "昨日", "今日", "かもしれ", "と思", "お願い", "ありがとう", "たい", "」", "笑"},
	},
}

// foreignNorm is like isPractice, for the languages of normWords.
func (r *reader) foreignNorm(from, to int) bool {
	if r.jokes(from, to) || r.retells(from, to) || r.addressesModels(from, to) || r.cites(from, to) {
		return false
	}
	text := r.low[r.words[from].start:r.words[to-1].end]
	ascii := !strings.ContainsFunc(text, func(c rune) bool { return c >= utf8.RuneSelf })
	for i := range normWords {
		l := &normWords[i]
		if l.unspaced && ascii || !l.unspaced && r.tongue != german+tongue(i) {
			continue
		}
		if containsPhrase(text, l.cues, l.unspaced) || containsPhrase(text, l.pins, l.unspaced) && r.versioned(from, to) {
			whole := text
			if l.unspaced { // full stops of their own end no sentence here
				whole = r.low
			}
			if !containsPhrase(whole, l.other, l.unspaced) {
				return true
			}
		}
	}
	return false
}

// versioned reports whether words[from:to] have a tool and a number after it.
func (r *reader) versioned(from, to int) bool {
	return r.some(from, to, func(i int) bool {
		f := r.at(i)
		return f != nil && f.Type == Tool && r.figure(i, to)
	})
}

// containsPhrase reports whether text contains one of the phrases. Only whole words match, except in unspaced
// languages.
func containsPhrase(text string, phrases []string, unspaced bool) bool {
	for _, p := range phrases {
		for at := 0; ; {
			i := strings.Index(text[at:], p)
			if i < 0 {
				break
			}
			i += at
			if unspaced || boundary(text, i-1) && boundary(text, i+len(p)) {
				return true
			}
			at = i + len(p)
		}
	}
	return false
}

// boundary reports whether there is no letter at byte i.
func boundary(s string, i int) bool {
	return i < 0 || i >= len(s) || s[i] < 0x80 && !letter(s[i]) && (s[i] < '0' || s[i] > '9')
}
