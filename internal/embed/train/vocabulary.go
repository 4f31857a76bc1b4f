package train

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/kenlayer/ken/internal/embed/table"
)

const (
	// pieceShare is the part of a vocabulary that is kept for pieces of words.
	pieceShare = 0.15
	// minPiece and maxPiece are the letters of a piece that isn't a word.
	minPiece, maxPiece = 2, 7
	// minCount is how often a word occurs to become a token: the row of a rarer
	// one can't be trained.
	minCount = 3
	// countScale makes whole numbers of sources' weights, so that the order of
	// adding doesn't matter.
	countScale = 64
)

// counts is how often each word occurs, in parts of countScale.
type counts map[string]int64

// countWords counts the words of the pairs, those of a source times its weight.
func countWords(ctx context.Context, pairs []Pair, o *Options) (counts, error) {
	const block = 8192
	blocks := (len(pairs) + block - 1) / block
	total := counts{}
	var mu sync.Mutex
	done := 0
	err := parallel(ctx, o.Workers, blocks, func(b int) {
		mine := map[string]*int64{}
		for _, p := range pairs[b*block : min((b+1)*block, len(pairs))] {
			by := max(int64(o.Weight(p.Src)*countScale), 1)
			for _, text := range [2]string{p.Q, p.P} {
				table.Words(text, func(w []byte) {
					if n := mine[string(w)]; n != nil {
						*n += by
					} else {
						first := by
						mine[string(w)] = &first
					}
				})
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for w, n := range mine {
			total[w] += *n
		}
		done += block
		report(o.Progress, Progress{Stage: "vocabulary", Done: min(done, len(pairs)), Total: len(pairs)})
	})
	return total, err
}

// ranked returns the words of at least least, the most frequent first.
func (c counts) ranked(least int64) []string {
	words := make([]string, 0, len(c))
	for w, n := range c {
		if n >= least {
			words = append(words, w)
		}
	}
	slices.SortFunc(words, func(a, b string) int {
		return cmp.Or(cmp.Compare(c[b], c[a]), cmp.Compare(a, b))
	})
	return words
}

// buildVocabulary returns at most n tokens: letters and digits, frequent words,
// and frequent pieces of the words that have no place.
func buildVocabulary(c counts, n int) []string {
	var tokens []string
	have := map[string]bool{}
	add := func(t string) {
		if !have[t] && len(tokens) < n {
			have[t] = true
			tokens = append(tokens, t)
		}
	}
	words := c.ranked(minCount * countScale)
	whole := min(int(float64(n)*(1-pieceShare))-36, len(words))
	for _, w := range words[:max(whole, 0)] {
		add(w)
	}
	for r := 'a'; r <= 'z'; r++ {
		add(string(r))
	}
	for r := '0'; r <= '9'; r++ {
		add(string(r))
	}
	for _, p := range pieces(c, have) {
		add(p)
	}
	return tokens
}

// pieces returns the substrings of the words that aren't tokens, those first that
// spell the most of them.
func pieces(c counts, have map[string]bool) []string {
	score := map[string]int64{}
	for w, n := range c {
		if have[w] || !letters(w) {
			continue
		}
		for i := range w {
			for l := minPiece; l <= maxPiece && i+l <= len(w); l++ {
				score[w[i:i+l]] += n * int64(l-1)
			}
		}
	}
	best := slices.Collect(maps.Keys(score))
	slices.SortFunc(best, func(a, b string) int {
		return cmp.Or(cmp.Compare(score[b], score[a]), cmp.Compare(a, b))
	})
	return best
}

// letters reports whether a word is of the letters a to z.
func letters(w string) bool {
	for i := range len(w) {
		if w[i] < 'a' || w[i] > 'z' {
			return false
		}
	}
	return true
}
