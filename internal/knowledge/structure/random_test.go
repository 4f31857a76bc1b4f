package structure_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/structuretest"
)

// The hard invariant, against the plainest implementation: every constraint of what is
// named and of what is one dependency away is there, and no other.
func TestConstraintsAgainstAPlainModel(t *testing.T) {
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		claims := structuretest.Random(seed, 40+rnd.IntN(160))
		s := newShelf(claims...)
		f := &ken.Filter{}
		if seed%3 == 0 {
			f.Scopes, f.Unscoped = structuretest.Scopes()[:1], true
		}
		if seed%5 == 0 {
			f.MinTrust = ken.TrustAgent
		}
		var said, names []string
		for range 1 + rnd.IntN(4) {
			n := fmt.Sprintf("e%d", rnd.IntN(8))
			if said = append(said, n); structuretest.Carries(claims, n, f) {
				names = append(names, n)
			}
		}
		b := structure.Bounds{Focal: 1 + rnd.IntN(2), Aspects: 1, Attributes: 1, Dependencies: 1, Expand: seed%2 == 0}
		_, tr, err := structure.New(s, nil).Look(t.Context(), ask(strings.Join(said, ", ")), f, b)
		if err != nil {
			t.Fatal(err)
		}
		got := map[int]bool{}
		for _, c := range tr.Constraints {
			if got[int(c.Ref)] {
				t.Errorf("seed %d: constraint %d twice", seed, c.Ref)
			}
			got[int(c.Ref)] = true
		}
		equal(t, fmt.Sprintf("seed %d, %v", seed, said), got, structuretest.Obliged(claims, names, f, structure.DefaultMinStrength))
		if t.Failed() {
			break
		}
	}
}
