package cases

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/retriever"
)

// hit is where a search without floor and limits finds a claim.
type hit struct {
	rank    int // from 1; 0: not at all
	score   float64
	signals map[string]float64
}

func (h hit) String() string {
	return fmt.Sprintf("rank %d, score %.3f (keyword %.3f, share %.3f, cosine %.3f)", h.rank, h.score,
		h.signals["keyword"], h.signals["share"], h.signals["cosine"])
}

// most is the longest list that any leg may bring.
const most = 1000

// rank returns where a claim is found with the turn's filter, floor and limits apart.
func (e *examiner) rank(ctx context.Context, id string) (hit, error) {
	if e.ranked == nil {
		e.ranked = map[string]hit{}
		st := e.out.state
		if st == nil {
			return hit{}, nil
		}
		o, noVector := e.f.layer.Retrieval()
		o.Limits, o.PerLeg, o.Pool, o.TopK, o.Floor = nil, most, most, most, -1
		o.Legs = nil
		if e.r.cfg.Middleware.Keyword {
			o.Legs = append(o.Legs, retriever.Keyword(e.s))
		}
		if noVector == "" {
			o.Legs = append(o.Legs, retriever.Vector(e.s, e.f.layer.Embedder()))
		}
		f := ken.Filter{Scopes: st.Turn.Scopes, Unscoped: true, Now: e.f.now().UTC(), MinTrust: e.r.cfg.Retrieval.MinTrust}
		for i, c := range retriever.New(e.s, o).Retrieve(ctx, retriever.Turn{Signals: st.Signals, Filter: f}).Candidates {
			e.ranked[c.Row.ID] = hit{i + 1, c.Fused, c.Signals}
		}
	}
	return e.ranked[id], ctx.Err()
}

// String shows a candidate in a line.
func (c *candidate) String() string {
	return fmt.Sprintf("%s %s: %s", name(c.claim.ID, c.claim.Key), headline(c.claim.Heading, c.claim.Text), c.where())
}

func (c *candidate) where() string {
	if c.rank == 0 {
		return "pinned"
	}
	return hit{c.rank, c.found.Fused, c.found.Signals}.String()
}

// name is how a line calls a claim.
func name(id, key string) string {
	if key != "" {
		return key
	}
	return shortID(id)
}

// shortID is the end of an id, as blocks show it.
func shortID(id string) string { return "k:" + id[max(0, len(id)-leastID):] }

// headline is a claim in a few words.
func headline(heading, text string) string {
	return fmt.Sprintf("%q", short(strings.Join(strings.Fields(cmp.Or(heading, text)), " "), 70))
}
