package train

import (
	"context"

	"github.com/kenlayer/ken/internal/embed/table"
)

// run of words that two texts don't share by chance.
const runWords = 12

// Decontaminate leaves out the pairs that give an evaluation away: those that share
// a run of 12 words with one of texts, and those whose query is one of them, both
// without regard to case and punctuation. It returns the rest, in order, and how
// many went. It does not notice a paraphrase.
func Decontaminate(ctx context.Context, pairs []Pair, texts []string, o Options) (kept []Pair, dropped int, err error) {
	o = o.common()
	runs, whole := map[uint64]bool{}, map[uint64]bool{}
	for _, t := range texts {
		whole[eachRun(t, func(h uint64) bool { runs[h] = true; return false })] = true
	}
	known := func(h uint64) bool { return runs[h] }
	const block = 8192
	bad := make([]bool, len(pairs))
	if err := parallel(ctx, o.Workers, (len(pairs)+block-1)/block, func(b int) {
		for i := b * block; i < min((b+1)*block, len(pairs)); i++ {
			found := false
			check := func(h uint64) bool { found = found || known(h); return found }
			q := eachRun(pairs[i].Q, check)
			eachRun(pairs[i].P, check)
			bad[i] = found || whole[q]
		}
	}); err != nil {
		return nil, 0, err
	}
	for i, p := range pairs {
		if bad[i] {
			dropped++
		} else {
			kept = append(kept, p)
		}
	}
	report(o.Progress, Progress{Stage: "decontaminate", Done: len(pairs), Total: len(pairs)})
	return kept, dropped, nil
}

// eachRun calls f with a hash of each run of words until it returns true, and
// returns a hash of all words.
func eachRun(text string, f func(uint64) bool) (all uint64) {
	const base = 0x9E3779B97F4A7C15 | 1
	top := uint64(1) // base to the power of runWords
	for range runWords {
		top *= base
	}
	var last [runWords]uint64
	var run uint64
	n, stop := 0, false
	table.Words(text, func(w []byte) {
		h := hashWord(w)
		all = (all ^ h) * base
		run = run*base + h - last[n%runWords]*top
		last[n%runWords] = h
		if n++; n >= runWords && !stop {
			stop = f(run)
		}
	})
	return all
}

// hashWord is FNV-1a, finished so that every bit counts.
func hashWord(w []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range w {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h ^= h >> 32
	h *= 0xD6E8FEB86659FD93
	return h ^ h>>32
}
