package analysis

import "strings"

// stopWords are English function words: they are in every text and say nothing
// about any. Left out of the list on purpose, because they carry meaning in
// questions about code or are names too: negation (not, no, never, without),
// direction (up, down, off, out, over, before, after), loop words (while,
// until), quantities (all, any, more), will and may.
var stopWords = func() map[string]struct{} {
	m := make(map[string]struct{}, 160)
	for w := range strings.FieldsSeq(`
		a an the this that these those
		and or but if then so as because than though although whether
		at by for from in into of on onto to with about via per
		am is are was were be been being
		have has had having do does did doing
		can could should would shall might must
		i me my myself mine we us our ours ourselves
		you your yours yourself yourselves
		he him his himself she her hers herself it its itself
		they them their theirs themselves
		who whom whose which what when where why how
		there here too very just also such some
		im ive youre hes shes theyre thats whats theres
		ie eg etc
	`) {
		m[w] = struct{}{}
	}
	return m
}()

// IsStopWord reports whether word, in lower case, is left out of the index.
func IsStopWord(word string) bool {
	_, ok := stopWords[word]
	return ok
}

// acronym reports words that mean something else in capitals.
func acronym(s string) bool { return s == "IT" || s == "US" || s == "WHO" }
