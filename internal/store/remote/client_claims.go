package remote

import (
	"context"
	"iter"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/store"
)

// importBytes is the approximate size of one message of an import. Each message is one
// transaction.
const importBytes = 8 << 20

// WriteClaim implements ken.Store.
func (c *Client) WriteClaim(ctx context.Context, claim ken.Claim) (string, error) {
	out := c.Import(ctx, []store.Incoming{{Claim: claim}})
	return out[0].ID, out[0].Err
}

// Import implements store.Claims. With an id from store.WithCommit, in must fit into one
// message; see Parts.
func (c *Client) Import(ctx context.Context, in []store.Incoming) []store.Outcome {
	out := make([]store.Outcome, 0, len(in))
	for part := range Parts(in) {
		q := &importRequest{Commit: store.CommitOf(ctx), Claims: part}
		got, err := ask[importRequest, []outcome](ctx, c, kImport, q)
		for i := range part {
			switch {
			case err != nil:
				out = append(out, store.Outcome{Err: err})
			case i < len(got):
				out = append(out, store.Outcome{ID: got[i].ID, Changed: got[i].Changed, Err: got[i].Err.err()})
			}
		}
	}
	return out
}

// Parts splits an import into slices that each fit into one message.
func Parts(in []store.Incoming) iter.Seq[[]store.Incoming] {
	return func(yield func([]store.Incoming) bool) {
		from, size := 0, 0
		for i := range in {
			size += 1024 + len(in[i].Claim.Text) + len(in[i].Claim.Body) + 512*(len(in[i].Claim.Evidence)+len(in[i].Prior))
			if size > importBytes && i > from {
				if !yield(in[from:i]) {
					return
				}
				from, size = i, 0
			}
		}
		if from < len(in) {
			yield(in[from:])
		}
	}
}

// Query implements ken.Store.
func (c *Client) Query(ctx context.Context, q ken.Query) ([]ken.Claim, error) {
	return ask[ken.Query, []ken.Claim](ctx, c, kQuery, &q)
}

// Transition implements ken.Store.
func (c *Client) Transition(ctx context.Context, t ken.Transition) error {
	return tell(ctx, c, kTransition, &transitionRequest{store.CommitOf(ctx), t})
}

// Supersede implements ken.Store.
func (c *Client) Supersede(ctx context.Context, oldID, newID string) error {
	return tell(ctx, c, kSupersede, &supersedeRequest{Commit: store.CommitOf(ctx), Old: oldID, New: newID, WithoutWords: true})
}

// SupersedeFor implements store.Claims.
func (c *Client) SupersedeFor(ctx context.Context, oldID, newID, reason string, actor ken.Actor) error {
	return tell(ctx, c, kSupersede, &supersedeRequest{Commit: store.CommitOf(ctx), Old: oldID, New: newID, Reason: reason, Actor: actor})
}

// History implements ken.Store.
func (c *Client) History(ctx context.Context, id string) ([]ken.ClaimEvent, error) {
	return ask[oneClaim, []ken.ClaimEvent](ctx, c, kHistory, &oneClaim{ID: id})
}

// Get implements store.Claims.
func (c *Client) Get(ctx context.Context, id string) (ken.Claim, error) {
	return ask[oneClaim, ken.Claim](ctx, c, kGet, &oneClaim{ID: id})
}

// ByKey implements store.Claims.
func (c *Client) ByKey(ctx context.Context, key string) (ken.Claim, error) {
	return ask[oneClaim, ken.Claim](ctx, c, kByKey, &oneClaim{ID: key})
}

// Assign implements store.Claims.
func (c *Client) Assign(ctx context.Context, a ken.Assignment) (changed bool, err error) {
	return ask[assignRequest, bool](ctx, c, kAssign, &assignRequest{store.CommitOf(ctx), a})
}

// Reinforce implements store.Claims.
func (c *Client) Reinforce(ctx context.Context, id string, evidence []ken.Evidence, actor ken.Actor) error {
	return tell(ctx, c, kReinforce, &oneClaim{Commit: store.CommitOf(ctx), ID: id, Evidence: evidence, Actor: actor})
}

// Archive implements store.Claims.
func (c *Client) Archive(ctx context.Context, id, reason string, actor ken.Actor) error {
	return tell(ctx, c, kArchive, &oneClaim{Commit: store.CommitOf(ctx), ID: id, Reason: reason, Actor: actor})
}

// Forget implements store.Claims.
func (c *Client) Forget(ctx context.Context, id, reason string, actor ken.Actor) ([]string, error) {
	return ask[oneClaim, []string](ctx, c, kForget, &oneClaim{Commit: store.CommitOf(ctx), ID: id, Reason: reason, Actor: actor, Later: store.ErasesLater(ctx)})
}

// scanPage is how many records one request of Walk covers at most.
const scanPage = 2048

// Glances implements engine.Served.
func (c *Client) Glances(ctx context.Context, f *ken.Filter, from store.Ref, n int) (page []engine.Located, next store.Ref, done bool, err error) {
	a, err := ask[glancesRequest, glancesAnswer](ctx, c, kGlances, &glancesRequest{Filter: f, From: from, N: n})
	return a.Page, a.Next, a.Done, err
}

// Records implements engine.Served.
func (c *Client) Records(ctx context.Context, refs []store.Ref) ([]engine.Record, error) {
	return c.records(ctx, refs, false)
}

// Scan implements store.Claims. want runs in this process: the server sends the glances
// first, and then the claims for which want returned true.
func (c *Client) Scan(ctx context.Context, f *ken.Filter, want func(store.Glance) bool) iter.Seq2[ken.Claim, error] {
	own := *f // a copy, so that later changes by the caller have no effect
	return Walk(ctx, c, &own, want)
}

// Claims implements store.Claims.
func (c *Client) Claims(ctx context.Context) iter.Seq2[ken.Claim, error] {
	return Walk(ctx, c, nil, nil)
}

// Paged is a store whose records Walk can read page by page.
type Paged interface {
	Glances(ctx context.Context, f *ken.Filter, from store.Ref, n int) ([]engine.Located, store.Ref, bool, error)
	Records(ctx context.Context, refs []store.Ref) ([]engine.Record, error)
}

// Walk yields the claims that pass f and for whose glance want returns true, oldest record
// first. A nil f or want accepts every claim. After an error Walk yields it and stops.
func Walk(ctx context.Context, p Paged, f *ken.Filter, want func(store.Glance) bool) iter.Seq2[ken.Claim, error] {
	return func(yield func(ken.Claim, error) bool) {
		for from, done := store.Ref(0), false; !done; {
			page, next, last, err := p.Glances(ctx, f, from, scanPage)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(ken.Claim{}, err)
				return
			}
			from, done = next, last
			if want != nil {
				page = slices.DeleteFunc(page, func(l engine.Located) bool { return !want(l.Glance) })
			}
			for some := range slices.Chunk(page, 256) {
				refs := make([]store.Ref, len(some))
				for i := range some {
					refs[i] = some[i].Ref
				}
				got, err := p.Records(ctx, refs)
				if err != nil {
					yield(ken.Claim{}, err)
					return
				}
				for i := range got {
					if !yield(got[i].Claim, nil) {
						return
					}
				}
			}
		}
	}
}
