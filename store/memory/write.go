package memory

import (
	"context"
	"math"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/store/outline"
	"github.com/kenlayer/ken/store"
)

// WriteClaim implements ken.Store.
func (s *Store) WriteClaim(ctx context.Context, c ken.Claim) (string, error) {
	return s.Import(ctx, c, nil)
}

// Import is WriteClaim for a claim that had a life in another store: prior comes
// first in its history here. A claim that this store knows already keeps the
// history that it has.
func (s *Store) Import(ctx context.Context, c ken.Claim, prior []ken.ClaimEvent) (string, error) {
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
	id, ev, err := store.WriteCommand(s.get, s.byKey, c, prior, s.env)
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
func (s *Store) Transition(ctx context.Context, t ken.Transition) error {
	return s.do(ctx, func() (*store.Event, error) { return store.TransitionCommand(s.get, t, s.env) })
}

// Supersede implements ken.Store.
func (s *Store) Supersede(ctx context.Context, oldID, newID string) error {
	return s.SupersedeFor(ctx, oldID, newID, "", ken.Actor{})
}

// SupersedeFor is Supersede with the reason and who decided it, for the history.
func (s *Store) SupersedeFor(ctx context.Context, oldID, newID, reason string, actor ken.Actor) error {
	return s.do(ctx, func() (*store.Event, error) {
		return store.SupersedeCommand(s.get, oldID, newID, reason, actor, s.env)
	})
}

// Assign files a claim; see store.Claims.
func (s *Store) Assign(ctx context.Context, a ken.Assignment) (changed bool, err error) {
	err = s.do(ctx, func() (*store.Event, error) {
		ev, err := store.AssignCommand(s.get, a, s.env)
		changed = ev != nil
		return ev, err
	})
	return changed && err == nil, err
}

func (s *Store) do(ctx context.Context, command func() (*store.Event, error)) error {
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

// append numbers and seals an event, and folds it into the claims. The caller
// holds s.mu.
func (s *Store) append(ev *store.Event) error {
	changed, err := store.Fold(s.get, ev)
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

func (s *Store) put(c ken.Claim, ev *store.Event) {
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
	if known && store.EmbedText(&r.claim) != store.EmbedText(&c) {
		r.vec = nil // the text changed
	}
	r.claim = c
	r.trail = append(r.trail, ev)
	r.row = store.Row{ID: c.ID, Facts: c.Facts(), Support: c.Support(nil), CreatedAt: c.CreatedAt, Constraint: c.Constraint}
	r.form = analysis.FormOf(c.Text)
	s.words.set(ref, &c)
	if about, some := outline.Of(&c); some {
		s.about.Put(outline.Record{Ref: ref, ID: uuid.MustParse(c.ID), Kind: c.Kind, Tier: r.row.Support.Tier,
			Created: c.CreatedAt.UnixMilli(), Constraint: c.Constraint, About: about})
	} else {
		s.about.Remove(ref)
	}
}

func (s *Store) get(id string) (*ken.Claim, error) {
	ref, ok := s.refs[id]
	if !ok {
		return nil, nil
	}
	return &s.records[ref].claim, nil
}

func (s *Store) byKey(key string) (string, error) { return s.keys[key], nil }

// vectorOf embeds a claim. A write never fails over a vector: what goes wrong
// here shows in Coverage.
func (s *Store) vectorOf(ctx context.Context, c *ken.Claim) []float32 {
	if s.embed == nil {
		return nil
	}
	vecs, err := s.embed(ctx, []string{store.EmbedText(c)})
	if err != nil || len(vecs) != 1 {
		return nil
	}
	return unit(vecs[0])
}

func (s *Store) setVector(ref store.Ref, vec []float32) {
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
