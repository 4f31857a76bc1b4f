package reading

import "strings"

// skipOpening skips words that begin a message without content: "Hm, …", "By the way: …",
// "Pour le contexte, …".
func (r *reader) skipOpening() {
	for range 3 {
		n := 0
		for n < 4 && r.body+n < len(r.words) && r.words[r.body+n].stop == 0 {
			n++
		}
		if r.body+n+1 >= len(r.words) {
			return
		}
		last := &r.words[r.body+n]
		phrase := r.text[r.words[r.body].start:last.end]
		if stop := last.stop; n < 4 && stop != 0 && openings[strings.ToLower(phrase)] {
			r.begin(r.body + n + 1)
		} else if loneOpenings[r.words[r.body].low] && !r.words[r.body].code {
			r.begin(r.body + 1)
		} else {
			return
		}
	}
}

var openings, loneOpenings = func() (map[string]bool, map[string]bool) {
	before, alone := map[string]bool{}, map[string]bool{}
	for p := range strings.SplitSeq(`hi, hiya, hello, hey, ok, okay, k, right, well, so, yes, yeah, no, nope, ah, oh, hm, hmm, ugh, btw, by the way, fyi, fwiw, ah yes, oh and, also, and, now, anyway, god no, god, correct, exactly, sure, plot twist, bad news, good news, update, news, done, context, for context,
		for the record, me again, quick intro, quick note, note, small correction, thinking aloud, long message incoming, one more thing, while i have you, first, second, finally, next, true, thanks, cheers, noted, agreed, hi again, heads up,
		hallo, moin, guten morgen, guten tag, guten abend, servus, also, übrigens, ach ja, ach so, ja, nein, genau, stimmt, fürs protokoll, zur info, zum kontext, kurze info, noch was, nochmal, dann,
		salut, bonjour, pour le contexte, au fait, ah et, oui, non, bon, alors, du coup, pour info, petite précision, voilà, donc, interdiction,
		hola, buenas, novedad, te cuento, por cierto, a ver, sí, bueno, pues, vale, para contexto, ojo, una cosa,
		oi, olá, mudança, aliás, então, sim, não, bom, beleza, pra contexto, novidade, uma coisa`, ",") {
		before[strings.TrimSpace(p)] = true
	}
	for w := range strings.FieldsSeq("btw fyi fwiw hm hmm ugh übrigens anyway") {
		alone[w] = true
	}
	return before, alone
}()
