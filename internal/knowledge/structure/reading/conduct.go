package reading

// conduct reports an order of how to behave rather than of what to do about a thing:
// "always answer in English", "never use emojis", "call me Mo". It is about nothing
// that a turn could name, so that it has to hold in every one.
func (r *reader) conduct(primary *found) bool {
	if !r.rule || r.voice == person || primary.Known || primary.Type != Unknown || len(r.claim.Entities) > 0 {
		return false
	}
	for from := r.body; from < len(r.words); from = r.end(from) {
		to := r.end(from)
		for i := from; i < to; i++ {
			w := &r.words[i]
			if !behaves(w.low) || !r.orders(from, i) && !r.forbidden(from, i) {
				continue
			}
			return primary.Confidence <= ByObject || language(primary.Name) || r.has(i+1, min(i+3, to), first)
		}
	}
	return false
}

// forbidden reports "don't" or "do not" right before the order at i.
func (r *reader) forbidden(from, i int) bool {
	switch {
	case r.is(i-1, "don't"), r.is(i-1, "never"), r.is(i-1, "always"):
		return r.orders(from, i-1)
	case r.is(i-1, "not") && r.is(i-2, "do"):
		return r.orders(from, i-2)
	}
	return false
}

// behaves reports a verb of what an assistant does in any conversation.
func behaves(low string) bool {
	switch low {
	case "answer", "reply", "respond", "write", "speak", "talk", "say", "ask", "explain", "format", "address", "greet", "call", "translate", "summarise",
		"summarize", "be", "use", "commit", "apologise", "apologize", "antworte", "antworten":
		return true
	}
	return false
}

// language reports the name of a language that people speak.
func language(name string) bool {
	switch name {
	case "english", "german", "french", "spanish", "italian", "portuguese", "dutch", "polish", "russian", "ukrainian", "turkish", "chinese", "mandarin",
		"japanese", "korean", "arabic", "hebrew", "hindi", "swedish", "norwegian", "danish", "finnish", "greek", "czech", "hungarian", "romanian", "vietnamese",
		"deutsch", "francais", "espanol", "englisch":
		return true
	}
	return false
}
