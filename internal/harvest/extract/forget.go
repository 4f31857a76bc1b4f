package extract

import (
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/run/session"
)

// ForgetRequest is a user's request to forget what was said: "Forget what I said about the mailer."
type ForgetRequest struct {
	Text string // the sentence
	At   time.Time

	terms  []string // of what is to be forgotten; none if the request does not say what
	clause string   // what is to be forgotten, if it is a statement: "the port is 8080"
	number bool     // it is about a date or a number
}

// Names reports whether a text says what is to be forgotten: it has all words of the request or, of three
// or more, two thirds, among them every number.
func (r *ForgetRequest) Names(text string) bool {
	if len(r.terms) == 0 || r.number && !numbered(text) {
		return false
	}
	has := analysis.Terms(text)
	same := 0
	for _, t := range r.terms {
		if slices.Contains(has, t) {
			same++
		} else if numbered(t) {
			return false
		}
	}
	return same == len(r.terms) || len(r.terms) > 2 && 3*same >= 2*len(r.terms)
}

// About returns the words of what is to be forgotten, for a search; "" if the request does not say it.
func (r *ForgetRequest) About() string { return strings.Join(r.terms, " ") }

// maxForgetRequests is the maximum number of requests to forget that are read in one session.
const maxForgetRequests = 20

// ForgetRequests returns the user's requests to forget something, in the order in which they were made.
func ForgetRequests(tr *session.Transcript) (out []ForgetRequest) {
	if twoPeople(tr) {
		return nil
	}
	all := speeches(tr)
	for i := range all {
		s := &all[i]
		if !s.person || s.text == "" || givesOrders(s.text) {
			continue
		}
		parts, quotes := spoken(sentences(s.text)), quotations(s.text)
		if seemsPasted(parts) || hasProgramOutput(s.text) {
			continue
		}
		for k := range parts {
			if r, _, ok := asksToForget(&parts[k]); ok && !within(quotes, &parts[k]) {
				r.At = s.entry.At
				if out = append(out, r); len(out) == maxForgetRequests {
					return out
				}
			}
		}
	}
	return out
}

// forget removes what a request names from what was said in earlier messages, so that neither a
// statement nor the summary has it. A new value at the end of the request ("it's 9090") stands in the place
// of the old one. It reports whether there was such a value.
func (l *collector) forget(s *speech, r *ForgetRequest, rest string, room int) (amended bool) {
	if l.forgot++; l.forgot > maxForgetRequests {
		return false
	}
	reply, gives := consolidate.ReadReply(rest)
	left := l.found[:0:0]
	for n := range l.found {
		k := l.found[n]
		if k.from.name != s.name || !r.Names(k.text) {
			left = append(left, k)
			continue
		}
		l.drop[reasonCorrected]++
		if text, _ := reply.Amend(k.text); gives && !amended && text != "" && characters(text) <= room {
			fixed := k
			fixed.from, fixed.text, fixed.quote, fixed.corrected = s, text, rest, k.attributed(l.limit)
			left, amended = append(left, fixed.weighed(l.present)), true
		}
	}
	l.found = left
	if text, _ := reply.Amend(r.clause); gives && !amended && text != "" && characters(text) < room { // it was said in an earlier session
		said := candidate{from: s, text: capital(text) + " now.", quote: rest, sort: draft.Fact, confidence: 0.8}
		l.found, amended = append(l.found, said.weighed(l.present)), true
	}
	for p := s.before; p != nil; p = p.before {
		if p.person && p.name == s.name {
			p.parts = slices.DeleteFunc(p.parts, func(c sentence) bool { return r.Names(c.text) })
		}
	}
	return amended
}

// withoutForgotten removes requests to forget, and what they name, from the sentences of a message.
func (s *speech) withoutForgotten(requests []ForgetRequest) {
	if len(requests) == 0 {
		return
	}
	s.parts = slices.DeleteFunc(s.parts, func(c sentence) bool {
		return slices.ContainsFunc(requests, func(r ForgetRequest) bool { return strings.HasPrefix(c.text, r.Text) || r.Names(c.text) })
	})
}

// The words of a request to forget, in all languages that are read.
var (
	// What may stand before the verb.
	leadsToVerb = list(`please, ok, okay, oh, hey, hi, hello, actually, and, but, so, also, then, well, sorry, wait, just, kindly, can you, could you, would you, will you, you can, you should, you may, i want you to, i'd like you to, i would like you to,
		bitte, und, ach, hallo, kannst du, könntest du, können sie, könnten sie, du kannst, du sollst, s'il te plaît, s'il vous plaît, alors, finalement, en fait, peux-tu, tu peux, pouvez-vous, vous pouvez, pourrais-tu, pourriez-vous,
		por favor, oye, mira, bueno, en realidad, puedes, podrías, olha, na verdade, você pode, pode, poderia, podes`)
	forgetting = list(`forget, stop remembering, i don't want you to remember, i do not want you to remember, you don't need to remember, no need to remember,
		vergiss, vergesst, vergessen sie, oublie, oubliez, oublier, olvida, olvide, olvidá, olviden, olvidar, olvídate de, olvídese de, esquece, esqueça, esqueçam, esquecer`)
	takingBack = list(`ignore, disregard, scratch, discard, delete, erase, drop, ignoriere, ignorier, streich, ignorez, ignora, borra, apaga`)
	// What may stand between the verb and what is to be forgotten.
	afterForget = list(`about, please, just, bitte, einfach, mal, doch, jetzt, s'il te plaît, s'il vous plaît, por favor`)

	whatWasSaid = list(`what i, what i've, what we, everything i, everything i've, everything we, everything you, all i, all that i, anything i, what you, the things i, was ich, was wir, alles was ich, ce que je, ce que j'ai, ce qu'on, tout ce que, lo que, todo lo que, o que, do que, tudo o que, tudo que`)
	saying      = analysis.Set(`said told wrote mentioned know habe gesagt erzählt geschrieben erwähnt weißt dit raconté écrit mentionné sais dije dicho conté contado escribí mencioné sabes disse falei contei escrevi mencionei sabe`)
	aboutWhat   = analysis.Set(`about regarding concerning on über zu zum zur von bezüglich wegen sur concernant propos sujet de du des sobre acerca respecto do da dos das`)
	// Whatever follows these is to be forgotten.
	named = list(`everything about, all about, anything about, the fact that, das mit, alles über, dass, tout sur, l'histoire de, l'histoire du, le fait que, que, lo de, lo del, todo sobre, el hecho de que, tudo sobre, isso de, aquilo do, aquilo da, o fato de que`)
	// As in "the rule about", which needs a word such as "about" behind it.
	articles = analysis.Set(`the that this my our das die den der meine unsere la le les ma notre el lo los las mi nuestra o a os as do da minha nossa`)
	kept     = analysis.Set(`rule rules fact facts note notes reminder preference preferences convention conventions decision agreement part bit thing things regel regeln sache geschichte vorgabe notiz teil règle règles histoire préférence consigne regla reglas cosa preferencia nota regra regras coisa preferência`)
	keptOn   = analysis.Set(`about on that for of with regarding concerning mit zu zum zur über dass von sur de du des que sobre do da`)
	owned    = analysis.Set(`my our mein meine meinen meinem meiner meines unser unsere unseren unserem unserer mon ma mes notre nos mi mis nuestro nuestra nuestros nuestras meu minha meus minhas nosso nossa nossos nossas`)
	subjects = analysis.Set(`i i'm i've i'd we we're we've my our he she they his her their the`)
	pointsAt = analysis.Set(`it that this das es dies alles ça cela tout eso esto ello todo isso isto aquilo tudo`)
	reasons  = analysis.Set(`because since cause weil denn parce car puisque porque pois please bitte`)
	memories = list(`from your memory, from your memories, from your notes, aus deinem gedächtnis, aus deinem speicher, de ta mémoire, de votre mémoire, de tu memoria, de su memoria, da sua memória, da tua memória, de sua memória`)
	// Words that say what kind of thing it is, which what was said about it need not contain.
	kindOfThing = analysis.Set(`date dates day time number info information details detail data anymore earlier before yesterday today being everything anything all old previous last
		datum tag nummer früher gestern vorhin uhrzeit jour numéro info hier tantôt avant fecha día número hora antes ayer data dia ontem favor plaît s'il message question request`)
	countable = analysis.Set(`date dates number datum nummer numéro fecha número data`)
)

// asksToForget reads a request to forget something. rest is the offset at which the sentence goes on with
// something else. ok is false if the sentence is no such request.
func asksToForget(s *sentence) (r ForgetRequest, rest int, ok bool) {
	r = ForgetRequest{Text: s.text}
	w := s.words
	if len(w) == 0 || s.item || hasCredential(s) {
		return r, 0, false
	}
	if analysis.Unspaced(rune0(s.text)) {
		about, ok := unspacedForget(s.text)
		r.terms = analysis.Terms(about)
		return r, len(s.text), ok
	}
	i, end, sure, ok := forgetVerb(s)
	if !ok {
		return r, 0, false
	}
	from := -1
	if till := memories.in(w[i:end]); till > 0 {
		from, end = i, i+till
	} else if n := whatWasSaid.starts(w[i:end]); n > 0 && has(w[i+n:end], end, saying) {
		from = afterAbout(w[:end], i+n)
	} else if !sure {
		return r, 0, false
	} else {
		from = namedFrom(w[:end], i)
	}
	switch {
	case from >= 0:
		r.object(s.text, w[from:end])
		if end-from > 3 && w[from-1].low == "that" {
			r.clause = s.text[w[from].start:w[end-1].end]
		}
	case !pointsAt[w[i].low] && w[i-1].low == "forget":
		return r, 0, false // "Forget the tests, we ship today." An order like others
	default: // "Oublie ça."
		return r, len(s.text), true
	}
	for end < len(w) && (w[end].low == "gesagt" || w[end].low == "habe" || w[end].low == "vergessen" || memories.starts(w[end:]) > 0) {
		end += max(1, memories.starts(w[end:]))
	}
	if end < len(w) && !reasons[w[end].low] {
		return r, w[end].start, true
	}
	return r, len(s.text), true
}

// forgetVerb reads the verb of a request to forget something. What is to be forgotten stands in the words from up to
// end. sure is false for a verb such as "delete", which may be about something else.
func forgetVerb(s *sentence) (from, end int, sure, ok bool) {
	w := s.words
	i := 0
	for n := 1; n > 0 && i < len(w); i += n {
		if n = leadsToVerb.starts(w[i:]); n == 0 && w[i].comma && sayNo[w[i].low] {
			n = 1
		}
	}
	end = clauseEnd(s, i)
	sure = forgetting.starts(w[i:]) > 0
	n := max(forgetting.starts(w[i:]), takingBack.starts(w[i:]))
	switch {
	case n > 0 && !(i > 0 && sayNo[w[i-1].low] && !w[i-1].comma):
	case i > 0 && end-i > 1 && w[end-1].low == "vergessen": // "Kannst du bitte meine Adresse vergessen?"
		sure, end = true, end-1
	case i > 0 && w[i-1].low == "please" && (follows(w[i:], []string{"don't", "remember"}) || follows(w[i:], []string{"do", "not", "remember"})):
		sure = true
		for n++; low(w, i+n-1) != "remember"; n++ {
		}
	default:
		return 0, 0, false, false
	}
	for i += n; i < len(w); i += n {
		if n = afterForget.starts(w[i:]); n == 0 {
			break
		}
	}
	if i > 0 && i < len(w) && end <= i { // "Vergiss, dass …"
		end = clauseEnd(s, i)
	}
	if low(w, len(w)-1) == "vergessen" && end == len(w) {
		end--
	}
	ok = i < end && !sayNo[w[i].low] && w[i].low != "pas" && !sayNo[w[end-1].low] // not: "Vergiss deine Tasche nicht."
	return i, end, sure, ok
}

// clauseEnd returns the index of the word behind the clause that begins at word i.
func clauseEnd(s *sentence, i int) int {
	for ; i < len(s.words); i++ {
		if w := &s.words[i]; i+1 < len(s.words) && (strings.ContainsAny(s.text[w.end:s.words[i+1].start], ",;:–—") || reasons[s.words[i+1].low]) {
			return i + 1
		}
	}
	return len(s.words)
}

// afterAbout returns the index of the word behind "about" and the like, or the length of words if there is none.
func afterAbout(w []word, i int) int {
	for ; i < len(w); i++ {
		if aboutWhat[w[i].low] {
			return i + 1
		}
	}
	return len(w)
}

// namedFrom returns the index at which words name what is to be forgotten, of those that begin at word i:
// something of the speaker or of a named person, a fact, or a rule about something. It returns -1 for other words.
func namedFrom(w []word, i int) int {
	if n := whatWasSaid.starts(w[i:]); n > 0 {
		return -1
	}
	if n := named.starts(w[i:]); n > 0 {
		return i + n
	}
	if articles[w[i].low] && kept[low(w, i+1)] && keptOn[low(w, i+2)] {
		return i + 3
	}
	if strings.HasPrefix(w[i].low, "qu'") {
		return i
	}
	if w[i].low == "that" && i+2 < len(w) && (subjects[w[i+1].low] || w[i+1].upper) {
		return i + 1
	}
	for k := i; k < min(i+5, len(w)); k++ {
		if owned[w[k].low] || w[k].upper && strings.HasSuffix(w[k].low, "'s") {
			return i
		}
	}
	return -1
}

// object sets what is to be forgotten.
func (r *ForgetRequest) object(text string, words []word) {
	for i := range words {
		w := words[i].low
		if n := strings.IndexByte(w, '\''); n > 0 && n < 3 { // "l'adresse"
			w = w[n+1:]
		}
		if saying[w] || kindOfThing[w] || owned[w] || isFunctionWord(w) {
			continue
		}
		if w == "" {
			w = text[words[i].start:words[i].end] // code
		}
		for _, t := range analysis.Terms(w) {
			if !slices.Contains(r.terms, t) {
				r.terms = append(r.terms, t)
			}
		}
	}
	r.number = has(words, len(words), countable)
}

// isFunctionWord reports whether a word is among the most frequent ones of a language.
func isFunctionWord(w string) bool {
	for _, list := range frequent() {
		if list[w] {
			return true
		}
	}
	return analysis.IsStopWord(w)
}

// unspacedForget returns what a sentence in Japanese or Chinese asks to forget.
func unspacedForget(text string) (about string, ok bool) {
	text = strings.TrimRight(text, "。.！!吧 ")
	if before, after, found := strings.Cut(text, "忘れて"); found {
		if after != "" && !slices.ContainsFunc(forgetPlease, func(p string) bool { return strings.HasPrefix(after, p) }) {
			return "", false // "忘れていました" says that somebody forgot
		}
		return trimEach(before, "私の", "さっきの", "は", "を", "も", "のこと", "について言ったこと"), true
	}
	bare := trimEach(text, "请", "麻烦你", "你可以", "你", "那就")
	asks := bare != text
	if inside, isObject := strings.CutPrefix(bare, "把"); isObject {
		for _, verb := range forgetChinese {
			if inside, found := strings.CutSuffix(inside, verb); found {
				return trimEach(inside, "我说的", "我说过的", "关于", "我的", "的事", "这件事", "的话"), true
			}
		}
		return "", false
	}
	for _, verb := range forgetChinese {
		if object, found := strings.CutPrefix(bare, verb); found && (asks || verb == "忘掉") {
			return trimEach(object, "我说的", "我说过的", "关于", "我的", "的事", "这件事", "的话"), true
		}
	}
	return "", false
}

var (
	forgetPlease  = []string{"ください", "下さい", "ほしい", "欲しい", "くれ", "もらえ", "もらって", "いいです", "お願い"}
	forgetChinese = []string{"忘掉", "忘记", "忘了"}
)

// trimEach cuts each of the affixes off both ends of a text, in their order.
func trimEach(text string, affixes ...string) string {
	for _, a := range affixes {
		text = strings.TrimSuffix(strings.TrimPrefix(text, a), a)
	}
	return text
}
