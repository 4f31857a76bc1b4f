package console

import (
	"context"
	"slices"
	"time"

	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/store"
)

// tally is what waits for a person: the numbers in the navigation, and the queue.
// Counting looks at every claim that stands, so pages don't wait for it.
type tally struct {
	Review, Attention, Dead int

	queue  []attention.Item // what needs attention, and what was dismissed of it; not to be changed
	unread error            // what could not be read and is missing from it
	failed error            // why nothing could be counted
	seq    uint64           // of the log, when it was counted
	took   time.Duration
}

// tallyLasts is after how long a tally is counted anew, whatever the log says: refused
// writes and marks of agents are in no log.
const tallyLasts = 5 * time.Second

// tallyShare bounds what counting costs while the log grows all the time: one part in so
// many of the time.
const tallyShare = 10

// tally is the visitor's owner's, as last counted: every page waits a little for the numbers
// of its navigation, which follow by themselves.
func (c *Console) tally(v *visit) tally {
	if v.tallied == nil {
		t := tally{}
		if last := v.count(v.con.o.Patience / 4); last != nil {
			t = *last
		}
		if !v.who.Can(access.Operate) {
			t.Dead = 0
		}
		v.tallied = &t
	}
	return *v.tallied
}

// count returns the last tally, or a new one if that comes within a moment; nil while
// there is none.
func (v *visit) count(wait time.Duration) *tally {
	owner := v.owner()
	seq := v.seq()
	return v.con.tallies.within(v, owner, func(t *tally, at time.Time) bool {
		age := v.now().Sub(at)
		return t.seq == seq && age <= tallyLasts || age < tallyShare*t.took
	}, func(ctx context.Context, _ *tally) *tally { return v.con.countFor(ctx, owner) }, wait)
}

// seq is how far the visitor's log has come.
func (v *visit) seq() (seq uint64) {
	if v.who.Owner == "" {
		return 0
	}
	_ = v.withStore(func(s store.Engine) error { // what can't be opened is told by the page itself
		seq = s.Seq()
		return nil
	})
	return seq
}

// countFor counts what waits for an owner.
func (c *Console) countFor(ctx context.Context, owner string) *tally {
	s, release, err := c.l.Store(ctx, owner)
	if err != nil {
		return &tally{failed: err}
	}
	defer release()
	begun := c.o.Now()
	t := &tally{seq: s.Seq()}
	desk := operator.New(c.l, s, operator.Options{Now: c.o.Now})
	if waiting, err := desk.Candidates(ctx); err == nil {
		t.Review = len(waiting.Memory) + len(waiting.Others)
	}
	t.queue, t.unread, t.failed = desk.Attention(ctx, true)
	t.Attention = len(open(t.queue))
	if dead, err := c.l.Jobs(owner).List(ctx, jobs.Dead); err == nil {
		t.Dead = len(dead)
	}
	t.took = c.o.Now().Sub(begun)
	return t
}

// open is what of a queue was not dismissed.
func open(queue []attention.Item) []attention.Item {
	return slices.DeleteFunc(slices.Clone(queue), func(i attention.Item) bool { return i.Dismissed })
}

// decidedPatience is how long a page that shows what a decision left waits for it.
const decidedPatience = 5 * time.Second

// queue lists what needs attention, with all also what was dismissed. unread is what is
// missing from the list. made is false while it is made for the first time.
func (v *visit) queue(all bool, wait time.Duration) (items []attention.Item, made bool, unread, err error) {
	switch t := v.count(wait); {
	case t == nil:
		return nil, false, nil, nil
	case t.failed != nil || all:
		return slices.Clone(t.queue), true, t.unread, t.failed
	default:
		return open(t.queue), true, t.unread, nil
	}
}
