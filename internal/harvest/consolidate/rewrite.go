package consolidate

// based reads "is based in" as "lives in".
func (t *text) based() {
	for i := 0; i+2 < len(t.words); i++ {
		if w := t.words[i:]; w[0].norm == "be" && w[1].norm == "base" && w[1].has(passive) && w[2].norm == "in" {
			w[1].norm, w[1].is = "live", verb
			t.words = append(t.words[:i], w[1:]...)
			return
		}
	}
}

// dates brings "15 October" and "15th of October" into the order of "October 15",
// and drops "version" before a number.
func (t *text) dates() {
	w := t.words
	for i := 0; i+1 < len(w); i++ {
		j := i + 1
		if w[j].norm == "of" && j+1 < len(w) {
			j++
		}
		switch {
		case w[i].has(number) && len(w[i].norm) <= 2 && isMonth[w[j].norm] && (j+1 == len(w) || !w[j+1].has(number) || len(w[j+1].norm) > 2):
			t.edits++
			w[i], w[j] = w[j], w[i]
			w[i].cut, w[j].cut = w[j].cut, 0
			if j == i+2 {
				w = append(w[:i+1], w[j:]...)
			}
		case w[i].norm == "version" && w[i+1].has(number) && i > 0 && !w[i-1].has(be|verb|prep):
			w = append(w[:i], w[i+1:]...)
		}
	}
	t.words = w
}

var isMonth = map[string]bool{
	"january": true, "february": true, "march": true, "april": true, "may": true, "june": true, "july": true,
	"august": true, "september": true, "october": true, "november": true, "december": true,
}

// copula reads "Port: 8080" as "Port is 8080" where there is no verb.
func (t *text) copula() {
	for i := range t.words {
		if t.words[i].has(be | verb) {
			return
		}
	}
	for i := 1; i < len(t.words) && i < 6; i++ {
		if t.words[i].cut == ':' {
			t.words = append(t.words, word{})
			copy(t.words[i+1:], t.words[i:])
			t.words[i] = word{norm: "be", raw: ":", is: be}
			t.words[i+1].cut = 0
			return
		}
	}
}

// genitive brings "the owner of the ledger is" into the order of "the ledger's
// owner is", on both sides of the verb; so "for", after an attribute.
func (t *text) genitive() {
	at := verbAt(t.words)
	if at < 0 {
		return
	}
	rest := t.words[at+1:]
	if t.words[at].norm == "be" {
		rest = turn(rest)
	}
	subject := turn(t.words[:at])
	if len(subject)+1+len(rest) == len(t.words) {
		return
	}
	t.edits++
	w := append(subject[:len(subject):len(subject)], t.words[at])
	t.words = append(w, rest...)
}

// turn turns "owner of ledger" into "ledger owner". Whatever is more than that
// stays as it is.
func turn(w []word) []word {
	of := -1
	for i := range w {
		if w[i].has(verb|be|negates|modal|counts|limits|joins) && i > 0 || w[i].cut != 0 && i > 0 || w[i].has(article) {
			return w
		}
		if of < 0 && i > 0 && i < 3 && (w[i].norm == "of" || w[i].norm == "for" && w[i-1].has(functional)) {
			of = i
		} else if of >= 0 && w[i].has(prep) {
			return w
		}
	}
	if of < 1 || of+1 >= len(w) {
		return w
	}
	out := make([]word, 0, len(w)-1)
	out = append(out, w[of+1:]...)
	out[len(out)-1].is |= owner
	return append(out, w[:of]...)
}
