package reading

// foreign reports the common forms of must, must not, always and never in German,
// French and Spanish.
func (r *reader) foreign(from, i, to int) bool {
	if r.voice == person {
		return false
	}
	switch r.words[i].low {
	case "muss", "müssen": // not: ich muss, das muss an … liegen
		return !r.around(from, i, "ich", "du", "er", "sie", "wir", "es", "das") && !r.later(i, to, "sein") && !r.later(i, to, "haben") || r.around(from, i, "wir") && r.later(i, to, "immer")
	case "darf", "dürfen":
		return !r.around(from, i, "ich", "du") && (r.later(i, to, "nicht") || r.later(i, to, "nie") || r.later(i, to, "niemals") || r.later(i, to, "kein") || r.later(i, to, "keine") || r.later(i, to, "nur"))
	case "nie", "niemals":
		return (i == from || r.is(i-1, "bitte")) && r.german(to-1) && !r.has(i, to, first)
	case "immer":
		return (i == from || r.is(i-1, "bitte") || i == from+1 && r.german(from)) && (r.german(to-1) || r.is(i-1, "bitte") || r.german(from))
	case "doit", "doivent":
		return !r.around(from, i, "je", "tu", "il", "elle", "ce", "ça", "cela") && !r.is(i+1, "être") && !r.is(i+1, "avoir") || r.later(i, to, "jamais") || r.later(i, to, "pas")
	case "jamais":
		return r.is(from, "ne") && i <= from+3
	case "faut":
		return r.before(from, i, "il") && !r.before(from, i, "ne") || r.before(from, i, "ne")
	case "toujours":
		return i == from+1 && !r.words[from].entry.is(function)
	case "nunca":
		return i == from && !r.is(i+1, "he") && !r.is(i+1, "fui") && !r.is(i+1, "mais")
	case "siempre":
		return i == from || i == from+1 && !r.words[from].entry.is(function) && !r.is(from, "yo") && !r.is(from, "casi")
	case "debe", "deben":
		return !r.is(i+1, "haber") && !r.is(i+1, "ser") && !r.is(i+1, "estar") && !r.is(i+1, "de") || r.before(from, i, "no")
	}
	return false
}

// around reports one of the pronouns right before or behind word i.
func (r *reader) around(from, i int, lows ...string) bool {
	for _, low := range lows {
		if i > from && r.is(i-1, low) || r.is(i+1, low) {
			return true
		}
	}
	return false
}

// german reports an infinitive or an imperative: words end in -en, or are e as in
// antworte.
func (r *reader) german(i int) bool {
	if i < 0 || i >= len(r.words) {
		return false
	}
	low := r.words[i].low
	n := len(low)
	return n > 4 && (low[n-2:] == "en" || low[n-2:] == "rn" || low[n-1] == 'e')
}
