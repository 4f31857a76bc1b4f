package scorer_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/retriever/scorer"
)

// world makes turns with answers that use the items of useful slots, and
// sometimes other items. With noise, slots and ranks are random.
type world struct {
	r     *rand.Rand
	noise bool
	turn  int
}

func newWorld(seed uint64, noise bool) *world {
	return &world{r: rand.New(rand.NewPCG(seed, 1)), noise: noise}
}

// slots of the world: twenty entities with five aspects each; a quarter of the slots
// are useful.
const entities, aspects = 20, 5

func useful(entity, aspect int) bool { return (entity*7+aspect*3)%4 == 0 }

// next is a turn with twelve candidates shown.
func (w *world) next() scorer.Outcome {
	w.turn++
	var o scorer.Outcome
	r := &ken.Ranking{Cut: 12}
	for i := range 12 {
		e, a := w.r.IntN(entities), w.r.IntN(aspects)
		id := fmt.Sprintf("%d-%d-%d", e, a, w.r.IntN(4))
		f := ken.Features{ID: fmt.Sprintf("%s.%d.%d", id, w.turn, i), Rank: i + 1, Distance: 0, Score: 1 - float64(i)/20, Keyword: i + 1, Tier: ken.Inferred,
			Entity: scorer.Slot(fmt.Sprint("entity ", e)), Aspect: scorer.Slot(fmt.Sprint("aspect ", a))}
		chance := 0.15
		if !w.noise {
			chance = 0.05
			if useful(e, a) {
				chance = 0.6
			}
		}
		used := w.r.Float64() < chance
		r.Candidates = append(r.Candidates, f)
		o.Used = append(o.Used, ken.Use{ID: f.ID, Repeated: used})
		o.Shown = append(o.Shown, scorer.Shown{ID: f.ID, Entity: fmt.Sprint("entity ", e), Aspect: fmt.Sprint("aspect ", a)})
	}
	o.Ranking = r
	return o
}
