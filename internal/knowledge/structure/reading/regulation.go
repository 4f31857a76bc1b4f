package reading

// regulates reports a turn of phrase with which records and instructions lay a rule
// down, at word i, beside the modal verbs: "are not to be shared", "requires the
// sign-off of", "under no circumstances", "we don't let". Talk among people has them
// too, about themselves, so that nothing of it counts.
func (r *reader) regulates(from, i, to int) bool {
	if r.voice == person {
		return false
	}
	at := r.clause(from, i)
	switch r.words[i].low {
	case "is", "are":
		if r.words[i].low == "is" && r.opensWith(at, "nothing") && (r.is(i+1, "ever") || r.is(i+1, "to")) { // nothing is ever deleted by hand
			return true
		}
		next := i + 1
		if r.is(next, "not") {
			next++
		}
		return r.is(next, "to") && r.is(next+1, "be") && r.participle(next+2) && r.regulated(from, i) && r.noun(from, i)
	case "cannot", "can't":
		return r.is(i+1, "be") && alters(r.word(i+2)) && r.regulated(from, i) && r.noun(from, i)
	case "requires", "require", "needs", "need":
		if r.is(i+1, "to") { // every release needs to be tagged; "the cache needs to be warmed" is a task
			return (r.is(at, "every") || r.is(at, "each") || r.is(at, "any")) && r.regulated(from, i) && r.noun(from, i)
		}
		return consent(r.word(i+1)) || (r.words[min(i+1, to-1)].entry.is(determiner) || figures(r.word(i+1))) && consent(r.word(i+2)) && r.regulated(from, i)
	case "under", "in", "on":
		return r.is(i+1, "no") && (r.is(i+2, "circumstances") || r.is(i+2, "case") && r.words[i].low == "in" || r.is(i+2, "account") && r.words[i].low == "on")
	case "let", "allow", "permit":
		return r.voice == nobody && (r.is(i-1, "don't") || r.is(i-1, "never") || r.is(i-1, "not")) && (r.is(i-2, "we") || r.is(i-2, "do"))
	case "may":
		return r.is(i+1, "be") && (r.is(i+2, "no") && r.is(i+3, "more") && r.is(i+4, "than") && r.limit(i+5, to) || r.is(i+2, "at") && r.is(i+3, "most") && r.limit(i+4, to)) ||
			r.figure(at, i) && (r.is(at, "at") && r.is(at+1, "most") || r.is(at, "no") && r.is(at+1, "more"))
	case "permitted", "allowed":
		return r.is(i-1, "longer") && r.is(i-2, "no") && r.present(from, i)
	case "limited":
		return r.is(i+1, "to") && r.present(from, i) && r.limit(i+2, to)
	case "limits":
		return r.is(i-1, "off") && r.present(from, i)
	case "whoever", "anybody", "anyone", "everybody", "everyone":
		return i == at && r.voice == nobody && r.bound(i, to)
	case "refrain":
		return r.is(i+1, "from") && r.orders(from, i)
	case "no":
		if i == at && r.recurs(i, to) && !r.has(i, to, past|first|auxiliary|finite) { // no deploys on Fridays
			return true
		}
		return (i == at || r.is(i-1, "that")) && i+2 < to && (r.later(i+1, to, "unless") || r.later(i+1, to, "without")) && !r.has(i, to, past|first)
	case "keep":
		return r.orders(from, i) && r.later(i, to, "out") && r.voice != user
	}
	return false
}

// bound reports what who is meant has to do: "whoever merges has to …".
func (r *reader) bound(i, to int) bool {
	for j := i + 1; j < to; j++ {
		switch r.words[j].low {
		case "must", "needs", "has":
			return r.words[j].low == "must" || r.is(j+1, "to")
		}
	}
	return false
}

// recurs reports a sentence that ends with days that come again and again: on Fridays,
// at weekends. On Friday is one day, about which there may be something to report.
func (r *reader) recurs(i, to int) bool {
	if to-i < 4 || !r.words[to-2].entry.is(preposition) {
		return false
	}
	switch r.words[to-1].low {
	case "mondays", "tuesdays", "wednesdays", "thursdays", "fridays", "saturdays", "sundays", "weekdays", "weekends", "holidays":
		return true
	}
	return false
}

// limit reports a number among the next words.
func (r *reader) limit(i, to int) bool {
	for j := i; j < min(to, i+3); j++ {
		if figures(r.words[j].low) {
			return true
		}
	}
	return false
}

// word is word i, in lower case, "" beyond the last.
func (r *reader) word(i int) string {
	if i < 0 || i >= len(r.words) {
		return ""
	}
	return r.words[i].low
}

// alters reports what is done to a thing that may have been closed against it.
func alters(low string) bool {
	switch low {
	case "changed", "edited", "altered", "modified", "deleted", "removed", "overwritten", "reopened", "reused", "bypassed", "skipped", "undone":
		return true
	}
	return false
}

// consent reports what somebody has to give first.
func consent(low string) bool {
	switch low {
	case "approval", "sign-off", "signoff", "consent", "permission", "authorisation", "authorization", "approvals", "sign-offs", "signoffs":
		return true
	}
	return false
}
