package jsonl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/kenlayer/ken"
)

// Source is the store that is exported. store.Engine implements it.
type Source interface {
	Claims(ctx context.Context) iter.Seq2[ken.Claim, error]
	History(ctx context.Context, id string) ([]ken.ClaimEvent, error)
}

// Export writes the claims that match f, oldest first, with their histories, and
// returns how many. A filter without statuses matches every status. wrote is called
// after each claim with the count so far; it may be nil. A claim that is forgotten
// meanwhile is left out. Errors: those of Write and of the store, and ctx's.
func Export(ctx context.Context, from Source, f ken.Filter, w io.Writer, wrote func(n int)) (n int, err error) {
	if f.Statuses == nil {
		f.Statuses = ken.Statuses()
	}
	for c, err := range from.Claims(ctx) {
		if err != nil {
			return n, fmt.Errorf("read claims: %w", err)
		}
		if err := ctx.Err(); err != nil {
			return n, err
		}
		if !takes(&f, &c) {
			continue
		}
		events, err := from.History(ctx, c.ID)
		if errors.Is(err, ken.ErrNotFound) || forgotten(events) {
			continue
		}
		if err != nil {
			return n, fmt.Errorf("read history of %s: %w", c.ID, err)
		}
		if err := Write(w, c, events); err != nil {
			return n, err
		}
		if n++; wrote != nil {
			wrote(n)
		}
	}
	return n, nil
}

// takes reports whether an export with this filter includes a claim. It differs from a
// recall in one respect: without kinds, the structural ones are included, because an
// export leaves nothing out.
func takes(f *ken.Filter, c *ken.Claim) bool {
	all := *f
	all.Structural = true
	return all.Reject(c.Facts()) == ""
}

// forgotten reports whether a history belongs to a forgotten claim.
func forgotten(events []ken.ClaimEvent) bool {
	return slices.ContainsFunc(events, func(e ken.ClaimEvent) bool { return e.Type == ken.EventForgotten })
}

// line is the encoded form of a claim.
type line struct {
	ken.Claim
	History []ken.ClaimEvent `json:"history,omitempty"`
}

// Write writes a claim and its history, which may be nil, as one line, in one
// call to w. It fails with ErrInvalid when the line would be longer than Read
// accepts.
func Write(w io.Writer, c ken.Claim, history []ken.ClaimEvent) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(line{c, history}); err != nil {
		return fmt.Errorf("encode claim %s: %w", c.ID, err)
	}
	if b.Len()-1 > MaxLine {
		return &ken.Error{Code: ken.CodeInvalid, Field: "body",
			Msg: fmt.Sprintf("claim %s takes %d bytes; a line holds at most %d", c.ID, b.Len()-1, MaxLine),
			Try: "Export it without its history, or move what is large out of its body."}
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write claim %s: %w", c.ID, err)
	}
	return nil
}
