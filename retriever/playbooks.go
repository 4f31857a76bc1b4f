package retriever

import (
	"context"
	"errors"
	"math"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/store"
)

const (
	// DefaultPlaybooks is how many playbooks a turn gets at most, unless
	// Options.Limits says otherwise: a method is to be followed, and nobody follows
	// three at once.
	DefaultPlaybooks = 2
	// maxPlaybooks bounds how many a turn looks at: the newest ones.
	maxPlaybooks = 1000
)

// Playbooks is the leg of playbooks. It returns every playbook that the filter
// admits, newest first, with how many of the question's words it is about; which
// of them fit the turn is decided with what the other legs say of the same
// words: see Retriever.match. It asks no index: the playbooks of a project are
// few, and what one is about stands in its first lines.
//
// c remembers what each playbook is about; nil reads all of them again each time.
func Playbooks(p store.Projections, c *PlaybookCache) Leg {
	if c == nil {
		c = NewPlaybookCache()
	}
	return playbooksLeg{p, c}
}

type playbooksLeg struct {
	p store.Projections
	c *PlaybookCache
}

func (playbooksLeg) Name() string { return LegPlaybooks }

func (playbooksLeg) prompt() {}

func (l playbooksLeg) Search(ctx context.Context, q *Query) (store.Result, error) {
	f, ok := narrowed(q.Filter, ken.KindPlaybook)
	if !ok {
		return store.Result{}, nil
	}
	res, err := l.p.Newest(ctx, &f, maxPlaybooks)
	if err != nil || len(res.Hits) == 0 {
		return res, err
	}
	res.Terms = analysis.Terms(KeywordText(q.Signals))
	hashes := make([]uint64, len(res.Terms))
	for i, t := range res.Terms {
		hashes[i] = l.c.hash(t)
	}
	l.fetch(ctx, res.Hits)
	parts := make([]float32, len(res.Hits)*len(hashes))
	having := make([]int, len(hashes)) // playbooks that have the term
	hits := res.Hits[:0]
	for _, h := range res.Hits {
		if err := ctx.Err(); err != nil {
			return res, err
		}
		b, err := l.book(ctx, h.Ref)
		if err != nil {
			return res, err
		}
		if b == nil {
			continue
		}
		h.Parts, parts = parts[:len(hashes):len(hashes)], parts[len(hashes):]
		for i, t := range hashes {
			if h.Parts[i] = b.worth(t); h.Parts[i] > 0 {
				having[i]++
			}
		}
		hits = append(hits, h)
	}
	res.Hits, res.Values = hits, rarity(having)
	return res, nil
}

// fetch gets the playbooks ready that were not read yet, should they lie in another
// process.
func (l playbooksLeg) fetch(ctx context.Context, hits []store.Hit) {
	var unread []store.Ref
	for _, h := range hits {
		if row, ok := l.p.Row(h.Ref); ok && l.c.at(&row) == nil {
			unread = append(unread, h.Ref)
		}
	}
	store.Fetch(ctx, l.p, unread)
}

// book returns what a playbook is about; nil when it was forgotten meanwhile.
func (l playbooksLeg) book(ctx context.Context, ref store.Ref) (*book, error) {
	row, ok := l.p.Row(ref)
	if !ok {
		return nil, nil
	}
	if b := l.c.at(&row); b != nil {
		return b, nil
	}
	c, err := l.p.Claim(ctx, ref)
	if errors.Is(err, ken.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return l.c.keep(&row, &c), nil
}

// ownDocs is how many playbooks there would have to be for their own counts to
// say how rare a word is.
const ownDocs = 1000

// rarity is what each term is of all, by how few playbooks have it: for turns
// without a keyword leg, which knows better.
func rarity(having []int) []float32 {
	values := make([]float32, len(having))
	sum := 0.0
	for _, n := range having {
		sum += idf(n)
	}
	for i, n := range having {
		values[i] = float32(idf(n) / sum)
	}
	return values
}

func idf(n int) float64 {
	return math.Log(1 + (math.Max(ownDocs, float64(n))-float64(n)+0.5)/(float64(n)+0.5))
}
