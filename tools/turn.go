package tools

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/receipt"
)

// turn returns the receipt of a turn as far as the caller may know it: one within
// scopes knows the turns of its own session alone, because a receipt has words of what
// was asked.
func (c *Call) turn(ctx context.Context, id string) (receipt.Record, error) {
	rec, err := c.r.layer.Receipts(c.Owner).Get(ctx, id)
	switch {
	case errors.Is(err, ken.ErrNotFound), errors.Is(err, ken.ErrInvalid), err == nil && !c.seesTurn(&rec):
		return receipt.Record{}, noTurn(id)
	}
	return rec, err
}

func (c *Caller) seesTurn(rec *receipt.Record) bool {
	return len(c.Scopes) == 0 || c.Session != "" && rec.Session == c.Session
}

func noTurn(id string) error {
	return &ken.Error{Code: ken.CodeNotFound, Field: "turn", Msg: "no receipt of turn " + clipped(id) + " is kept",
		Try: "Leave turn out for the last one of this session, or take it from the response header X-Ken-Turn."}
}

func (r *Registry) turnResource(ctx context.Context, c Caller, id string) (string, error) {
	if c.Owner == "" {
		c.Owner = r.layer.Config().Knowledge.Owner
	}
	rec, err := (&Call{Caller: c, r: r}).turn(ctx, id)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(rec)
	return string(noteJSON) + strings.TrimPrefix(safe(string(b)), "{"), err
}
