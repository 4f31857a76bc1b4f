package operator

import (
	"context"
	"errors"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// Options configures a Desk: the person, the project and the source.
type Options struct {
	// Name is the person's, in the history and in evidence. Who only reads, or
	// supersedes, may have none.
	Name string
	// Editor is whose word an edit of MEMORY.md is that is read on the way; "" for
	// nobody in particular, where the person at the desk need not be the one at the file.
	Editor string
	// Project and Source say where changes of the structure come from; see edit.Options,
	// whose SourceType Source is.
	Project, Source string
	Now             func() time.Time // default time.Now
}

// Desk carries out one person's decisions about the claims of one owner. It is safe for
// concurrent use, needs no closing, and is good for as long as its store is held.
//
// Methods take a claim's id as the store's Get does, errors are ErrNotFound for a
// claim that is not there, and ErrRefused for a piece of the repository or a step
// that the claim's life does not have; see ken.CheckTransition.
type Desk struct {
	l *middleware.Layer
	s store.Engine
	o Options
}

// New returns a desk over an owner's store, which the caller has from the layer and
// holds on to.
func New(l *middleware.Layer, s store.Engine, o Options) *Desk {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Desk{l: l, s: s, o: o}
}

// Living reads a claim that is to be changed. Pieces of the repository have ids too,
// and no life cycle: they are ErrRefused.
func Living(ctx context.Context, s store.Engine, id string) (ken.Claim, error) {
	c, err := s.Get(ctx, id)
	if err == nil && c.Kind == ken.KindDocument {
		err = &ken.Error{Code: ken.CodeRefused, Field: "id", Msg: id + " is a piece of the repository, not a claim",
			Try: "Change the file itself: the index follows."}
	}
	return c, err
}

// Editor changes the structure on the person's word, or on the evidence given.
func (d *Desk) Editor(evidence ...ken.Evidence) *edit.Editor {
	if len(evidence) == 0 {
		evidence = []ken.Evidence{d.personEvidence("")}
	}
	return edit.New(d.s, edit.Options{Now: d.o.Now, Actor: d.actor(), Evidence: evidence, By: ken.AssignedByOperator,
		Project: d.o.Project, SourceType: d.o.Source})
}

func (d *Desk) actor() ken.Actor {
	if d.o.Name == "" {
		return ken.Actor{}
	}
	return ken.Actor{Type: "user", ID: d.o.Name}
}

// personEvidence is the person's, now.
func (d *Desk) personEvidence(detail string) ken.Evidence {
	return ken.FromHumanAssertion(d.o.Name, d.o.Now().UTC(), detail)
}

// decide carries a decision out on the claim as it is. One that is refused because
// somebody moved the claim meanwhile is made again on what it has become.
func (d *Desk) decide(ctx context.Context, id string, do func(*ken.Claim) error) error {
	c, err := Living(ctx, d.s, id)
	if err != nil {
		return err
	}
	was := c.Status
	if err = do(&c); !errors.Is(err, ken.ErrRefused) {
		return err
	}
	now, failed := Living(ctx, d.s, c.ID)
	if failed != nil || now.Status == was {
		return err
	}
	return do(&now)
}
