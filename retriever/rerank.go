package retriever

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Bounds of what is sent to a reranker.
const (
	rerankTop   = 50   // records of the pool
	rerankBytes = 2000 // bytes of a record
)

// rerank sorts the first records of the pool by Options.Rerank. The records exchange their scores,
// so that the first has the highest, and floors and budgets mean the same as before.
func (r *Retriever) rerank(ctx context.Context, pool []*entry, t *Turn, out *Result) {
	top := pool[:min(len(pool), rerankTop)]
	if r.o.Rerank == nil || len(top) < 2 {
		return
	}
	start := time.Now()
	refs := make([]store.Ref, len(top))
	for i, e := range top {
		refs[i] = e.ref
	}
	store.Fetch(ctx, r.p, refs)
	texts := make([]string, len(top))
	for i, ref := range refs {
		if c, err := r.p.Claim(ctx, ref); err == nil { // a deleted record is refused later
			texts[i] = rerankText(&c)
		}
	}
	scores, err := r.o.Rerank(ctx, t.Signals.Question, texts)
	out.MS["rerank"] = float64(time.Since(start).Microseconds()) / 1000
	if err != nil {
		out.Degraded = append(out.Degraded, "rerank: "+err.Error())
		return
	}
	own := make([]float64, len(top))
	for i, e := range top {
		own[i], e.rank.reranked = e.rank.score, &scores[i]
	}
	slices.SortStableFunc(top, func(a, b *entry) int { return cmp.Compare(*b.rank.reranked, *a.rank.reranked) })
	for i, e := range top {
		e.rank.score = own[i]
	}
}

// rerankText returns the heading of a claim and the beginning of its text.
func rerankText(c *ken.Claim) string {
	s := strings.TrimSpace(c.Heading + "\n" + c.Text)
	if len(s) > rerankBytes {
		s = strings.ToValidUTF8(s[:rerankBytes], "")
	}
	return s
}
