package memory

import (
	"context"
	"crypto/sha256"
	"iter"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/store/outline"
	"github.com/kenlayer/ken/store"
)

// Options configures a store; the zero value works.
type Options struct {
	Owner string           // default ken.DefaultOwner
	Now   func() time.Time // default time.Now
	NewID func() string    // a UUID; default version 7

	// Embed returns one vector for each text, nil for one that has none. It is
	// called during a write, before the write takes the store's lock. Nil means
	// that the store keeps no vectors.
	Embed func(ctx context.Context, texts []string) ([][]float32, error)
	Dim   int // of the vectors; 0 takes that of the first one

	// Assign finds out what a claim is about while it is written: see store.Env. It gets
	// the store as it is just then, to be used during the call only: it holds the
	// store's lock. Nil: nobody does.
	Assign func(store.Structure, *ken.Claim)
}

// Store holds one owner's claims in memory. It is safe for concurrent use.
type Store struct {
	owner string
	env   store.Env
	embed func(ctx context.Context, texts []string) ([][]float32, error)
	shelf store.Shelf

	mu      sync.RWMutex // guards all below
	dim     int
	log     []*store.Event // number i+1 is at i; an event never changes once it is here
	records []record       // by store.Ref
	refs    map[string]store.Ref
	keys    map[string]string // key to claim id
	words   postings
	about   *outline.Index
}

// record is a claim and what searching needs of it.
type record struct {
	claim ken.Claim
	row   store.Row
	form  analysis.Form
	trail []*store.Event // that concern the claim
	vec   []float32      // of unit length; nil: none
}

var (
	_ ken.Store         = (*Store)(nil)
	_ store.Projections = (*Store)(nil)
)

// New returns an empty store.
func New(o Options) *Store {
	if o.Owner == "" {
		o.Owner = ken.DefaultOwner
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	s := &Store{
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
func (s *Store) History(ctx context.Context, id string) ([]ken.ClaimEvent, error) {
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
		views, err := store.View(ev, u.String())
		if err != nil {
			return nil, err
		}
		out = append(out, views...)
	}
	return out, nil
}

// Events yields the log from a sequence number on, oldest first, as it was when
// the loop began. The events are the store's own: a caller changes none.
func (s *Store) Events(ctx context.Context, from uint64) iter.Seq2[*store.Event, error] {
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

// head is the hash that the next event follows.
func (s *Store) head() (h [sha256.Size]byte) {
	if n := len(s.log); n > 0 {
		h = s.log[n-1].Hash
	}
	return h
}

func notFound(id string) error {
	return &ken.Error{Code: ken.CodeNotFound, Field: "id", Msg: "no claim " + id,
		Try: "List claims with an empty question, or check the owner."}
}
