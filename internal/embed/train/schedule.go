package train

import "math/rand/v2"

// uniform is the part of a source's pairs that come in batches of that source
// alone, whose negatives are harder.
const uniform = 0.6

// Streams of random numbers, one for each purpose.
const (
	streamInitial = iota + 1
	streamQuestions
	streamSplit
	streamEpoch = 1 << 16
	streamStep  = 1 << 32
)

func draw(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// epoch returns the batches of an epoch: numbers of pairs, size each.
func epoch(c *corpus, size, number int, o *Options) [][]int32 {
	r := draw(o.Seed, streamEpoch+uint64(number))
	weights := make([]float64, len(c.sources))
	for i, s := range c.sources {
		weights[i] = o.Weight(s)
	}
	bySource := make([][]int32, len(c.sources))
	for i, s := range c.source {
		w := weights[s]
		n := int(w)
		if r.Float64() < w-float64(n) {
			n++
		}
		for range n {
			bySource[s] = append(bySource[s], int32(i))
		}
	}
	var batches [][]int32
	var rest []int32
	for _, list := range bySource {
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for range int(uniform * float64(len(list)) / float64(size)) {
			batches = append(batches, list[:size:size])
			list = list[size:]
		}
		rest = append(rest, list...)
	}
	r.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	for ; len(rest) >= size; rest = rest[size:] {
		batches = append(batches, rest[:size:size])
	}
	if len(batches) == 0 && len(rest) > 1 {
		batches = append(batches, rest) // fewer pairs than a batch
	}
	r.Shuffle(len(batches), func(i, j int) { batches[i], batches[j] = batches[j], batches[i] })
	return batches
}
