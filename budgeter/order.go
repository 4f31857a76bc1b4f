package budgeter

import (
	"cmp"
	"slices"

	"github.com/kenlayer/ken"
)

// order returns the indexes of constraints, knowledge and memory, each in the
// order in which they are considered.
func order(candidates []Candidate) (constraints, knowledge, memory []int32) {
	parts := [...]*[]int32{constraintPart: &constraints, knowledgePart: &knowledge, memoryPart: &memory}
	for i := range candidates {
		p := parts[partOf(&candidates[i])]
		*p = append(*p, int32(i))
	}
	by := func(compare func(x, y *ken.Item) int) func(i, j int32) int {
		return func(i, j int32) int {
			return cmp.Or(compare(&candidates[i].Item, &candidates[j].Item), cmp.Compare(i, j))
		}
	}
	slices.SortFunc(constraints, func(i, j int32) int {
		x, y := &candidates[i], &candidates[j]
		return cmp.Or(cmp.Compare(x.Distance, y.Distance), byStrength(&x.Item, &y.Item), cmp.Compare(i, j))
	})
	slices.SortFunc(knowledge, by(byStrength))
	slices.SortFunc(memory, by(byMemory))
	return constraints, knowledge, memory
}

// merge puts further candidates into the order of memory.
func merge(candidates []Candidate, memory, more []int32) []int32 {
	if len(more) == 0 {
		return memory
	}
	memory = append(slices.Clone(memory), more...)
	slices.SortFunc(memory, func(i, j int32) int {
		return cmp.Or(byMemory(&candidates[i].Item, &candidates[j].Item), cmp.Compare(i, j))
	})
	return memory
}

const (
	constraintPart = iota
	knowledgePart
	memoryPart
)

func partOf(c *Candidate) int {
	switch {
	case c.Item.Constraint || c.Item.Fallen != "":
		return constraintPart
	case c.Memory:
		return memoryPart
	}
	return knowledgePart
}

// byStrength puts the strongest first.
func byStrength(x, y *ken.Item) int {
	switch {
	case x.Tier != y.Tier:
		return cmp.Compare(y.Tier, x.Tier)
	case trust(x) != trust(y):
		return cmp.Compare(trust(y), trust(x))
	case x.Fused != y.Fused:
		return cmp.Compare(y.Fused, x.Fused)
	}
	return byAge(x, y)
}

// byAge puts the newest first.
func byAge(x, y *ken.Item) int {
	return cmp.Or(y.CreatedAt.Compare(x.CreatedAt), cmp.Compare(x.ID, y.ID))
}

// byMemory puts what the session can't go on without first, and what is merely
// good to know last.
func byMemory(x, y *ken.Item) int {
	rank := memoryRank(x.Kind)
	if d := cmp.Compare(rank, memoryRank(y.Kind)); d != 0 {
		return d
	}
	switch rank {
	case recoveryRank, hotRank, episodeRank:
		return byAge(x, y)
	case playbookRank:
		return cmp.Or(cmp.Compare(y.Fused, x.Fused), byStrength(x, y))
	}
	return byStrength(x, y)
}

const (
	recoveryRank = iota
	goalRank
	hotRank
	approvedRank // patterns, objectives, and kinds that nothing is known of
	playbookRank
	episodeRank
)

func memoryRank(k ken.Kind) int {
	switch k {
	case KindCheckpoint:
		return recoveryRank
	case KindObjectives:
		return goalRank
	case ken.KindHot:
		return hotRank
	case ken.KindPlaybook:
		return playbookRank
	case ken.KindEpisode:
		return episodeRank
	}
	return approvedRank
}

func trust(i *ken.Item) ken.Trust { return max(i.Trust, ken.TrustExternal) }
