package operator

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/itemid"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// Options configures a Desk.
type Options struct {
	// Name is the person's name, for the history and for evidence. It may be empty for
	// somebody who only reads or supersedes.
	Name string
	// Editor is the author of edits in MEMORY.md, which some methods read. "" means that
	// the author is unknown, since the user of the desk need not be the one who edited
	// the file.
	Editor string
	// Project and Source are recorded for changes of the structure. Source is the
	// SourceType of edit.Options.
	Project, Source string
	Now             func() time.Time // default time.Now
}

// Desk carries out one person's decisions about the claims of one owner. It is safe for
// concurrent use, needs no Close, and is valid as long as its store is held.
//
// Methods accept a claim's id as the store's Get does. Errors are ErrNotFound for an
// unknown claim, and ErrRefused for a piece of the repository or a transition that is not
// allowed; see ken.CheckTransition.
type Desk struct {
	l *middleware.Layer
	s store.Engine
	o Options
}

// New returns a desk for an owner's store. The caller gets the store from the layer and
// must hold it while the desk is used.
func New(l *middleware.Layer, s store.Engine, o Options) *Desk {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Desk{l: l, s: s, o: o}
}

// Living returns a claim that is to be changed, by its id with or without the marks of a
// block. Pieces of the repository have ids too, but no life cycle; for them it returns
// ErrRefused.
func Living(ctx context.Context, s store.Engine, id string) (ken.Claim, error) {
	c, err := s.Get(ctx, itemid.Bare(id))
	if err == nil && c.Kind == ken.KindDocument {
		err = &ken.Error{Code: ken.CodeRefused, Field: "id", Msg: id + " is a piece of the repository, not a claim",
			Try: "Change " + cmp.Or(c.Source, "the file") + " itself: the index follows."}
	}
	return c, err
}

// Editor returns an editor of the structure with the given evidence, or with the person
// as evidence if there is none.
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

// personEvidence returns evidence of the person at the current time.
func (d *Desk) personEvidence(detail string) ken.Evidence {
	return ken.FromHumanAssertion(d.o.Name, d.o.Now().UTC(), detail)
}

// decide carries out a decision on the current state of the claim. If it is refused
// because the claim was changed meanwhile, decide tries once more with the new state.
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
