package train

import (
	"context"
	"hash/fnv"
	"io"

	"github.com/kenlayer/ken/internal/embed/table"
)

const (
	// maxQuery and maxPassage are the tokens of a text that are trained on.
	maxQuery, maxPassage = 64, 128
)

// corpus is the pairs as tokens.
type corpus struct {
	ids     []int32  // of all texts, one after the other
	ends    []int64  // ends[2i] is where the query of pair i ends, ends[2i+1] its passage
	source  []int32  // of each pair
	sources []string // their names, in the order of their first pair
	query   []uint64 // a hash of each query's text: equal texts are no negatives
	passage []uint64
}

func (c *corpus) len() int { return len(c.source) }

func (c *corpus) q(i int) []int32 {
	from := int64(0)
	if i > 0 {
		from = c.ends[2*i-1]
	}
	return c.ids[from:c.ends[2*i]]
}

func (c *corpus) p(i int) []int32 { return c.ids[c.ends[2*i]:c.ends[2*i+1]] }

// cut makes a corpus of the pairs. A pair with a side without tokens is left out.
func cut(ctx context.Context, pairs []Pair, v *table.Vocabulary, o *Options) (*corpus, error) {
	const block = 8192
	type part struct {
		ids  []int32
		ends []int64 // two a pair, within ids
	}
	parts := make([]part, (len(pairs)+block-1)/block)
	err := parallel(ctx, o.Workers, len(parts), func(b int) {
		var t part
		var text []int32
		for _, p := range pairs[b*block : min((b+1)*block, len(pairs))] {
			text = v.Append(text[:0], p.Q)
			t.ids = append(t.ids, text[:min(len(text), maxQuery)]...)
			t.ends = append(t.ends, int64(len(t.ids)))
			text = v.Append(text[:0], p.P)
			t.ids = append(t.ids, text[:min(len(text), maxPassage)]...)
			t.ends = append(t.ends, int64(len(t.ids)))
		}
		parts[b] = t
	})
	if err != nil {
		return nil, err
	}
	c := &corpus{}
	numbers := map[string]int32{}
	for b, t := range parts {
		start := int64(0)
		for i, p := range pairs[b*block : min((b+1)*block, len(pairs))] {
			mid, end := t.ends[2*i], t.ends[2*i+1]
			if mid > start && end > mid {
				c.ids = append(c.ids, t.ids[start:end]...)
				c.ends = append(c.ends, int64(len(c.ids))-(end-mid), int64(len(c.ids)))
				n, ok := numbers[p.Src]
				if !ok {
					n = int32(len(c.sources))
					numbers[p.Src] = n
					c.sources = append(c.sources, p.Src)
				}
				c.source = append(c.source, n)
				c.query = append(c.query, hashText(p.Q))
				c.passage = append(c.passage, hashText(p.P))
			}
			start = end
		}
		parts[b] = part{}
		report(o.Progress, Progress{Stage: "cut", Done: min((b+1)*block, len(pairs)), Total: len(pairs)})
	}
	return c, nil
}

func hashText(s string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, s) // a hash never fails
	return h.Sum64()
}

// frequencies returns how often each of n tokens occurs.
func (c *corpus) frequencies(n int) []int64 {
	f := make([]int64, n)
	for _, id := range c.ids {
		f[id]++
	}
	return f
}
