package reading

// orders reports that word i begins a clause, but for "please", "and", a condition,
// or "I want you to".
func (r *reader) orders(from, i int) bool {
	j := i - 1
	for j >= from {
		w := &r.words[j]
		switch w.low {
		case "please", "and", "also", "but", "so", "then", "or", "generally", "kindly", "always", "never", "bitte", "just", "again":
			if r.words[j+1].broken && j < i-1 {
				return true
			}
			j--
			continue
		case "to":
			return r.wish(from, j)
		}
		break
	}
	return j < from || r.words[j+1].broken
}

// wish reports "I want you to", "I'd like you to", "you are to" before word j.
func (r *reader) wish(from, j int) bool {
	if j-2 >= from && r.is(j-1, "you") {
		switch r.words[j-2].low {
		case "want", "need", "like", "expect", "ask", "prefer", "tell", "asking", "remind":
			return true
		}
	}
	return j-1 >= from && (r.is(j-1, "remember") || r.is(j-1, "sure"))
}

// chat are orders that are said to be kind, or to go on.
func chat(low string) bool {
	switch low {
	case "mind", "worry", "know", "think", "forget", "get", "give", "be", "let", "stop", "seen", "been", "say", "ever", "again", "even", "really", "care", "have", "miss", "hesitate", "want", "need", "had", "feel",
		"like", "love", "see", "believe", "wanna", "a", "an", "the", "in", "on", "to", "have to", "sweat", "underestimate":
		return true
	}
	return false
}

// base reports a word that can be a verb in its base form.
func (r *reader) base(i int) bool {
	if i >= len(r.words) {
		return false
	}
	w := &r.words[i]
	n := len(w.low)
	if w.broken || n < 2 || w.code || w.entry.is(function|past|adjective) || w.entry.is(finite) && !w.entry.is(verb|common) {
		return false
	}
	if w.entry.is(verb) {
		return true
	}
	switch {
	case n > 4 && (w.low[n-2:] == "ed" || w.low[n-3:] == "ing" || w.low[n-2:] == "ly"), w.low[n-1] == 's' && w.low[n-2] != 's', w.upper:
		return false
	}
	return true
}

// standing reports whether never or always at i is an order or an agreement, rather
// than a report: "never deploy", "we always squash", "secrets are never logged".
func (r *reader) standing(from, i, to int) bool {
	next := i + 1
	if r.is(next, "again") || next >= to {
		return false
	}
	if r.orders(from, i) { // "never deploy"
		return r.voice != person && r.base(next) && !chat(r.words[next].low) && r.ordered(from, i, next)
	}
	prev := &r.words[i-1]
	switch {
	case prev.low == "must" || prev.low == "should" || prev.low == "shall":
		return r.regulated(from, i-1)
	case prev.low == "may" || prev.low == "can":
		return r.words[i].low == "never" && r.regulated(from, i-1)
	case prev.entry.is(plural) && !prev.entry.is(determiner): // we never deploy
		return r.voice != person && r.base(next) && !chat(r.words[next].low)
	case r.words[i].low == "never" && (prev.code || prev.path) && r.words[next].entry.is(verb): // `a` and `b` never import `c`
		return r.voice != person
	case prev.low == "are" || prev.low == "is" || prev.low == "be": // secrets are never logged
		return r.words[i].low == "never" && r.voice != person && r.regulated(from, i-1) && r.participle(next) && !r.negated(from, i) && (i-2 < from || !r.words[i-2].entry.is(neuter|second))
	case prev.low == "to": // remember to always, I want you to never
		return r.voice != person && r.wish(from, i-1)
	case prev.low == "you":
		return r.voice == user && r.before(from, i, "that") && (r.before(from, i, "want") || r.before(from, i, "prefer") || r.before(from, i, "like"))
	}
	return false
}

// ordered reports that word next is the verb of an order: one that the rules know, or
// one with an object, at the start of a sentence.
func (r *reader) ordered(from, i, next int) bool {
	if r.words[next].entry.is(verb) {
		return true
	}
	return i <= from+1 && next+1 < len(r.words) && !r.words[next+1].broken && r.words[next+1].entry.is(determiner|preposition)
}

// participle reports a form such as logged, written.
func (r *reader) participle(i int) bool {
	if i >= len(r.words) {
		return false
	}
	w := &r.words[i]
	n := len(w.low)
	if n > 3 && w.low[n-2:] == "ed" {
		return true
	}
	switch w.low {
	case "written", "sent", "kept", "put", "stored", "read", "run", "set", "given", "taken", "held", "built", "shown", "overwritten", "reset", "rewritten", "left", "made", "done":
		return true
	}
	return false
}

// forbids reports whether the negation at i is a prohibition: "do not deploy".
func (r *reader) forbids(from, i, to int) bool {
	at, next := i, i+1
	if r.words[i].low == "not" {
		if !r.is(i-1, "do") {
			return r.words[i].low == "not" && r.is(i-1, "to") && r.voice == user && r.is(i-2, "you") && r.base(next)
		}
		at = i - 1
	}
	if r.is(next, "ever") { // do not ever
		next++
	}
	if next >= to || r.voice == person || !r.base(next) || chat(r.words[next].low) {
		return false
	}
	if r.orders(from, at) {
		return true
	}
	prev := &r.words[at-1]
	return prev.entry.is(plural) && !prev.entry.is(determiner) && r.words[next].entry.is(verb) && r.voice == nobody && (r.later(i, to, "without") || r.later(i, to, "before"))
}
