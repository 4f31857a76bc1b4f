package memory

import (
	"context"
	"crypto/sha256"
	"iter"
	"math"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/internal/store/outline"
	"github.com/kenlayer/ken/store"
)

// Options configures a store; the zero value works.
type Options struct {
	Owner string           // default ken.DefaultOwner
	Now   func() time.Time // default time.Now
	NewID func() string    // a UUID; default version 7

	// Embed returns one vector for each text, nil for a text that has none. It is called
	// during a write, before the write takes the store's lock. Nil means that the store
	// keeps no vectors.
	Embed func(ctx context.Context, texts []string) ([][]float32, error)
	Dim   int // dimension of the vectors; 0 uses that of the first one

	// Assign sets what a claim is about while the claim is written: see store.Env. The
	// Structure is the store's current state and may only be used during the call, which
	// holds the store's lock. May be nil.
	Assign func(store.Structure, *ken.Claim)
}

// Store is one owner's claims in memory. It is safe for concurrent use. The methods beyond
// ken.Store and store.Projections do what those of store.Engine do.
type Store interface {
	ken.Store
	store.Projections

	// Import writes a claim that has a history in another store: prior comes first in its
	// history here. A claim that this store knows already keeps its history.
	Import(ctx context.Context, c ken.Claim, prior []ken.ClaimEvent) (string, error)
	// Get reads a claim by its id; ErrNotFound when there is none.
	Get(ctx context.Context, id string) (ken.Claim, error)
	// ByKey reads the claim that holds a key; ErrNotFound when none does.
	ByKey(ctx context.Context, key string) (ken.Claim, error)
	// Scan yields the records that pass the filter and, unless it is nil, want.
	Scan(ctx context.Context, f *ken.Filter, want func(store.Glance) bool) iter.Seq2[ken.Claim, error]
	// Reinforce adds evidence to a claim that was observed again.
	Reinforce(ctx context.Context, id string, evidence []ken.Evidence, actor ken.Actor) error
	// Assign files a claim: what it is about, its aspect, and whether it is a rule.
	Assign(ctx context.Context, a ken.Assignment) (changed bool, err error)
	// SupersedeFor is Supersede with a reason and an actor.
	SupersedeFor(ctx context.Context, oldID, newID, reason string, actor ken.Actor) error
	// Archive archives a claim that was superseded or has expired. A query that asks for
	// its status or time still finds it.
	Archive(ctx context.Context, id, reason string, actor ken.Actor) error
	// Events yields the log from a sequence number on, oldest first, as of the start of
	// the loop. The caller must not change an event.
	Events(ctx context.Context, from uint64) iter.Seq2[*store.Event, error]
	// Refs returns the number of refs: every ref is below it.
	Refs() int
	// Shelf returns the owner's key-value store for data that is not knowledge.
	Shelf() store.Shelf
}

type memStore struct {
	owner string
	env   store.Env
	embed func(ctx context.Context, texts []string) ([][]float32, error)
	shelf store.Shelf

	mu      sync.RWMutex // guards all below
	dim     int
	log     []*store.Event // event i+1 is at index i; events are immutable here
	records []record       // by store.Ref
	refs    map[string]store.Ref
	keys    map[string]string // key to claim id
	words   postings
	about   *outline.Index
}

// record is a claim and what searches need of it.
type record struct {
	claim ken.Claim
	row   store.Row
	form  analysis.Form
	trail []*store.Event // events about the claim
	vec   []float32      // of unit length; nil: none
}

// New returns an empty store.
func New(o Options) Store {
	if o.Owner == "" {
		o.Owner = ken.DefaultOwner
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	s := &memStore{
		owner: o.Owner,
		env:   store.Env{Now: func() time.Time { return o.Now().Round(0).UTC() }, NewID: o.NewID},
		embed: o.Embed,
		shelf: NewShelf(),
		dim:   o.Dim,
		refs:  map[string]store.Ref{},
		keys:  map[string]string{},
		words: newPostings(),
		about: outline.New(),
	}
	if o.Assign != nil {
		s.env.Assign = func(c *ken.Claim) { o.Assign(structure{s}, c) }
	}
	return s
}

// History implements ken.Store.
func (s *memStore) History(ctx context.Context, id string) ([]ken.ClaimEvent, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	u, err := uuid.Parse(id)
	if err != nil {
		return nil, notFound(id)
	}
	s.mu.RLock()
	ref, ok := s.refs[u.String()]
	var trail []*store.Event
	if ok {
		trail = s.records[ref].trail
	}
	s.mu.RUnlock()
	if !ok {
		return nil, notFound(id)
	}
	var out []ken.ClaimEvent
	for _, ev := range trail {
		views, err := engine.View(ev, u.String())
		if err != nil {
			return nil, err
		}
		out = append(out, views...)
	}
	return out, nil
}

// Events yields the log from a sequence number on, oldest first, as of the start of the
// loop. The store owns the events: the caller must not change them.
func (s *memStore) Events(ctx context.Context, from uint64) iter.Seq2[*store.Event, error] {
	return func(yield func(*store.Event, error) bool) {
		s.mu.RLock()
		log := s.log
		s.mu.RUnlock()
		for i := max(from, 1) - 1; i < uint64(len(log)); i++ {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if !yield(log[i], nil) {
				return
			}
		}
	}
}

// head returns the hash that the next event follows.
func (s *memStore) head() (h [sha256.Size]byte) {
	if n := len(s.log); n > 0 {
		h = s.log[n-1].Hash
	}
	return h
}

func notFound(id string) error {
	return &ken.Error{Code: ken.CodeNotFound, Field: "id", Msg: "no claim " + id,
		Try: "List claims with an empty question, or check the owner."}
}

// WriteClaim implements ken.Store.
func (s *memStore) WriteClaim(ctx context.Context, c ken.Claim) (string, error) {
	return s.Import(ctx, c, nil)
}

// Import is WriteClaim for a claim that has a history in another store: prior comes first
// in its history here. A claim that this store knows already keeps its history.
func (s *memStore) Import(ctx context.Context, c ken.Claim, prior []ken.ClaimEvent) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	c, err := store.Prepare(c, s.owner, s.env)
	if err != nil {
		return "", err
	}
	vec := s.vectorOf(ctx, &c)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return "", err
	}
	id, ev, err := engine.Write(s.get, s.byKey, c, prior, s.env)
	if err != nil || ev == nil {
		return id, err
	}
	if err := s.append(ev); err != nil {
		return "", err
	}
	s.setVector(s.refs[id], vec)
	return id, nil
}

// Transition implements ken.Store.
func (s *memStore) Transition(ctx context.Context, t ken.Transition) error {
	return s.do(ctx, func() (*store.Event, error) { return engine.Transition(s.get, t, s.env) })
}

// Supersede implements ken.Store.
func (s *memStore) Supersede(ctx context.Context, oldID, newID string) error {
	return s.SupersedeFor(ctx, oldID, newID, "", ken.Actor{})
}

// SupersedeFor is Supersede with a reason and an actor, which are stored in the history.
func (s *memStore) SupersedeFor(ctx context.Context, oldID, newID, reason string, actor ken.Actor) error {
	return s.do(ctx, func() (*store.Event, error) {
		return engine.Supersede(s.get, oldID, newID, reason, actor, s.env)
	})
}

// Assign files a claim; see store.Claims.
func (s *memStore) Assign(ctx context.Context, a ken.Assignment) (changed bool, err error) {
	err = s.do(ctx, func() (*store.Event, error) {
		ev, err := engine.Assign(s.get, a, s.env)
		changed = ev != nil
		return ev, err
	})
	return changed && err == nil, err
}

func (s *memStore) do(ctx context.Context, command func() (*store.Event, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	ev, err := command()
	if err != nil || ev == nil {
		return err
	}
	return s.append(ev)
}

// append assigns a number to an event, seals it, and folds it into the claims. The caller
// holds s.mu.
func (s *memStore) append(ev *store.Event) error {
	changed, err := engine.Fold(s.get, ev)
	if err != nil {
		return err
	}
	ev.Seq = uint64(len(s.log)) + 1
	ev.Seal(s.head())
	s.log = append(s.log, ev)
	for _, c := range changed {
		s.put(c, ev)
	}
	return nil
}

func (s *memStore) put(c ken.Claim, ev *store.Event) {
	ref, known := s.refs[c.ID]
	if !known {
		ref = store.Ref(len(s.records))
		s.refs[c.ID] = ref
		s.records = append(s.records, record{})
	}
	if c.Key != "" {
		s.keys[c.Key] = c.ID
	}
	r := &s.records[ref]
	if known && engine.EmbedText(&r.claim) != engine.EmbedText(&c) {
		r.vec = nil // the text changed
	}
	r.claim = c
	r.trail = append(r.trail, ev)
	r.row = store.Row{ID: c.ID, Facts: c.Facts(), Support: c.Support(nil), CreatedAt: c.CreatedAt, Constraint: c.Constraint}
	r.form = analysis.FileForm(c.SourceType, c.Source, c.Text)
	s.words.set(ref, &c)
	if about, some := outline.Of(&c); some {
		s.about.Put(outline.Record{Ref: ref, ID: uuid.MustParse(c.ID), Kind: c.Kind, Tier: r.row.Support.Tier,
			Created: c.CreatedAt.UnixMilli(), Constraint: c.Constraint, Candidate: c.RuleCandidate, About: about})
	} else {
		s.about.Remove(ref)
	}
}

func (s *memStore) get(id string) (*ken.Claim, error) {
	ref, ok := s.refs[id]
	if !ok {
		return nil, nil
	}
	return &s.records[ref].claim, nil
}

func (s *memStore) byKey(key string) (string, error) { return s.keys[key], nil }

// vectorOf embeds a claim. An error does not fail the write: the claim then counts as not
// embedded in Coverage.
func (s *memStore) vectorOf(ctx context.Context, c *ken.Claim) []float32 {
	if s.embed == nil {
		return nil
	}
	vecs, err := s.embed(ctx, []string{engine.EmbedText(c)})
	if err != nil || len(vecs) != 1 {
		return nil
	}
	return unit(vecs[0])
}

func (s *memStore) setVector(ref store.Ref, vec []float32) {
	if s.dim == 0 {
		s.dim = len(vec)
	}
	if vec != nil && len(vec) == s.dim {
		s.records[ref].vec = vec
	}
}

// unit returns a copy of v scaled to length 1; nil when v has no direction.
func unit(v []float32) []float32 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return nil
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(float64(x) / math.Sqrt(sum))
	}
	return out
}

// Archive archives a claim that was superseded or has expired. The reason is stored; if it
// is empty, the reason is "superseded" or "expired". A query that asks for its status or time still finds
// it. Archiving it again changes nothing. Errors: ErrNotFound; ErrRefused for a claim that
// is still active.
func (s *memStore) Archive(ctx context.Context, id, reason string, actor ken.Actor) error {
	return s.do(ctx, func() (*store.Event, error) { return engine.Archive(s.get, id, reason, actor, s.env) })
}
