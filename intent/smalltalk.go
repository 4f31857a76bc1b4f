package intent

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/analysis"
)

// smallTalk reports whether no knowledge could help to answer a message: it contains only
// politeness, assent, a greeting, a choice by number, or no words. Any unknown word makes it false,
// with two exceptions: a name after a greeting ("Hi Claude"), and the reason for a thank-you
// ("Thanks for explaining that").
func smallTalk(words []word) bool {
	if len(words) == 0 {
		return true
	}
	if len(words) > 14 {
		return false
	}
	if len(words) == 1 && len(words[0].text) <= 2 && digits(words[0].text) {
		return true // "2": a choice among offered ones
	}
	if onlyPhatic(words) {
		return true
	}
	if n := len(words); words[n-1].asks && !greets(words) {
		return false
	}
	first := words[0].low
	if thanks[first] && gratitude(words) {
		return true
	}
	unknown := 0
	for i := range words {
		w := &words[i]
		if w.code || w.quoted == '`' {
			return false
		}
		if known(w) || greeted(words, i) {
			continue
		}
		unknown++
		if i == 0 || digits(w.text) || isSymbol(w) != notSymbol || w.comma && !capital(w.text) {
			return false
		}
	}
	return unknown == 0 || unknown == 1 && len(words) <= 4 && (thanks[first] || greetings[first])
}

// known reports whether a word is typical of small talk.
func known(w *word) bool {
	return courtesies[w.low] || thanks[w.low] || greetings[w.low]
}

// gratitude reports whether words are one sentence that thanks for something.
func gratitude(words []word) bool {
	hasFor := false
	for i := range words {
		w := &words[i]
		if i > 0 && (w.opens || w.comma || w.first) || w.asks || w.code || isSymbol(w) != notSymbol || w.text == "but" {
			return false
		}
		hasFor = hasFor || w.text == "for"
	}
	return hasFor
}

// greetingQuestions are questions that want no information.
var greetingQuestions = [...]string{"how are you", "how are things", "how's it going", "hows it going", "how is it going",
	"what's up", "whats up", "how do you do", "are you there", "you there"}

// greets reports whether the words end in a greeting question.
func greets(words []word) bool {
	for i := range words {
		if greeted(words, i) {
			return true
		}
	}
	return false
}

// greeted reports whether word i is part of a greeting question.
func greeted(words []word, i int) bool {
	for _, q := range greetingQuestions {
		for start := max(0, i-3); start <= i; start++ {
			if n := matches(words[start:], q); start+n > i {
				return true
			}
		}
	}
	return false
}

// matches returns the number of words in phrase if words begin with it; 0 otherwise.
func matches(words []word, phrase string) int {
	n := 0
	for p := range strings.FieldsSeq(phrase) {
		if n == len(words) || !equalWord(&words[n], p) {
			return 0
		}
		n++
	}
	return n
}

// equalWord reports whether a word equals p, which may be a contraction of "is".
func equalWord(w *word, p string) bool {
	p, s := strings.CutSuffix(p, "'s")
	return s == w.possessive && len(w.text) == len(p) && utf8.ValidString(w.text) && strings.EqualFold(w.text, p)
}

var (
	thanks = analysis.Set(`thanks thank thx ty tysm cheers gracias merci danke obrigado obrigada grazie спасибо 谢谢 謝謝 多谢
		ありがとう ありがとうございます 감사합니다 고마워 고마워요 شكرا תודה`)
	greetings = analysis.Set(`hi hello hey heya howdy yo morning afternoon evening greetings hola bonjour salut hallo ciao olá oi привет
		你好 您好 こんにちは おはよう 안녕 안녕하세요 مرحبا שלום`)
	courtesies = analysis.Set(`ok okay k kk okey great good nice cool awesome perfect excellent amazing wonderful fantastic brilliant
		lovely fine alright right sweet neat superb got it gotcha understood noted makes sense sounds looks that that's this
		works worked yes yeah yep yup ya y sure no nope nah n please pls do go on ahead continue proceed carry keep going doing next
		more bye goodbye goodnight see later soon cya welcome well done job wow haha hahaha lol hmm hm mhm oh ah aha i im will
		very much so really too a lot all for now to me you u agreed exactly correct true indeed absolutely definitely
		certainly of course problem worries never mind nvm the my your again with and is was were be been are am not bad at
		lgtm ship +1 help answer explanation info information advice work day night weekend have had an just
		friend mate buddy man dude everyone there back love like appreciate glad happy
		да нет ок хорошо oui non ja nein sí si não sim d'accord 好 好的 是 是的 对 嗯 行 可以 不 没问题 はい いいえ 了解
		了解です わかりました 네 아니요 응 نعم لا כן לא`)
)

// phaticParts lists phrases that people use to be polite, to continue a conversation, or to steer
// it. No knowledge answers them. The notation is that of frameParts; a contracted verb ("that's")
// is not a separate word.
const phaticParts = `
	good|great|nice|lovely|happy day|morning|afternoon|evening|night|weekend|one|trip|holidays|birthday|anniversary everyone|all|there|to_you?
	have|having a good|great|nice|lovely|safe|wonderful|fun day|morning|afternoon|evening|night|weekend|one|trip|time
	happy new year
	merry christmas
	congratulations|congrats on|to_you?
	who|what are you
	what can you do for_me?
	what do you do
	what is|are your name|names
	tell me a joke
	tell|say me? something funny
	can you hear|see me
	are|is you|anyone|anybody there|awake|ready|ok|okay
	could|can|would you say|repeat that again?
	say|come that|it again
	what did you say
	shorter|longer|slower|again|simpler please?
	keep it short|brief|simple
	in other words
	one|a moment|second|sec|minute please?
	just|wait|hold|hang on? a|one moment|second|sec|minute please?
	hold|hang on
	let me think about|it|that|this?
	never mind
	forget it|that|about_it|about_that
	that|it is|was? all for? today|now?
	that|it is? fine|ok|okay|all_right|alright
	see you|ya tomorrow|later|soon|around|then|monday|tuesday|wednesday|thursday|friday
	take care
	talk to_you? later|soon|tomorrow
	i am|was|feel? a_bit|a_little|so|very|just? tired|away|busy|back|sleepy|bored|hungry|late
	sorry about|for? that|this|late|away?
	sorry i was? late|away|busy
	i agree|disagree|understand|see
	i do|don't think so|know
	i don't know
	well done
	good|great|nice|bad bot|job|work|one|point|idea|question
	you are? the|so|very? best|great|awesome|amazing|funny|welcome
	stop that|it|now?
	go|keep on|ahead|going
	nice|lovely|bad|terrible weather today?
	isn't|aren't|right it|you|they?
	how is|are|was? you|it|everything|things|life|your_day|your_weekend going?
	that is|was? really|very|so|super|pretty|all? helpful|useful|funny|great|good|nice|perfect|awesome|cool|interesting|kind|quick
	let|lets|let's do that|it|this|so
	long time no see
	nice to meet|see you
	thank|thanks you? for? that|it|this|everything|your_help?`

var phatic = sync.OnceValue(func() *phrases {
	root := &phrases{}
	for line := range strings.Lines(phaticParts) {
		if slots := strings.Fields(line); len(slots) > 0 {
			root.add(slots)
		}
	}
	return root
})

// onlyPhatic reports whether words consist only of such phrases and courtesies, with at least one
// phrase.
func onlyPhatic(words []word) bool {
	found, phatic := false, phatic()
	for i := 0; i < len(words); {
		w := &words[i]
		if n := phatic.longest(words[i:]); n > 0 && w.quoted != '`' {
			found = true
			i += n
			continue
		}
		if !known(w) || w.code || w.quoted == '`' {
			return false
		}
		i++
	}
	return found
}
