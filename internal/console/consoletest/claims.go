package consoletest

import (
	"context"
	"errors"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// told is a claim of the story.
type told struct {
	name string
	ago  time.Duration
	text string
	set  func(f *furnisher, c *ken.Claim) error // what is not as for most; may be nil
}

// learn returns the step that writes a claim to the default owner's store.
func (f *furnisher) learn(t told) step { return f.learnFor("", t) }

func (f *furnisher) learnFor(owner string, t told) step {
	return step{t.ago, "learn " + t.name, func(ctx context.Context) error {
		at := f.clock.Now()
		c := ken.Claim{ID: f.ids.named(at, owner+"/"+t.name), Kind: ken.KindFact, Text: t.text, Status: ken.StatusObserved, Confidence: .9, Importance: .5,
			Project: "payments", Actor: ken.Actor{Type: "user", ID: "ana"}, Source: "ana", SourceType: "learn", CreatedAt: at,
			Evidence: []ken.Evidence{ken.FromUserStatement("s-incident", "m1")}}
		if t.set != nil {
			if err := t.set(f, &c); err != nil {
				return err
			}
		}
		return f.store(ctx, owner, func(s store.Engine) error {
			id, err := s.WriteClaim(ctx, c)
			if err != nil {
				return err
			}
			if owner == Bob {
				f.project.Others = append(f.project.Others, id)
			} else {
				f.project.Claims[t.name] = id
			}
			return nil
		})
	}}
}

// store calls fn with an owner's store.
func (f *furnisher) store(ctx context.Context, owner string, fn func(store.Engine) error) (err error) {
	s, release, err := f.layer.Store(ctx, owner)
	if err != nil {
		return err
	}
	defer release()
	return fn(s)
}

// by is evidence in place of a person's word.
func by(pieces ...ken.Evidence) func(*furnisher, *ken.Claim) error {
	return func(_ *furnisher, c *ken.Claim) error { c.Evidence = pieces; return nil }
}

// files has a claim rest on files as they were when it was written.
func files(paths ...string) func(*furnisher, *ken.Claim) error {
	return func(f *furnisher, c *ken.Claim) error {
		c.Evidence = nil
		for i, p := range paths {
			e, err := f.fileEvidence(p, 7+i)
			if err != nil {
				return err
			}
			c.Evidence = append(c.Evidence, e)
		}
		return nil
	}
}

// about files a claim under things, aspect and tags.
func about(aspect string, entities []string, tags ...string) func(*furnisher, *ken.Claim) error {
	return func(_ *furnisher, c *ken.Claim) error {
		c.Aspect, c.Entities, c.Tags = aspect, entities, tags
		return nil
	}
}

// like sets a claim's fields.
func like(set func(c *ken.Claim)) func(*furnisher, *ken.Claim) error {
	return func(_ *furnisher, c *ken.Claim) error { set(c); return nil }
}

// all does one after the other.
func all(sets ...func(*furnisher, *ken.Claim) error) func(*furnisher, *ken.Claim) error {
	return func(f *furnisher, c *ken.Claim) error {
		for _, set := range sets {
			if err := set(f, c); err != nil {
				return err
			}
		}
		return nil
	}
}

// change is a step that does something about claims that are there.
func (f *furnisher) change(ago time.Duration, name string, do func(ctx context.Context, s store.Engine) error) step {
	return step{ago, name, func(ctx context.Context) error {
		return f.store(ctx, "", func(s store.Engine) error { return do(ctx, s) })
	}}
}

// claim is the id of a claim of the story.
func (f *furnisher) claim(name string) (string, error) {
	id, ok := f.project.Claims[name]
	if !ok {
		return "", errors.New("the story has no claim " + name + " yet")
	}
	return id, nil
}
