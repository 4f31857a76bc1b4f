package analysis

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed related.txt
var relatedGroups string

// related maps terms to the related words of their words in related.txt.
var related = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(relatedGroups) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		group := strings.Fields(line)
		for _, word := range group {
			for _, term := range Terms(word) {
				for _, other := range group {
					if other != word && !slices.Contains(out[term], other) {
						out[term] = append(out[term], other)
					}
				}
			}
		}
	}
	return out
})

// Related returns words that code may use for a term of Terms: short forms and synonyms. Callers
// must not change the result.
func Related(term string) []string { return related()[term] }
