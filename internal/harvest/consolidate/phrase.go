package consolidate

// drop resolves words that do not stay, or do so as another. It reports whether w
// is gone.
func (r *resolver) drop(w *word) bool {
	switch w.norm {
	case "a", "an":
		r.det |= article
		return r.i+1 < len(r.in)
	case "the", "this", "these":
		r.det |= definite
		return r.i+1 < len(r.in) && !r.is(1, be)
	case "my", "mine":
		w.norm, w.is = "user", owner
		return false
	case "that":
		return r.i > 0 && r.i+1 < len(r.in)
	case "new": // "Ana's new phone number" was another one before
		if r.is(1, functional) && r.i > 0 && r.in[r.i-1].has(owner) {
			r.text.weak = "new"
			r.text.edits++
			return true
		}
		return false
	case "no":
		if r.norm(1) == "longer" || r.norm(1) == "more" && r.i+2 == len(r.in) {
			r.i++
			w.norm, w.is = "not", negates|ending
			r.text.strong = "no longer"
		}
		return false
	case "any":
		if r.norm(1) == "longer" || r.norm(1) == "more" && r.i+2 == len(r.in) {
			r.i++
			r.text.strong = "any longer"
			return true
		}
		return false
	case "instead", "rather":
		return r.instead(w)
	case "as", "since", "from", "starting", "effective":
		return r.since(w)
	case "due", "thanks", "owing":
		if r.norm(1) == "to" {
			r.i++
			w.norm, w.is = "because", adds
		}
		return false
	case "too":
		if r.i+1 < len(r.in) && r.in[r.i+1].cut == 0 {
			return false
		}
		r.text.also = true
		return true
	}
	if w.has(filler) {
		r.text.edits++
		switch w.norm {
		case "also", "additionally":
			r.text.also = true
		case "now", "currently", "presently", "actually":
			r.text.weak = w.norm
		case "anymore":
			r.text.strong = w.norm
		}
		return true
	}
	return w.has(verb) && r.auxiliary(w)
}

// instead resolves "instead of X", "rather than X" and a lone "instead".
func (r *resolver) instead(w *word) bool {
	next := r.norm(1)
	switch {
	case next == "of" || w.norm == "rather" && next == "than":
		r.i++
		w.norm, w.is = "instead-of", sign
		r.text.strong = "instead of"
		return false
	case w.norm == "instead":
		r.text.strong = w.norm
		return true
	}
	return false
}

// since takes a date of change out: "as of May 2026", "since Monday", "from June
// on". The date is kept apart, because it is no part of what the statement says
// of its subject.
func (r *resolver) since(w *word) bool {
	at := 1
	switch {
	case w.norm == "as" && r.norm(1) == "of":
		at = 2
	case w.norm == "as":
		return false
	}
	end := at
	for r.is(end, timely|number) || end > at && r.norm(end) == "of" || r.norm(end) == "now" {
		end++
	}
	if end == at || w.norm == "since" && !r.is(at, timely) && len(r.norm(at)) < 4 {
		if w.norm == "since" {
			w.norm, w.is = "because", adds
		}
		return false
	}
	if w.norm == "from" && r.norm(end) != "on" && r.norm(end) != "onwards" {
		return false
	}
	for i := at; i < end; i++ {
		if n := r.norm(i); n != "of" && n != "now" {
			r.text.when = append(r.text.when, n)
		}
	}
	r.text.weak = w.norm + " " + r.in[min(r.i+at, len(r.in)-1)].raw
	if w.norm == "from" {
		end++
	}
	r.i += end - 1
	return true
}
