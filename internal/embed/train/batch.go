package train

const (
	// dropPassage is the probability that a passage's token is left out of a step,
	// so that a match rests on many words.
	dropPassage = 0.15
	// sampled is the part of the queries that are replaced by words of their
	// passage, as people ask who remember some words.
	sampled = 0.05
)

// batch is the texts of a step: n queries, then n passages in the same order,
// then the hard negatives of some queries.
type batch struct {
	n       int
	ids     []int32  // tokens of all texts
	ends    []int32  // where each text ends
	query   []uint64 // hash of each query
	passage []uint64 // hash of each passage
	hard    []int32  // the number of each query's hard negative among the texts, or -1
}

func (b *batch) texts() int { return len(b.ends) }

func (b *batch) text(i int) []int32 {
	from := int32(0)
	if i > 0 {
		from = b.ends[i-1]
	}
	return b.ids[from:b.ends[i]]
}

// fill draws the texts of a step.
func (b *batch) fill(c *corpus, pairs []int32, hard [][]int32, step uint64, o *Options) {
	r := draw(o.Seed, streamStep+step)
	b.ids, b.ends = b.ids[:0], b.ends[:0]
	b.query, b.passage, b.hard = b.query[:0], b.passage[:0], b.hard[:0]
	b.n = len(pairs)
	for _, i := range pairs {
		b.query = append(b.query, c.query[i])
		b.passage = append(b.passage, c.passage[i])
		if p := c.p(int(i)); r.Float64() < sampled && len(p) >= 8 {
			for range 3 + r.IntN(5) {
				b.ids = append(b.ids, p[r.IntN(len(p))])
			}
		} else {
			b.ids = append(b.ids, c.q(int(i))...)
		}
		b.ends = append(b.ends, int32(len(b.ids)))
	}
	add := func(i int32) {
		start := len(b.ids)
		for _, id := range c.p(int(i)) {
			if r.Float64() >= dropPassage {
				b.ids = append(b.ids, id)
			}
		}
		if len(b.ids) == start {
			b.ids = append(b.ids, c.p(int(i))[0])
		}
		b.ends = append(b.ends, int32(len(b.ids)))
	}
	for _, i := range pairs {
		add(i)
	}
	for _, i := range pairs {
		if len(hard) == 0 || len(hard[i]) == 0 {
			b.hard = append(b.hard, -1)
			continue
		}
		b.hard = append(b.hard, int32(len(b.ends)))
		add(hard[i][r.IntN(len(hard[i]))])
	}
}
