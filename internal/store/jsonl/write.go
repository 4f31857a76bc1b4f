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

// Source is what an export reads: a store.Engine is one.
type Source interface {
	Claims(ctx context.Context) iter.Seq2[ken.Claim, error]
	History(ctx context.Context, id string) ([]ken.ClaimEvent, error)
}

// Export writes the claims of a store that f takes, by age, with their histories, and
// counts them. A filter without statuses takes every status. wrote is called after
// each claim with the count so far; nil is nobody. A claim that is forgotten meanwhile
// is left out. Errors: as of Write, of the store, and ctx's.
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

// takes reports whether an export by a filter has a claim. What it means differs from
// a recall in one thing: without kinds, the structural ones are in, since an export
// leaves nothing out.
func takes(f *ken.Filter, c *ken.Claim) bool {
	all := *f
	all.Structural = true
	return all.Reject(c.Facts()) == ""
}

// forgotten reports the history of a claim that is gone.
func forgotten(events []ken.ClaimEvent) bool {
	return slices.ContainsFunc(events, func(e ken.ClaimEvent) bool { return e.Type == ken.EventForgotten })
}

// line is the written form of a claim.
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
