package model

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Budget bounds the tokens that requests about one owner use in a day (UTC). The count is
// stored on the owner's shelf, so it survives restarts and is shared by all processes.
// Concurrent requests may exceed the budget by what they use.
type Budget struct {
	Shelf store.Shelf
	Most  int              // tokens per day; 0 means that no request is allowed
	Now   func() time.Time // default time.Now
}

const keyBudget = "harvest/budget"

// ErrBudget is wrapped by the error of a request for which the rest of the day's budget is too
// small.
var ErrBudget = &ken.Error{Code: ken.CodeUnavailable, Field: "harvest.tokens_per_day", Msg: "the tokens of the day are used up",
	Try: "Raise harvest.tokens_per_day, or wait for the next day: rules do the work meanwhile."}

// day is the stored count of the tokens that were used on one day.
type day struct {
	Day    string `json:"day"` // 2026-05-15
	Tokens int    `json:"tokens"`
}

func (b *Budget) today() string {
	now := time.Now
	if b.Now != nil {
		now = b.Now
	}
	return now().UTC().Format(time.DateOnly)
}

// Spent returns the tokens that were used today.
func (b *Budget) Spent(ctx context.Context) (n int, err error) {
	today := b.today()
	err = b.Shelf.View(ctx, func(r store.ShelfReader) error {
		n = taken(r, today)
		return nil
	})
	return n, err
}

// taken returns the tokens that were used on the day today. An invalid value counts as 0.
func taken(r store.ShelfReader, today string) int {
	var d day
	if json.Unmarshal(r.Get(keyBudget), &d) != nil || d.Day != today {
		return 0
	}
	return max(d.Tokens, 0)
}

// add adds tokens to today's count.
func (b *Budget) add(ctx context.Context, tokens int) error {
	today := b.today()
	return b.Shelf.Update(ctx, func(tx store.ShelfTx) error {
		v, err := json.Marshal(day{today, taken(tx, today) + tokens})
		if err != nil {
			return err
		}
		return tx.Put(keyBudget, v)
	})
}

// affordable returns an error if the budget has no room for a request. If the budget can't be
// read, no request is allowed, because its cost could not be recorded.
func (c *Client) affordable(ctx context.Context, tokens int) error {
	b := c.opts.Budget
	if b == nil {
		return nil
	}
	n, err := b.Spent(ctx)
	if err != nil {
		return fmt.Errorf("read the day's budget of tokens: %w", err)
	}
	if n+tokens > b.Most {
		return ErrBudget
	}
	return nil
}

// charge counts the tokens of an answered request.
func (c *Client) charge(ctx context.Context, tokens int) {
	if c.opts.Budget == nil {
		return
	}
	if err := c.opts.Budget.add(context.WithoutCancel(ctx), tokens); err != nil {
		c.opts.Log.LogAttrs(ctx, slog.LevelWarn, "count the tokens of a request", slog.Any("cause", err))
	}
}
