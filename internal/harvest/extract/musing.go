package extract

import (
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// orders reports an order whose verb is in no list: a bare word comes first, what it is to be done
// to follows, and nothing says that this is how it always is. "Plot the residuals", "ssh there".
func orders(w []word) bool {
	if last := low(w, len(w)-1); last == "please" || last == "pls" || last == "plz" {
		return !has(w, 2, self)
	}
	first := low(w, 0)
	if len(w) < 2 || !objects[low(w, 1)] || len(first) < 3 || analysis.IsStopWord(first) || prepositions[first] || noVerbs[first] || phatic[first] || strings.Trim(first, "abcdefghijklmnopqrstuvwxyz") != "" {
		return false
	}
	for _, end := range [...]string{"s", "ing", "ed", "ly"} {
		if strings.HasSuffix(first, end) {
			return false
		}
	}
	for i := 1; i < len(w); i++ {
		if copulas[w[i].low] || auxiliary[w[i].low] {
			return false
		}
	}
	return rules.in(w) < 0 && forbids.in(w) < 0 && lasting.in(w) < 0
}

// unreal reports what would be so if something else were: "If we used it we'd have to patch asyncio".
func unreal(w []word) bool {
	if low(w, 0) != "if" {
		return false
	}
	for i := range w {
		if l := w[i].low; l == "would" || l == "wouldn't" || i > 1 && strings.HasSuffix(l, "'d") {
			return true
		}
	}
	return false
}

// muses reports what somebody says of what they think, do or will do at the moment. With a number
// or a name in it, it may be worth knowing.
func muses(s *sentence) bool {
	w := s.words
	if numbered(s.text) || strings.Contains(s.text, "`") || leftToDo.in(w) >= 0 || decisions.in(w) >= 0 {
		return false
	}
	if i := musings.in(w); i >= 0 && i < 3 {
		return rules.in(w) < 0 || musings.starts(w) > 0
	}
	return len(w) < 14 && willDo.MatchString(" "+lower(s.text)+" ")
}

// willDo finds what a speaker is about to do, in the languages that are read.
var willDo = lazyregexp.New(`^ (?:i'll|i will|i'm going to|i'm gonna) .*\b(?:later|tomorrow|tonight|soon|this weekend|on monday)\b|` +
	`^ (?:\S+ ){0,2}ich .*\b(?:nachher|gleich|später|heute abend|am wochenende)\b|^ (?:\S+ ){0,2}je .*\b(?:demain|plus tard|ce soir|tout à l'heure|ce week-end)\b|` +
	`^ (?:\S+ ){0,2}voy a .*\b(?:luego|mañana|más tarde|esta noche)\b|^ (?:\S+ ){0,2}vou .*\b(?:depois|amanhã|mais tarde|hoje à noite)\b`)

var (
	objects = set("the a an me us it them everything all my our every any that this those these there here for")
	noVerbs = set("fyi btw maybe perhaps once unlike plus half both none neither either besides despite given minus like worth even only then else here there what now also just still because since until fun fact note good great sorry same last next late early")
	musings = list(`i guess, i was thinking, i was wondering, i think i'll, maybe i, perhaps i, i might, i'd love to, i should probably, i should maybe, ideally i'd, i wish, next i want, next i'd like, i suppose, i wonder, i'm looking at,
		i'm just, let me see, i mean, i hope, i figured, i thought`)
)

// platitude reports what is said of nobody and nothing in particular, in a chat of people: "Pets have
// a way of brightening our days", "Giving a home to kids is such a loving way".
func platitude(s *sentence, present map[string]bool) bool {
	w := s.words
	if numbered(s.text) || has(w, len(w), mine) || len(names(w, present)) > 0 || len(w) == 0 {
		return false
	}
	return strings.HasSuffix(w[0].low, "ing") && len(w[0].low) > 5 || has(w, len(w), other) || has(w, len(w), ours)
}

var (
	mine = set("i i'm i've i'd i'll me my mine myself")
	ours = set("us ourselves someone somebody everyone everybody people life")
)
