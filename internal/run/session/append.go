package session

import (
	"context"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Append keeps those messages of a conversation that the journal does not have,
// as the package comment says, and returns them in their order. msgs may be the
// whole conversation, its end, or an edited or compacted form of it; it is not
// changed. A session that is not known begins; one that ended goes on, in another
// part when its messages were swept. Fields of about that are empty leave what was
// known.
//
// Errors: ErrInvalid for an id that is empty, longer than 256 bytes or unclean; what
// the shelf fails with. Nothing is kept of a call that fails.
func (j *Journal) Append(ctx context.Context, about About, msgs []ken.Message) ([]Entry, error) {
	return j.append(ctx, about, msgs, false)
}

// append is Append, or, with all, keeps every message as one that was said now.
func (j *Journal) append(ctx context.Context, about About, msgs []ken.Message, all bool) ([]Entry, error) {
	noted := j.Record(ctx, []Note{{About: about, Messages: msgs, all: all}}, nil)
	return noted[0].Entries, noted[0].Err
}

// begin is a session that nobody knew.
func begin(about About, now time.Time) *record {
	return &record{Info: Info{About: about, State: Open, Part: 1, Started: now, Active: now}}
}

// goOn opens a session in which something was said.
func (r *record) goOn() {
	if r.State == Open {
		return
	}
	r.State, r.Reason, r.Ended, r.With = Open, "", time.Time{}, nil
	if r.Swept == r.Part {
		r.Part++
		r.Said, r.Blocks = 0, 0
	}
}

// later returns a time that is not before last: within a session, time does not
// go backwards, whatever the clock does.
func later(now, last time.Time) time.Time {
	if now.Before(last) {
		return last
	}
	return now
}

// clean cleans everything but the id, which checkID has looked at.
func (a *About) clean() {
	for _, s := range []*string{&a.Parent, &a.Project, &a.Branch, &a.Agent, &a.Model, &a.Scope.ID} {
		*s = store.Clean(*s)
	}
	scopes := a.Scopes
	a.Scopes = nil
	for _, s := range scopes {
		s.ID = store.Clean(s.ID)
		a.Scopes = append(a.Scopes, s)
	}
}

// update takes over what b says.
func (a *About) update(b *About) {
	for _, s := range []struct{ to, from *string }{{&a.Parent, &b.Parent}, {&a.Project, &b.Project}, {&a.Branch, &b.Branch}, {&a.Agent, &b.Agent}, {&a.Model, &b.Model}} {
		if *s.from != "" {
			*s.to = *s.from
		}
	}
	if !b.Scope.IsZero() {
		a.Scope = b.Scope
	}
	if b.Scopes != nil {
		a.Scopes = b.Scopes
	}
}
