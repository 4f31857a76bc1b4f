package session

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Read returns what the journal holds of a session, entries and injections in
// their order: all of its current part, nothing once that was swept. The caller
// owns it. Errors: ErrNotFound; ErrCorrupt for what can't be read.
func (j *Journal) Read(ctx context.Context, id string) (Transcript, error) {
	var t Transcript
	err := j.shelf.View(ctx, func(r store.ShelfReader) error {
		t = Transcript{}
		rec, err := mustRecord(r, id)
		if err != nil {
			return err
		}
		t.Info = rec.Info
		t.Entries = make([]Entry, 0, rec.Messages)
		for key, b := range r.Scan(allMessages(id)) {
			var row message
			if err := decodeValue(key, b, &row); err != nil {
				return err
			}
			t.Entries = append(t.Entries, row.entry(seqOf(key)))
		}
		if t.Injected, err = injections(r, id); err != nil {
			return err
		}
		t.Checkpoint, err = getCheckpoint(r, id)
		return err
	})
	return t, err
}

// Info returns what is known of a session. Errors: ErrNotFound, ErrCorrupt.
func (j *Journal) Info(ctx context.Context, id string) (Info, error) {
	var info Info
	err := j.shelf.View(ctx, func(r store.ShelfReader) error {
		rec, err := mustRecord(r, id)
		if err == nil {
			info = rec.Info
		}
		return err
	})
	return info, err
}

// List returns every session that was not pruned, the last active first. With an
// ErrCorrupt come those that can be read.
func (j *Journal) List(ctx context.Context) ([]Info, error) {
	recs, err := j.records(ctx, func(*record) bool { return true })
	out := make([]Info, len(recs))
	for i := range recs {
		out[i] = recs[i].Info
	}
	slices.SortFunc(out, func(a, b Info) int {
		return cmp.Or(b.Active.Compare(a.Active), cmp.Compare(a.ID, b.ID))
	})
	return out, err
}

// records reads the sessions for which want says so, by id. One that can't be read
// does not keep the others from being returned, with the error.
func (j *Journal) records(ctx context.Context, want func(*record) bool) ([]record, error) {
	var out []record
	err := j.shelf.View(ctx, func(r store.ShelfReader) error {
		out = nil
		var first error
		for key, b := range r.Scan(prefixInfo) {
			if err := ctx.Err(); err != nil {
				return err
			}
			var rec record
			if err := decodeValue(key, b, &rec); err != nil {
				first = cmp.Or(first, err)
			} else if want(&rec) {
				out = append(out, rec)
			}
		}
		return first
	})
	return out, err
}

// minPrefix is how many characters of an id name a session.
const minPrefix = 6

// Find returns the session whose id this is, or begins with this, if it is the
// only one; a beginning has at least 6 characters. Errors: ErrNotFound; ErrInvalid
// when there are several, or the beginning is too short to say.
func (j *Journal) Find(ctx context.Context, prefix string) (Info, error) {
	list, err := j.List(ctx)
	if err != nil {
		return Info{}, err
	}
	var found []Info
	for _, info := range list {
		if info.ID == prefix {
			return info, nil
		}
		if strings.HasPrefix(info.ID, prefix) {
			found = append(found, info)
		}
	}
	switch {
	case len(found) == 0:
		return Info{}, notFound(prefix)
	case utf8.RuneCountInString(prefix) < minPrefix:
		return Info{}, &ken.Error{Code: ken.CodeInvalid, Field: "session", Msg: "an id is named by at least 6 characters of its beginning",
			Try: "Give more of it."}
	case len(found) > 1:
		return Info{}, &ken.Error{Code: ken.CodeInvalid, Field: "session", Msg: "several sessions begin with " + prefix + ": " + found[0].ID + ", " + found[1].ID,
			Try: "Give more of the id."}
	}
	return found[0], nil
}

// Tail is Read for the last messages of a session alone, at most n of them, so that its
// cost does not grow with the session.
func (j *Journal) Tail(ctx context.Context, id string, n int) (Transcript, error) {
	var t Transcript
	err := j.shelf.View(ctx, func(r store.ShelfReader) error {
		t = Transcript{}
		rec, err := mustRecord(r, id)
		if err != nil {
			return err
		}
		t.Info = rec.Info
		for seq := rec.Last - min(uint64(n), rec.Last) + 1; seq <= rec.Last; seq++ {
			key := keyMessage(id, seq)
			b := r.Get(key)
			if b == nil { // swept, or forgotten
				continue
			}
			var row message
			if err := decodeValue(key, b, &row); err != nil {
				return err
			}
			t.Entries = append(t.Entries, row.entry(seq))
		}
		t.Injected, err = injections(r, id)
		return err
	})
	return t, err
}
