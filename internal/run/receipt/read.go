package receipt

import (
	"context"
	"errors"
	"strconv"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Bounds of a listing.
const (
	DefaultLimit = 50
	MaxLimit     = 500
)

// Query says which receipts to list; the zero value lists the newest 50.
type Query struct {
	Session string // those of one session; empty lists all
	// Before goes on where an earlier listing of the same session ended: it is what
	// that one returned as next. Empty starts with the newest.
	Before string
	Limit  int // 0 and less is 50, and 500 is the most
}

// Get returns the receipt of a turn. Errors: ErrNotFound for a turn that has none,
// or none any more; ErrCorrupt.
func (b *Book) Get(ctx context.Context, turn string) (Record, error) {
	var out Record
	err := b.shelf.View(ctx, func(r store.ShelfReader) error {
		n, ok := numberOf(r, turn)
		if !ok {
			return notFound(turn)
		}
		rec, err := load(r, n)
		if err != nil {
			return err
		}
		if rec == nil || rec.Turn != turn {
			return notFound(turn)
		}
		out = *rec
		return nil
	})
	return out, err
}

// List returns receipts in the order in which they were kept, newest first, and
// what Query.Before has to be for those that follow; "" when there are none. What
// was kept since does not change what follows. Those that can't be read are left
// out, and come with an ErrCorrupt that names the first of them; the others and
// next are good all the same. Errors: ErrInvalid for a Before that is none.
func (b *Book) List(ctx context.Context, q Query) (out []Record, next string, err error) {
	before := ^uint64(0)
	if q.Before != "" {
		if before, err = parseCursor(q.Before); err != nil {
			return nil, "", err
		}
	}
	limit := DefaultLimit
	if q.Limit > 0 {
		limit = min(q.Limit, MaxLimit)
	}
	var bad error
	err = b.shelf.View(ctx, func(r store.ShelfReader) error {
		out, next, bad = nil, "", nil
		var last uint64 // that was returned, or can't be read
		for n := range numbers(r, q.Session, before) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if len(out) == limit {
				next = strconv.FormatUint(last, 16)
				return nil
			}
			rec, err := load(r, n)
			switch {
			case errors.Is(err, ken.ErrCorrupt):
				if last = n; bad == nil {
					bad = err
				}
			case err != nil:
				return err
			case rec != nil && (q.Session == "" || rec.Session == q.Session):
				out, last = append(out, *rec), n
			}
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	return out, next, bad
}

func parseCursor(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 16, 64)
	if err != nil || strconv.FormatUint(n, 16) != s {
		return 0, &ken.Error{Code: ken.CodeInvalid, Field: "before", Msg: "not the cursor of a listing of receipts",
			Try: "Give what the last listing returned, or leave it out to begin with the newest."}
	}
	return n, nil
}

func notFound(turn string) error {
	return &ken.Error{Code: ken.CodeNotFound, Field: "turn", Msg: "no receipt of turn " + strconv.Quote(turn),
		Try: "List them: only the newest are kept, and those of forgotten sessions are gone."}
}
