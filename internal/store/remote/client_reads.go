package remote

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/internal/store/remote/codec"
	"github.com/kenlayer/ken/store"
)

const (
	// asideRows is how many rows are requested along with one that is not cached.
	asideRows = 1024
	// strideRows is how far a row may be from the previous one for the client to assume
	// that the caller walks over all rows.
	strideRows = 16
)

// find runs a search on the holder and caches the rows in the answer.
func (c *Client) find(ctx context.Context, kind byte, q *searchRequest) (store.Result, error) {
	if err := ctx.Err(); err != nil {
		return store.Result{}, err
	}
	var same string // cache key, for searches that are the same in every turn
	if kind == kPinned || kind == kNewest {
		f := q.Filter
		f.Now = time.Time{}
		same = string(codec.Append([]byte{kind}, &f)) + strconv.Itoa(q.Limit)
		q.Seen = c.cache.seen(same)
	}
	a, commit, err := call[searchRequest, searchAnswer](ctx, c, kind, q)
	if err := c.sighted(err, commit, same, a.Sight); err != nil {
		return store.Result{}, err
	}
	if a.Same {
		a.Result.Query = q.Query
	}
	return a.Result, nil
}

// Keyword implements store.Projections.
func (c *Client) Keyword(ctx context.Context, text string, f *ken.Filter, limit int) (store.Result, error) {
	return c.find(ctx, kKeyword, &searchRequest{Text: text, Filter: *f, Limit: limit})
}

// Vector implements store.Projections. It also returns ErrInvalid if the holder's vectors
// are from another model.
func (c *Client) Vector(ctx context.Context, query []float32, f *ken.Filter, limit int) (store.Result, error) {
	return c.find(ctx, kVector, &searchRequest{Query: query, Model: c.model, Filter: *f, Limit: limit})
}

// Pinned implements store.Projections.
func (c *Client) Pinned(ctx context.Context, f *ken.Filter, limit int) (store.Result, error) {
	return c.find(ctx, kPinned, &searchRequest{Filter: *f, Limit: limit})
}

// Newest implements store.Projections.
func (c *Client) Newest(ctx context.Context, f *ken.Filter, limit int) (store.Result, error) {
	return c.find(ctx, kNewest, &searchRequest{Filter: *f, Limit: limit})
}

// Cosines implements store.Projections.
func (c *Client) Cosines(query []float32, refs []store.Ref) []float64 {
	ctx, cancel := c.shortTimeout()
	defer cancel()
	if len(refs) == 0 {
		return []float64{}
	}
	out, err := ask[cosinesRequest, []float64](ctx, c, kCosines, &cosinesRequest{query, c.model, refs})
	if err != nil || len(out) != len(refs) {
		return make([]float64, len(refs))
	}
	return out
}

// prefetchRow requests a record's row and, in the same request, rows that are likely to be
// needed next. reach is how many neighbours to each side are requested. It caches the rows
// and returns them, or nil maps if there was no answer.
func (c *Client) prefetchRow(ref store.Ref, reach int) (rows map[store.Ref]seenRow, links map[store.Ref]neighbourRow) {
	q := &prefetchRequest{Refs: c.cache.others(ref, asideRows), Reach: reach}
	c.mu.Lock()
	if reach == 0 && (ref < strideRows || ref >= c.ahead && ref-c.ahead < strideRows) { // a walk over all rows
		q.From, q.N = ref, asideRows
		c.ahead = ref + asideRows
	}
	c.mu.Unlock()
	ctx, cancel := c.shortTimeout()
	defer cancel()
	sight, commit, err := call[prefetchRequest, []byte](ctx, c, kSight, q)
	if err != nil {
		return nil, nil
	}
	rows, links = map[store.Ref]seenRow{}, map[store.Ref]neighbourRow{}
	if readSight(c.cache.classes, sight, rows, links) != nil {
		return nil, nil
	}
	c.cache.put(commit, rows, links)
	return rows, links
}

// row returns a record's row from the cache or the holder, and false if there was no
// answer. After a request it uses the answer and not the cache, because a later answer may
// already have invalidated the cached row.
func (c *Client) row(ref store.Ref) (seenRow, bool) {
	if r, ok := c.cache.row(ref); ok {
		return r, true
	}
	rows, _ := c.prefetchRow(ref, 0)
	r, ok := rows[ref]
	return r, ok
}

// Row implements store.Projections.
func (c *Client) Row(ref store.Ref) (store.Row, bool) {
	r, ok := c.row(ref)
	return r.row, ok && !r.gone
}

// Form implements store.Projections.
func (c *Client) Form(ref store.Ref) analysis.Form {
	r, _ := c.row(ref)
	return r.form
}

// Around implements store.Projections.
func (c *Client) Around(ref store.Ref, n int) (before, after []store.Ref) {
	if before, after, ok := c.cache.around(ref, n); ok {
		return before, after
	}
	_, links := c.prefetchRow(ref, max(n, sightReach))
	before, after, _ = around(links, ref, n)
	return before, after
}

// Has implements store.Projections. The answer is not cached, because callers use Has to
// avoid showing a claim that was just forgotten.
func (c *Client) Has(id string) bool { return c.HasAll([]string{id}) }

// HasAll implements store.Remote.
func (c *Client) HasAll(ids []string) bool {
	if len(ids) == 0 {
		return true
	}
	ctx, cancel := c.shortTimeout()
	defer cancel()
	all, err := ask[[]string, bool](ctx, c, kHas, &ids)
	return err == nil && all
}

// Claim implements store.Projections.
func (c *Client) Claim(ctx context.Context, ref store.Ref) (ken.Claim, error) {
	if claim, ok := c.cache.claim(ref); ok {
		return claim, nil
	}
	got, err := c.records(ctx, []store.Ref{ref}, true)
	if err != nil {
		return ken.Claim{}, err
	}
	if len(got) == 0 {
		return ken.Claim{}, &ken.Error{Code: ken.CodeNotFound, Msg: "no such record"}
	}
	return got[0].Claim, nil
}

// Fetch implements store.Remote.
func (c *Client) Fetch(ctx context.Context, refs []store.Ref) {
	if refs = c.cache.unread(refs); len(refs) > 0 {
		_, _ = c.records(ctx, refs, true) // on an error a later call of Claim reports it
	}
}

// records reads claims in as many requests as it takes. With sight, the claims and their rows are cached.
func (c *Client) records(ctx context.Context, refs []store.Ref, sight bool) (out []engine.Record, _ error) {
	for len(refs) > 0 {
		a, commit, err := call[recordsRequest, recordsAnswer](ctx, c, kRecords, &recordsRequest{Refs: refs, Sight: sight})
		if err := c.sighted(err, commit, "", a.Sight); err != nil {
			return out, err
		}
		if sight {
			c.cache.keep(commit, a.Records)
		}
		out = append(out, a.Records...)
		if a.Left <= 0 || a.Left >= len(refs) {
			break
		}
		refs = refs[len(refs)-a.Left:]
	}
	return out, nil
}

func (c *Client) counts() counts {
	ctx, cancel := c.shortTimeout()
	defer cancel()
	n, _ := ask[countsRequest, counts](ctx, c, kCounts, &countsRequest{c.model})
	return n
}

// Coverage implements store.Projections. If the holder's vectors are from another model
// than this process's, embedded is 0.
func (c *Client) Coverage() (embedded, total int) {
	n := c.counts()
	return n.Embedded, n.Total
}

// Standby implements store.Projections.
func (c *Client) Standby() string { return c.counts().Standby }

// Len implements store.Engine.
func (c *Client) Len() int { return c.counts().Len }

// Refs implements store.Engine.
func (c *Client) Refs() int { return c.counts().Refs }

// Seq implements store.Log.
func (c *Client) Seq() uint64 { return c.counts().Seq }

// Known implements store.Structure. If there is no answer, all results are false.
func (c *Client) Known(names []string) []bool {
	if len(names) > 0 {
		ctx, cancel := c.shortTimeout()
		defer cancel()
		if known, err := ask[[]string, []bool](ctx, c, kKnown, &names); err == nil && len(known) == len(names) {
			return known
		}
	}
	return make([]bool, len(names))
}

// Outlines implements store.Structure in one round trip. The answer includes the rows of
// the records in the outlines.
func (c *Client) Outlines(ctx context.Context, names []string, f *ken.Filter, o store.OutlineOptions) ([]store.Outline, error) {
	if len(names) == 0 {
		return []store.Outline{}, nil
	}
	a, commit, err := call[outlinesRequest, outlinesAnswer](ctx, c, kOutlines, &outlinesRequest{names, *f, o})
	return a.Outlines, c.sighted(err, commit, "", a.Sight)
}

// Referring implements store.Projections in one round trip. The answer includes the rows.
func (c *Client) Referring(ctx context.Context, names []string, f *ken.Filter) ([]store.Ref, error) {
	a, commit, err := call[referringRequest, referringAnswer](ctx, c, kReferring, &referringRequest{names, *f})
	return a.Refs, c.sighted(err, commit, "", a.Sight)
}

// sighted passes the sight of an answer to the cache, and returns err or why the sight is invalid.
func (c *Client) sighted(err error, commit uint64, search string, sight []byte) error {
	if err != nil {
		return err
	}
	if err := c.cache.applyPrefetch(commit, search, sight); err != nil {
		return &LostError{Sent: true, Err: err}
	}
	return nil
}

// Names implements store.Structure.
func (c *Client) Names(ctx context.Context, f *ken.Filter) iter.Seq2[store.NameCount, error] {
	return engine.AllNames(ctx, f, c.NamesAfter)
}

// NamesAfter implements engine.Served.
func (c *Client) NamesAfter(ctx context.Context, f *ken.Filter, after string, n int) (page []store.NameCount, more bool, err error) {
	a, err := ask[namesRequest, namesAnswer](ctx, c, kNames, &namesRequest{*f, after, n})
	return a.Page, a.More, err
}

// eventPage is how many events one request reads at most.
const eventPage = 512

// Events implements store.Log.
func (c *Client) Events(ctx context.Context, from uint64) iter.Seq2[*store.Event, error] {
	return engine.AllEvents(ctx, from, func(ctx context.Context, from uint64) ([]*store.Event, error) {
		return ask[eventsRequest, []*store.Event](ctx, c, kEvents, &eventsRequest{From: from, N: eventPage})
	})
}

// Wait implements store.Log.
func (c *Client) Wait(ctx context.Context, seq uint64) error {
	for {
		err := tell(ctx, c, kWait, &eventsRequest{From: seq})
		var e *ken.Error
		if !errors.As(err, &e) || e.Field != fieldHolder {
			return err
		}
		select { // a hung holder is no reason to return: try again
		case <-time.After(beatEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// VerifyLog implements store.Log. The holder verifies its log.
func (c *Client) VerifyLog(ctx context.Context) (store.LogReport, error) {
	return ask[empty, store.LogReport](ctx, c, kVerifyLog, &empty{})
}

// Check implements store.Engine. The holder checks its store.
func (c *Client) Check(ctx context.Context) (store.CheckReport, error) {
	return ask[empty, store.CheckReport](ctx, c, kCheck, &empty{})
}

// Faults implements store.Engine.
func (c *Client) Faults(ctx context.Context) ([]store.Fault, error) {
	return ask[empty, []store.Fault](ctx, c, kFaults, &empty{})
}

// EmbedMissing implements store.Engine. The holder embeds, with its own embedder.
func (c *Client) EmbedMissing(ctx context.Context) (int, error) {
	return ask[empty, int](ctx, c, kEmbedMissing, &empty{})
}

// Compact implements store.Engine.
func (c *Client) Compact(ctx context.Context) error { return tell(ctx, c, kCompact, &empty{}) }

// CopyTo implements engine.Copier. The holder writes the copy.
func (c *Client) CopyTo(ctx context.Context, dir string) error {
	return tell(ctx, c, kCopy, &copyRequest{dir})
}

// Move makes the holder give up the store to another place. The connection then breaks.
func (c *Client) Move(ctx context.Context, m engine.Move) error { return tell(ctx, c, kMove, &m) }

// Rebuild implements store.Engine.
func (c *Client) Rebuild(ctx context.Context) error { return tell(ctx, c, kRebuild, &empty{}) }

// DocumentHashes implements store.Documents.
func (c *Client) DocumentHashes(ctx context.Context) (map[string]store.Known, error) {
	return ask[empty, map[string]store.Known](ctx, c, kDocumentHashes, &empty{})
}

// PutDocuments implements store.Documents. It splits a large list over several
// transactions, but never a single document.
func (c *Client) PutDocuments(ctx context.Context, docs []store.Document) error {
	from, size := 0, 0
	for i := range docs {
		size += 1024
		for j := range docs[i].Chunks {
			size += 1024 + len(docs[i].Chunks[j].Text)
		}
		if size > importBytes && i > from {
			if err := tell(ctx, c, kPutDocuments, &documentsRequest{Put: docs[from:i]}); err != nil {
				return err
			}
			from, size = i, 0
		}
	}
	return tell(ctx, c, kPutDocuments, &documentsRequest{Put: docs[from:]})
}

// RemoveDocuments implements store.Documents.
func (c *Client) RemoveDocuments(ctx context.Context, paths []string) error {
	return tell(ctx, c, kRemoveDocuments, &documentsRequest{Remove: paths})
}

// TouchDocuments implements store.Documents.
func (c *Client) TouchDocuments(ctx context.Context, known map[string]store.Known) error {
	return tell(ctx, c, kTouchDocuments, &documentsRequest{Touch: known})
}

// Orphans implements store.Documents.
func (c *Client) Orphans(ctx context.Context) ([]string, error) {
	return ask[empty, []string](ctx, c, kOrphans, &empty{})
}

// PruneOrphans implements store.Documents.
func (c *Client) PruneOrphans(ctx context.Context, paths []string) (int, error) {
	return ask[documentsRequest, int](ctx, c, kPruneOrphans, &documentsRequest{Remove: paths})
}
