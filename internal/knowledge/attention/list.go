package attention

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Source is the store that the queue reads claims from. The stores on disk and in
// memory implement it.
type Source interface {
	// Scan yields the claims that pass the filter and for which want returns true.
	Scan(ctx context.Context, f *ken.Filter, want func(store.Glance) bool) iter.Seq2[ken.Claim, error]
	// Get returns one claim, or ErrNotFound.
	Get(ctx context.Context, id string) (ken.Claim, error)
	// History returns a claim's events, oldest first, or ErrNotFound.
	History(ctx context.Context, id string) ([]ken.ClaimEvent, error)
}

// Options configures List. The zero value means the defaults.
type Options struct {
	Now   time.Time     // current time; zero means the time of the call
	Age   time.Duration // minimum age of an Unsure claim; <= 0 means 7 days
	Below float64       // its maximum confidence, exclusive; <= 0 means 0.5
	All   bool          // include dismissed items
}

// Defaults of Options.
const (
	DefaultAge   = 7 * 24 * time.Hour
	DefaultBelow = 0.5
)

// List returns the queue, warnings first, then the newest. Expired and archived
// claims are left out. It checks every valid claim, but only reads those that it
// lists. shelf may be nil; then there are no refused writes and no dismissed items.
// The caller owns the result. With an ErrCorrupt for unreadable entries on the
// shelf, the other items are returned.
func List(ctx context.Context, src Source, shelf store.Shelf, o Options) ([]Item, error) {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	o.Age = cmp.Or(max(o.Age, 0), DefaultAge)
	o.Below = cmp.Or(max(o.Below, 0), DefaultBelow)
	l := lister{src: src, o: o}
	var items []Item
	var err error
	for _, list := range []func(context.Context) ([]Item, error){l.disputed, l.superseded, l.unsure, l.rules} {
		found, err := list(ctx)
		if err != nil {
			return nil, err
		}
		items = append(items, found...)
	}
	if shelf != nil {
		var notes shelfNotes
		if notes, err = readNotes(ctx, shelf); err != nil && !errors.Is(err, ken.ErrCorrupt) {
			return nil, err
		}
		items = append(items, notes.items()...)
		asked, bad := l.requests(ctx, shelf)
		if bad != nil && !errors.Is(bad, ken.ErrCorrupt) {
			return nil, bad
		}
		items, err = append(items, asked...), cmp.Or(err, bad)
		for i := range items {
			items[i].Dismissed = notes.dismissed[items[i].ID]
		}
		if !o.All {
			items = slices.DeleteFunc(items, func(i Item) bool { return i.Dismissed })
		}
	}
	slices.SortFunc(items, order)
	return items, err
}

type lister struct {
	src Source
	o   Options
}

// filter returns a filter for valid claims with one of the statuses.
func (l *lister) filter(statuses ...ken.Status) *ken.Filter {
	return &ken.Filter{Statuses: statuses, ClaimsOnly: true, Now: l.o.Now}
}

// get returns a claim, nil if it was deleted.
func (l *lister) get(ctx context.Context, id string) (*ken.Claim, error) {
	c, err := l.src.Get(ctx, id)
	if errors.Is(err, ken.ErrNotFound) {
		return nil, nil
	}
	return &c, err
}

// superseded returns items for claims that a less certain one replaced. If a person
// verified the new claim, there is no item.
func (l *lister) superseded(ctx context.Context) ([]Item, error) {
	var items []Item
	want := func(g store.Glance) bool { return !g.Archived && g.SupersededBy != "" && g.Confidence > 0 }
	for c, err := range l.src.Scan(ctx, l.filter(ken.StatusSuperseded), want) {
		if err != nil {
			return nil, err
		}
		next, err := l.get(ctx, c.SupersededBy)
		if err != nil {
			return nil, err
		}
		if next == nil || next.Confidence >= c.Confidence || next.Status == ken.StatusVerified || next.Status == ken.StatusSuperseded {
			continue
		}
		at := c.UpdatedAt
		events, err := l.src.History(ctx, c.ID)
		if err != nil && !errors.Is(err, ken.ErrNotFound) {
			return nil, err
		}
		for _, e := range events {
			if e.Type == ken.EventSuperseded && e.Other == next.ID {
				at = e.At
			}
		}
		text := percent(c.Confidence) + " sure: " + quoted(&c) + " Replaced by, " + percent(next.Confidence) + " sure: " + quoted(next)
		items = append(items, item(Superseded, at, text, []string{c.ID, next.ID},
			[]string{"ken history " + c.ID, "ken verify " + next.ID, disputing(next.ID)}, state(&c), state(next)))
	}
	return items, nil
}

// unsure returns items for claims of low confidence that are old enough.
func (l *lister) unsure(ctx context.Context) ([]Item, error) {
	var items []Item
	want := func(g store.Glance) bool { return !g.Archived && g.Confidence < l.o.Below }
	for c, err := range l.src.Scan(ctx, l.filter(ken.StatusObserved, ken.StatusInferred, ken.StatusHypothesis), want) {
		if err != nil {
			return nil, err
		}
		if c.Kind == ken.KindPattern || l.o.Now.Sub(c.CreatedAt) < l.o.Age {
			continue
		}
		items = append(items, item(Unsure, c.CreatedAt, percent(c.Confidence)+" sure, "+string(c.Status)+" and never verified: "+quoted(&c),
			[]string{c.ID}, []string{"ken verify " + c.ID, disputing(c.ID), "ken history " + c.ID}, state(&c)))
	}
	return items, nil
}

// rules returns items for rule candidates, the newest first. There are at most
// mostRules, so that they don't hide other items.
func (l *lister) rules(ctx context.Context) ([]Item, error) {
	var items []Item
	want := func(g store.Glance) bool { return !g.Archived && g.Candidate }
	for c, err := range l.src.Scan(ctx, l.filter(ken.RecallStatuses()...), want) {
		if err != nil {
			return nil, err
		}
		text := "A candidate rule: " + quoted(&c)
		items = append(items, item(Rule, c.CreatedAt, text, []string{c.ID}, []string{"ken memory approve " + c.ID, "ken memory reject " + c.ID, "ken history " + c.ID}, state(&c)))
	}
	slices.SortFunc(items, order)
	if more := len(items) - mostRules; more > 0 {
		items = items[:mostRules]
		items[mostRules-1].Text += fmt.Sprintf(" And %d more: ken memory review.", more)
	}
	return items, nil
}

const mostRules = 20
