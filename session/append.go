package session

import (
	"context"
	"errors"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// errMoved says that a session is no longer as it was when a decision was made.
var errMoved = errors.New("session: it changed meanwhile")

// maxTries bounds how often an append starts again because another process wrote
// to the same session meanwhile.
const maxTries = 8

// Append keeps those messages of a conversation that the journal does not have,
// as the package comment says, and returns them in their order. msgs may be the
// whole conversation, its end, or an edited or compacted form of it; it is not
// changed. A session that is not known begins; one that ended goes on, in another
// part when its messages were swept. Fields of about that are empty leave what was
// known.
//
// Errors: ErrInvalid for an id that is empty, longer than 256 bytes or unclean;
// ErrUnavailable when other processes keep writing to the same session; what the
// shelf fails with. Nothing is kept of a call that fails.
func (j *Journal) Append(ctx context.Context, about About, msgs []ken.Message) ([]Entry, error) {
	return j.append(ctx, about, msgs, false)
}

// append is Append, or, with all, keeps every message as one that was said now.
func (j *Journal) append(ctx context.Context, about About, msgs []ken.Message, all bool) ([]Entry, error) {
	if err := checkID(about.ID); err != nil {
		return nil, err
	}
	if len(msgs) == 0 {
		return nil, nil
	}
	about.clean()
	m := j.memo(about.ID)
	if err := m.take(ctx); err != nil {
		return nil, err
	}
	defer m.release()
	for range maxTries {
		a := appending{j: j, m: m, about: about, all: all}
		entries, err := a.run(ctx, msgs)
		if !errors.Is(err, errMoved) {
			return entries, err
		}
	}
	return nil, &ken.Error{Code: ken.CodeUnavailable, Field: "session", Msg: "other processes keep writing to session " + about.ID,
		Try: "Give each process sessions of its own."}
}

// appending is one attempt at an Append.
type appending struct {
	j     *Journal
	m     *memo // taken
	about About
	all   bool

	known   bool // there is such a session
	entries []Entry
	digests []digest // of the entries
}

func (a *appending) run(ctx context.Context, msgs []ken.Message) ([]Entry, error) {
	lastAt, err := a.look(ctx)
	if err != nil {
		return nil, err
	}
	in := a.m.read(msgs)
	fresh, line := in, (*line)(nil)
	if !a.all {
		fresh, line = a.m.fresh(in)
	}
	if len(fresh) > 0 || !a.known {
		now := a.j.now()
		a.enter(fresh, later(now, lastAt))
		a.annotate(ctx)
		rec, err := a.write(ctx, now)
		if err != nil {
			return nil, err
		}
		for i := range a.entries {
			a.m.note(&a.entries[i], a.digests[i])
		}
		a.m.stamp = rec.stamp()
	}
	a.m.came(in, line)
	return a.entries, nil
}

// look makes sure that the memo is of the session as it is.
func (a *appending) look(ctx context.Context) (lastAt time.Time, err error) {
	err = a.j.shelf.View(ctx, func(r store.ShelfReader) error {
		rec, err := getRecord(r, a.m.id)
		if err != nil {
			return err
		}
		if rec != nil {
			a.known, lastAt = true, rec.LastAt
		}
		return a.m.load(r, rec)
	})
	return lastAt, err
}

// enter makes entries of messages.
func (a *appending) enter(fresh []incoming, at time.Time) {
	limit := a.j.o.MaxMessageBytes
	for i, x := range fresh {
		if x.clean == nil { // it came before, and was forgotten or is said again
			c, _ := clean(x.raw)
			x.clean = &c
		}
		e := Entry{Seq: a.m.stamp.last + uint64(i) + 1, At: at, Message: *x.clean}
		e.cut(limit)
		a.entries = append(a.entries, e)
		a.digests = append(a.digests, x.digest)
	}
}

// write keeps the entries if the session is still as the memo has it.
func (a *appending) write(ctx context.Context, now time.Time) (rec *record, err error) {
	err = a.j.shelf.Update(ctx, func(tx store.ShelfTx) error {
		if rec, err = getRecord(tx, a.m.id); err != nil {
			return err
		}
		if rec.stamp() != a.m.stamp {
			return errMoved
		}
		if rec == nil {
			rec = begin(a.about, now)
		}
		if len(a.entries) > 0 {
			rec.goOn()
		}
		rec.update(&a.about)
		rec.Process, rec.Active = a.j.o.Process, now
		for i := range a.entries {
			e := &a.entries[i]
			if err := put(tx, keyMessage(rec.ID, e.Seq), messageOf(e, a.digests[i])); err != nil {
				return err
			}
			rec.Last, rec.LastAt = e.Seq, e.At
			rec.Messages++
			if r := e.Message.Role; r == "user" || r == "assistant" {
				rec.Said++
			}
		}
		return put(tx, keyInfo(rec.ID), rec)
	})
	return rec, err
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
	r.State, r.Reason, r.Ended = Open, "", time.Time{}
	if r.Swept == r.Part {
		r.Part++
		r.Said = 0
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
	for _, s := range []*string{&a.Project, &a.Branch, &a.Agent, &a.Model, &a.Scope.ID} {
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
	for _, s := range []struct{ to, from *string }{{&a.Project, &b.Project}, {&a.Branch, &b.Branch}, {&a.Agent, &b.Agent}, {&a.Model, &b.Model}} {
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
