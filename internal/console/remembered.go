package console

import (
	"context"
	"errors"
)

// caught is how a reading of receipts ended.
type caught struct{ err error }

// remember brings what is remembered of turns up to the receipts, or as far as that comes
// within a moment: usually that is all, and for the first page after the start it may take
// seconds. unread says what could not be read, and is missing.
func (v *visit) remember() (unread []string, err error) {
	owner := v.owner()
	c := v.con.catching.get(v, owner, never, func(ctx context.Context, _ *caught) *caught {
		return &caught{v.con.turns.Catch(ctx, owner, v.con.l.Receipts(owner))}
	})
	if c == nil || errors.Is(c.err, context.Canceled) {
		return nil, v.ctx().Err()
	}
	return missing(c.err)
}
