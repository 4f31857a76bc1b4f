package analysis

import "strings"

// Standard returns the standard spelling of a lower-case word that people often type without its
// apostrophe or abbreviate: "dont" is "don't", "pls" is "please". Other words are returned as they are.
// Words that have another meaning without the apostrophe stay as they are: "its", "were", "ill".
func Standard(low string) string {
	if s, ok := typed[low]; ok {
		return s
	}
	return low
}

var typed = func() map[string]string {
	m := map[string]string{}
	for w := range strings.FieldsSeq(`don't doesn't didn't isn't aren't wasn't weren't can't couldn't won't wouldn't shouldn't mustn't haven't hasn't hadn't needn't shan't
		i've we've you've they've you're they're that's what's where's there's here's who's how's he's`) {
		m[strings.ReplaceAll(w, "'", "")] = w
	}
	for line := range strings.Lines(`please pls plz
		you u
		your ur
		without w/o
		with w/
		before b4
		through thru
		though tho
		because cuz bc
		thanks thx
		people ppl
		something smth`) {
		to, from, _ := strings.Cut(strings.TrimSpace(line), " ")
		for w := range strings.FieldsSeq(from) {
			m[w] = to
		}
	}
	return m
}()
