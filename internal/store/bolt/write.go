package bolt

import (
	"context"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// WriteClaim implements ken.Store.
func (s *Store) WriteClaim(ctx context.Context, c ken.Claim) (string, error) {
	out := s.Import(ctx, []store.Incoming{{Claim: c}})
	return out[0].ID, out[0].Err
}

// Import writes many claims in one transaction, each succeeding or failing by
// itself, and returns the outcomes in order. It is the fast way in: a thousand
// at a time cost little more than one.
func (s *Store) Import(ctx context.Context, in []store.Incoming) []store.Outcome {
	out := make([]store.Outcome, len(in))
	env := s.o.env()
	texts := make([]string, 0, len(in))
	ready := make([]ken.Claim, len(in))
	for i := range in {
		if ready[i], out[i].Err = store.Prepare(in[i].Claim, s.o.Owner, env); out[i].Err == nil {
			texts = append(texts, store.EmbedText(&ready[i]))
		}
	}
	if len(texts) == 0 {
		return out
	}
	s.vecs.prepare(ctx, texts)
	// The committer may still be at work when ctx ends the wait, so it writes to
	// a slice of its own.
	got := written{out: slices.Clone(out)}
	err := s.doOnce(ctx, &got, func(t *txn) error {
		env := t.env()
		for i := range ready {
			if got.out[i].Err != nil {
				continue
			}
			id, ev, err := store.WriteCommand(t.get, t.byKey, ready[i], in[i].Prior, env)
			if err == nil && ev != nil {
				err = t.emit(ev)
			}
			got.out[i] = store.Outcome{ID: id, Changed: ev != nil && err == nil, Err: err}
		}
		return nil
	})
	if err == nil {
		return got.out
	}
	for i := range out {
		if out[i].Err == nil {
			out[i].Err = err
		}
	}
	return out
}

// Assign implements store.Claims.
func (s *Store) Assign(ctx context.Context, a ken.Assignment) (changed bool, err error) {
	var did bool // the committer may still be at work when ctx ends the wait
	err = s.doOnce(ctx, &did, func(t *txn) error {
		did = false
		ev, err := store.AssignCommand(t.get, a, s.o.env())
		if err != nil || ev == nil {
			return err
		}
		did = true
		return t.emit(ev)
	})
	if err != nil {
		return false, err
	}
	return did, nil
}

// Transition implements ken.Store.
func (s *Store) Transition(ctx context.Context, tr ken.Transition) error {
	return s.do(ctx, func(t *txn) error {
		ev, err := store.TransitionCommand(t.get, tr, s.o.env())
		if err != nil {
			return err
		}
		return t.emit(ev)
	})
}

// Reinforce records that a claim was seen again: the evidence is added to its own,
// a newer piece in place of the same older one, so that a Verified claim stops
// decaying. Errors: ErrNotFound; ErrRefused for a claim that no longer stands.
func (s *Store) Reinforce(ctx context.Context, id string, evidence []ken.Evidence, actor ken.Actor) error {
	return s.do(ctx, func(t *txn) error {
		ev, err := store.ReinforceCommand(t.get, id, evidence, actor, s.o.env())
		if err != nil {
			return err
		}
		return t.emit(ev)
	})
}

// Supersede implements ken.Store.
func (s *Store) Supersede(ctx context.Context, oldID, newID string) error {
	return s.SupersedeFor(ctx, oldID, newID, "", ken.Actor{})
}

// SupersedeFor is Supersede with the reason and who decided it, for the history.
func (s *Store) SupersedeFor(ctx context.Context, oldID, newID, reason string, actor ken.Actor) error {
	return s.do(ctx, func(t *txn) error {
		ev, err := store.SupersedeCommand(t.get, oldID, newID, reason, actor, s.o.env())
		if err != nil || ev == nil {
			return err
		}
		return t.emit(ev)
	})
}
