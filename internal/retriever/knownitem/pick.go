package knownitem

import (
	"errors"
	"iter"
	"math/rand/v2"

	"github.com/kenlayer/ken"
)

// Pick yields n claims chosen at random out of total, for collections that are too
// large to be read whole: at reads the claim of one number in 0..total-1, and only
// as many are read as are yielded, or found missing. A claim that at reports as
// not found is skipped; any other error is yielded and ends the sequence. Where n
// is total or more, all are yielded, in a random order.
func Pick(total, n int, seed uint64, at func(i int) (ken.Claim, error)) iter.Seq2[ken.Claim, error] {
	return func(yield func(ken.Claim, error) bool) {
		rng := rand.New(rand.NewPCG(seed, 0x5eed))
		moved := map[int]int{} // a shuffle of which only the start is made
		place := func(i int) int {
			if v, ok := moved[i]; ok {
				return v
			}
			return i
		}
		for i := 0; i < total && n > 0; i++ {
			j := i + rng.IntN(total-i)
			number := place(j)
			moved[j] = place(i)
			delete(moved, i)
			c, err := at(number)
			if errors.Is(err, ken.ErrNotFound) {
				continue
			}
			if !yield(c, err) || err != nil {
				return
			}
			n--
		}
	}
}
