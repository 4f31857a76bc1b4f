package extract

import (
	"cmp"
	"slices"

	"github.com/kenlayer/ken/internal/harvest/draft"
)

// candidate is a sentence that may become a statement.
type candidate struct {
	from       *speech
	order      int    // among the candidates
	text       string // what is said, without the speaker
	quote      string // as it stands in the message
	question   string // that it answers, where it can't be understood without
	sort       draft.Sort
	confidence float64
	explicit   bool

	terms   []string // index terms, distinct
	weight  []float64
	figures []string // numbers and negation among them
	own     float64  // what it is worth by itself, beside its terms
}

// dropped counts what was left out, by reason.
type dropped map[string]int

// maxCandidates bounds what is chosen from: of a very long session, the candidates
// that are worth most by themselves.
const maxCandidates = 2000

// strongest keeps n candidates, in their order.
func strongest(all []candidate, n int) []candidate {
	byWorth := make([]int, len(all))
	for i := range byWorth {
		byWorth[i] = i
	}
	slices.SortStableFunc(byWorth, func(a, b int) int { return cmp.Compare(all[b].worth(), all[a].worth()) })
	byWorth = byWorth[:min(n, len(all))]
	slices.Sort(byWorth)
	kept := make([]candidate, len(byWorth))
	for i, k := range byWorth {
		kept[i] = all[k]
	}
	return kept
}

// keep takes over what the sentence before was, for two sentences that become one.
func (k *candidate) keep(before *candidate) {
	if before.sort != draft.Fact {
		k.sort = before.sort
	}
	k.confidence = min(k.confidence, before.confidence)
	k.explicit = k.explicit || before.explicit
}
