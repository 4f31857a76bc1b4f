package train

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/kenlayer/ken/internal/embed/table"
)

const (
	// pieceShare is the share of a vocabulary that is reserved for pieces of words.
	pieceShare = 0.15
	// minPiece and maxPiece limit the length of a piece that isn't a word.
	minPiece, maxPiece = 2, 7
	// minCount is the minimum number of occurrences of a word that becomes a token: the
	// row of a rarer one can't be trained.
	minCount = 3
	// countScale converts sources' weights to whole numbers, so that the order of
	// additions doesn't matter.
	countScale = 64
)

// counts holds the number of occurrences of each word, times countScale.
type counts map[string]int64

// countWords counts the words of the pairs, weighted by source.
func countWords(ctx context.Context, pairs []Pair, o *Options) (counts, error) {
	const block = 8192
	blocks := (len(pairs) + block - 1) / block
	total := counts{}
	var mu sync.Mutex
	done := 0
	parallel(ctx, o.Workers, blocks, func(b int) {
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
	return total, ctx.Err()
}

// ranked returns the words with at least least occurrences, the most frequent first.
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

// buildVocabulary returns at most n tokens: letters and digits, frequent words, and
// frequent pieces of the remaining words.
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

// pieces returns substrings of the words that aren't tokens, starting with those that
// cover the most of them.
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

// letters reports whether a word consists of the letters a to z.
func letters(w string) bool {
	for i := range len(w) {
		if w[i] < 'a' || w[i] > 'z' {
			return false
		}
	}
	return true
}

// adverbs are words that may occur between a person and the verb.
var adverbs = strings.Fields(`also really just always never often usually sometimes recently finally actually still already once
	even definitely probably only now then mostly truly absolutely have`)

// irregular maps past tenses that do not end in -ed to the base form.
var irregular = func() map[string]string {
	m := map[string]string{}
	for pair := range strings.FieldsSeq(`went:go bought:buy saw:see made:make took:take got:get found:find met:meet ate:eat ran:run
		wrote:write read:read began:begin told:tell gave:give came:come left:leave felt:feel had:have did:do said:say
		thought:think knew:know brought:bring taught:teach caught:catch fought:fight sold:sell won:win lost:lose spent:spend
		built:build sent:send kept:keep slept:sleep drove:drive rode:ride flew:fly grew:grow drew:draw threw:throw swam:swim
		sang:sing drank:drink broke:break spoke:speak chose:choose woke:wake wore:wear fell:fall held:hold heard:hear
		paid:pay put:put cut:cut hurt:hurt quit:quit set:set let:let stood:stand understood:understand became:become
		started:start learned:learn learnt:learn moved:move decided:decide lived:live used:use loved:love hoped:hope
		planned:plan baked:bake hiked:hike danced:dance joined:join adopted:adopt volunteered:volunteer visited:visit`) {
		past, base, _ := strings.Cut(pair, ":")
		m[past] = base
	}
	return m
}()

// names are the names for speakers that have none.
var names = strings.Fields(`Ana Ben Carla David Emma Felix Grace Henry Ivy Jack Kate Leo Mia Noah Olivia Paul Quinn Rosa Sam Tina
	Uma Victor Wendy Xavier Yara Zoe Alice Bob Chloe Daniel Elena Frank Gina Hugo Irene James Karen Liam Maria Nick Oscar Paula
	Ravi Sofia Tom Ursula Vera Will Yusuf Amir Beth Carlos Diana Erik Fatima George Hannah Ian Julia Kevin Laura Mark Nina Omar
	Peter Rachel Steve Tara Vikram Wei Yuki Aisha Brian Claire Dmitri Eva Gareth Ingrid Jonas Lucia Marta Nadia Pedro Raj Sara
	user assistant`)
