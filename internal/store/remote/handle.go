package remote

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/internal/store/remote/codec"
	"github.com/kenlayer/ken/store"
)

// pageBytes is the approximate size of one page of a long answer or of a shelf's changes.
const pageBytes = 1 << 20

type served = engine.Served

// handler serves one kind of request.
type handler struct {
	form
	// serve returns the answer's frame. An error means that the request is invalid, and
	// ends the connection. commit is the store's commit when the request began.
	serve func(ctx context.Context, c *session, f frame, commit uint64) ([]byte, error)
}

// answering returns a handler for requests of type Q and answers of type A. do encodes the
// answer's frame itself.
func answering[Q, A any](do func(ctx context.Context, c *session, q *Q, commit uint64) []byte) handler {
	return handler{formOf[Q, A](), func(ctx context.Context, c *session, f frame, commit uint64) ([]byte, error) {
		var q Q
		if err := c.decode(f, &q); err != nil {
			return c.refuse(commit, err)
		}
		return do(ctx, c, &q, commit), nil
	}}
}

// on returns a handler for requests of type Q whose answer is an A, an error or both.
func on[Q, A any](do func(ctx context.Context, s served, q *Q) (A, error)) handler {
	return answering[Q, A](func(ctx context.Context, c *session, q *Q, commit uint64) []byte {
		a, err := do(ctx, c.store, q)
		return c.answer(commit, err, &a)
	})
}

// act returns a handler for requests whose answer has no result, only an error or none.
func act[Q any](do func(ctx context.Context, s served, q *Q) error) handler {
	return on(func(ctx context.Context, s served, q *Q) (empty, error) { return empty{}, do(ctx, s, q) })
}

// askStore and tellStore return handlers for requests without content: a method of the store that returns an A and an
// error, or only an error.
func askStore[A any](do func(served, context.Context) (A, error)) handler {
	return on(func(ctx context.Context, s served, _ *empty) (A, error) { return do(s, ctx) })
}

func tellStore(do func(served, context.Context) error) handler {
	return act(func(ctx context.Context, s served, _ *empty) error { return do(s, ctx) })
}

// move makes this process give up the store to another place.
func move(ctx context.Context, c *session, m *engine.Move, commit uint64) []byte {
	return c.answer(commit, c.s.o.Move(ctx, *m), nil)
}

// answer returns the frame of an answer. result points to what the request returns, and is nil on some errors. The
// frame reuses c.out's memory.
func (c *session) answer(commit uint64, err error, result any) []byte {
	b := codec.Append(startFrame(c.out), &answer{commit, toFault(err)})
	if result == nil {
		return b
	}
	return codec.Append(b, result)
}

// named returns ctx with the commit id of a write; uuid.Nil means none.
func named(ctx context.Context, id uuid.UUID) context.Context {
	if id == uuid.Nil {
		return ctx
	}
	return store.WithCommit(ctx, id)
}

var handlers = map[byte]handler{
	kImport: on(func(ctx context.Context, s served, q *importRequest) ([]outcome, error) {
		out := make([]outcome, len(q.Claims))
		for i, o := range s.Import(named(ctx, q.Commit), q.Claims) {
			out[i] = outcome{ID: o.ID, Changed: o.Changed, Err: toFault(o.Err)}
		}
		return out, nil
	}),
	kQuery: on(func(ctx context.Context, s served, q *ken.Query) ([]ken.Claim, error) { return s.Query(ctx, *q) }),
	kTransition: act(func(ctx context.Context, s served, q *transitionRequest) error {
		return s.Transition(named(ctx, q.Commit), q.Transition)
	}),
	kSupersede: act(func(ctx context.Context, s served, q *supersedeRequest) error {
		if q.WithoutWords {
			return s.Supersede(named(ctx, q.Commit), q.Old, q.New)
		}
		return s.SupersedeFor(named(ctx, q.Commit), q.Old, q.New, q.Reason, q.Actor)
	}),
	kHistory: on(func(ctx context.Context, s served, q *oneClaim) ([]ken.ClaimEvent, error) {
		return s.History(ctx, q.ID)
	}),
	kGet:   on(func(ctx context.Context, s served, q *oneClaim) (ken.Claim, error) { return s.Get(ctx, q.ID) }),
	kByKey: on(func(ctx context.Context, s served, q *oneClaim) (ken.Claim, error) { return s.ByKey(ctx, q.ID) }),
	kReinforce: act(func(ctx context.Context, s served, q *oneClaim) error {
		return s.Reinforce(named(ctx, q.Commit), q.ID, q.Evidence, q.Actor)
	}),
	kArchive: act(func(ctx context.Context, s served, q *oneClaim) error {
		return s.Archive(named(ctx, q.Commit), q.ID, q.Reason, q.Actor)
	}),
	kForget: on(func(ctx context.Context, s served, q *oneClaim) ([]string, error) {
		if ctx = named(ctx, q.Commit); q.Later {
			ctx = store.EraseLater(ctx)
		}
		return s.Forget(ctx, q.ID, q.Reason, q.Actor)
	}),
	kGlances: on(func(ctx context.Context, s served, q *glancesRequest) (a glancesAnswer, err error) {
		a.Page, a.Next, a.Done, err = s.Glances(ctx, q.Filter, q.From, min(max(q.N, 1), 1<<14))
		return a, err
	}),
	kRecords: answering[recordsRequest, recordsAnswer](records),
	kKeyword: search(func(ctx context.Context, s served, q *searchRequest) (store.Result, error) {
		return s.Keyword(ctx, q.Text, &q.Filter, q.Limit)
	}, sightNear, sightReach),
	kVector: search(func(ctx context.Context, s served, q *searchRequest) (store.Result, error) {
		if !speaks(s, q.Model) {
			return store.Result{}, &ken.Error{Code: ken.CodeInvalid, Field: "vector",
				Msg: "the process that holds the store compares with another embedding model than " + q.Model,
				Try: "Stop that process, or give both the same configuration."}
		}
		return s.Vector(ctx, q.Query, &q.Filter, q.Limit)
	}, 0, 2),
	kPinned: search(func(ctx context.Context, s served, q *searchRequest) (store.Result, error) {
		return s.Pinned(ctx, &q.Filter, q.Limit)
	}, 0, 0),
	kNewest: search(func(ctx context.Context, s served, q *searchRequest) (store.Result, error) {
		return s.Newest(ctx, &q.Filter, q.Limit)
	}, 0, 0),
	kCosines: on(func(_ context.Context, s served, q *cosinesRequest) ([]float64, error) {
		if !speaks(s, q.Model) {
			return make([]float64, len(q.Refs)), nil
		}
		return s.Cosines(q.Query, q.Refs), nil
	}),
	kSight: on(func(_ context.Context, s served, q *prefetchRequest) ([]byte, error) {
		refs, alone := q.Refs, []store.Ref(nil)
		for ref, n := q.From, min(q.N, s.Refs()-int(q.From)); n > 0; ref, n = ref+1, n-1 {
			alone = append(alone, ref)
		}
		return sightOf(s, refs, alone, 0, min(max(q.Reach, 0), 1024)), nil
	}),
	kHas: on(func(_ context.Context, s served, q *[]string) (bool, error) {
		return !slices.ContainsFunc(*q, func(id string) bool { return !s.Has(id) }), nil
	}),
	kCounts: on(func(_ context.Context, s served, q *countsRequest) (c counts, _ error) {
		c.Len, c.Refs, c.Seq = s.Len(), s.Refs(), s.Seq()
		c.Standby = s.Standby()
		if c.Embedded, c.Total = s.Coverage(); !speaks(s, q.Model) {
			c.Embedded, c.Standby = 0, ""
		}
		return c, nil
	}),
	kDocumentHashes: askStore(served.DocumentHashes),
	kPutDocuments:   act(func(ctx context.Context, s served, q *documentsRequest) error { return s.PutDocuments(ctx, q.Put) }),
	kRemoveDocuments: act(func(ctx context.Context, s served, q *documentsRequest) error {
		return s.RemoveDocuments(ctx, q.Remove)
	}),
	kTouchDocuments: act(func(ctx context.Context, s served, q *documentsRequest) error { return s.TouchDocuments(ctx, q.Touch) }),
	kOrphans:        askStore(served.Orphans),
	kPruneOrphans: on(func(ctx context.Context, s served, q *documentsRequest) (int, error) {
		return s.PruneOrphans(ctx, q.Remove)
	}),
	kAssign: on(func(ctx context.Context, s served, q *assignRequest) (bool, error) {
		return s.Assign(named(ctx, q.Commit), q.Assignment)
	}),
	kKnown: on(func(_ context.Context, s served, q *[]string) ([]bool, error) { return s.Known(*q), nil }),
	kOutlines: on(func(ctx context.Context, s served, q *outlinesRequest) (a outlinesAnswer, err error) {
		if a.Outlines, err = s.Outlines(ctx, q.Names, &q.Filter, q.Options); err == nil {
			a.Sight = sightOf(s, engine.Outlined(a.Outlines), nil, 0, 0)
		}
		return a, err
	}),
	kNames: on(func(ctx context.Context, s served, q *namesRequest) (a namesAnswer, err error) {
		a.Page, a.More, err = s.NamesAfter(ctx, &q.Filter, q.After, min(max(q.N, 1), 1<<14))
		return a, err
	}),
	kReferring: on(func(ctx context.Context, s served, q *referringRequest) (a referringAnswer, err error) {
		if a.Refs, err = s.Referring(ctx, q.Names, &q.Filter); err == nil {
			a.Sight = sightOf(s, a.Refs, nil, 0, 0)
		}
		return a, err
	}),
	kEvents:       on(events),
	kVerifyLog:    askStore(served.VerifyLog),
	kCheck:        askStore(served.Check),
	kFaults:       askStore(served.Faults),
	kProgram:      answering[programRequest, []byte](program),
	kMove:         answering[engine.Move, empty](move),
	kEmbedMissing: askStore(served.EmbedMissing),
	kCompact:      tellStore(served.Compact),
	kCopy:         act(func(ctx context.Context, s served, q *copyRequest) error { return s.CopyTo(ctx, q.Dir) }),
	kRebuild:      tellStore(served.Rebuild),
}

// speaks reports whether the store's vectors are from this model. It also returns true if
// model is empty, which a client without an embedder sends, or the store has no embedder.
func speaks(s store.Engine, model string) bool {
	e := s.Embedder()
	return model == "" || e == nil || e.Model() == model
}

// search returns a handler for a search. The answer includes the rows that a turn will
// need, unless the client already has them. near and reach are those of sightOf.
func search(do func(ctx context.Context, s served, q *searchRequest) (store.Result, error), near, reach int) handler {
	return on(func(ctx context.Context, s served, q *searchRequest) (a searchAnswer, err error) {
		known := q.Seen != 0 && q.Seen == s.Commit()
		if a.Result, err = do(ctx, s, q); err != nil {
			return searchAnswer{}, err
		}
		if a.Same = a.Result.Query != nil && slices.Equal(a.Result.Query, q.Query); a.Same {
			a.Result.Query = nil
		}
		if known {
			return a, nil
		}
		refs, cut := make([]store.Ref, len(a.Result.Hits)), make([]store.Ref, len(a.Result.Cut))
		for i := range a.Result.Hits {
			refs[i] = a.Result.Hits[i].Ref
		}
		for i := range a.Result.Cut {
			cut[i] = a.Result.Cut[i].Ref
		}
		a.Sight = sightOf(s, refs, cut, near, reach)
		return a, nil
	})
}

// records reads claims until they take about pageBytes. It reads their rows first, so that
// a claim may be newer than its row but never older.
func records(ctx context.Context, c *session, q *recordsRequest, commit uint64) []byte {
	var sight []byte
	if q.Sight {
		sight = sightOf(c.store, nil, q.Refs, 0, 0)
	}
	const step = 64
	var a recordsAnswer
	var err error
	size := 0
	left := q.Refs
	for len(left) > 0 && size < pageBytes && err == nil {
		n := min(step, len(left))
		var page []engine.Record
		if q.Sight { // a turn mostly reads the claims that the last turns read
			page, err = remembered(ctx, c.store, left[:n])
		} else {
			page, err = c.store.Records(ctx, left[:n])
		}
		if err != nil {
			break
		}
		for i := range page {
			size += 512 + len(page[i].Claim.Text) + len(page[i].Claim.Body)
		}
		a.Records = append(a.Records, page...)
		left = left[n:]
	}
	a.Left, a.Sight = len(left), sight
	return c.answer(commit, err, &a)
}

// remembered reads claims through the store's cache. It leaves out claims that are not found.
func remembered(ctx context.Context, s served, refs []store.Ref) ([]engine.Record, error) {
	out := make([]engine.Record, 0, len(refs))
	for _, ref := range refs {
		c, err := s.Claim(ctx, ref)
		switch {
		case err == nil:
			out = append(out, engine.Record{Ref: ref, Claim: c})
		case !errors.Is(err, ken.ErrNotFound):
			return nil, err
		}
	}
	return out, nil
}

// events reads one page of the log: at most q.N events and about pageBytes.
func events(ctx context.Context, s served, q *eventsRequest) (page []*store.Event, err error) {
	size := 0
	for ev, err := range s.Events(ctx, q.From) {
		if err != nil {
			return page, err
		}
		page = append(page, ev)
		if size += 256 + len(ev.Payload); size > pageBytes || len(page) >= q.N {
			break
		}
	}
	return page, nil
}

// wait answers when the log has grown. If the server shuts down first, there is no answer;
// the client can ask the next holder.
func (c *session) wait(f frame) error {
	var q eventsRequest
	if err := c.decode(f, &q); err != nil {
		return c.sendRefusal(err)
	}
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	done := make(chan struct{})
	defer func() { <-done }()
	over := make(chan struct{})
	defer close(over)
	go func() {
		defer close(done)
		select {
		case <-c.s.closing:
			cancel()
		case <-over:
		}
	}()
	err := c.store.Wait(ctx, q.From)
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	return c.send(c.answer(c.store.Commit(), err, &empty{}))
}
