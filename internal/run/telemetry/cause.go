package telemetry

import "strings"

// causes tells the kinds of a receipt's cause apart, the first that fits. Receipts
// say the cause in words for people, with names and numbers in it; metrics and
// traces need one of a few.
var causes = []struct {
	class string
	is    func(s, part string) bool
	part  string
}{
	{"switched_off", strings.HasPrefix, "switched off"},
	{"asks_nothing", strings.HasPrefix, "the message asks for nothing"},
	{"weight", strings.HasPrefix, "the agent's weight"},
	{"no_question", strings.HasPrefix, "there is no user message"},
	{"store", strings.HasPrefix, "store:"},
	{"breaker", strings.Contains, "stopped after"},
	{"deadline", strings.Contains, "not there within"},
	{"cancelled", strings.Contains, "the turn ended first"},
	{"coverage", strings.Contains, "have a vector of this model yet"},
	{"vector", strings.HasPrefix, "vector:"},
	{"keyword", strings.HasPrefix, "keyword:"},
}

// CauseClass is the kind of a receipt's cause: one of a dozen words, "none" for no
// cause, "other" for one that is not known.
func CauseClass(cause string) string {
	if cause == "" {
		return "none"
	}
	for _, c := range causes {
		if c.is(cause, c.part) {
			return c.class
		}
	}
	return "other"
}
