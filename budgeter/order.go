package budgeter

import (
	"cmp"
	"slices"

	"github.com/kenlayer/ken"
)

// order returns the indexes of constraints, knowledge and memory, each strongest first.
func order(candidates []Candidate) (constraints, knowledge, memory []int32) {
	all := make([]int32, len(candidates))
	for i := range all {
		all[i] = int32(i)
	}
	slices.SortFunc(all, func(i, j int32) int {
		a, b := &candidates[i], &candidates[j]
		if d := cmp.Compare(part(a), part(b)); d != 0 {
			return d
		}
		x, y := &a.Item, &b.Item
		switch {
		case x.Tier != y.Tier:
			return cmp.Compare(y.Tier, x.Tier)
		case trust(x) != trust(y):
			return cmp.Compare(trust(y), trust(x))
		case x.Fused != y.Fused:
			return cmp.Compare(y.Fused, x.Fused)
		}
		return cmp.Or(y.CreatedAt.Compare(x.CreatedAt), cmp.Compare(x.ID, y.ID), cmp.Compare(i, j))
	})
	k, _ := slices.BinarySearchFunc(all, knowledgePart, func(i int32, p int) int { return cmp.Compare(part(&candidates[i]), p) })
	m, _ := slices.BinarySearchFunc(all, memoryPart, func(i int32, p int) int { return cmp.Compare(part(&candidates[i]), p) })
	return all[:k], all[k:m], all[m:]
}

const (
	constraintPart = iota
	knowledgePart
	memoryPart
)

func part(c *Candidate) int {
	switch {
	case c.Item.Constraint:
		return constraintPart
	case c.Memory:
		return memoryPart
	}
	return knowledgePart
}

func trust(i *ken.Item) ken.Trust { return max(i.Trust, ken.TrustExternal) }
