package console

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/facet"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// blastBody is what forgetting a claim would take along.
type blastBody struct {
	middleware.Blast
	Rows []blastRow
	ID   string
	More int // claims that are not listed
}

type blastRow struct {
	row
	Why string
}

// mostBlast is how many claims the preview lists; all are counted.
const mostBlast = 100

// forgetPage shows what forgetting a claim would take along, and asks. To find that
// out, every claim and every journal is read.
func forgetPage(v *visit) error {
	id := v.r.PathValue("id")
	var c middleware.ClaimView
	err := v.withStore(func(s store.Engine) error {
		found, err := operator.Living(v.ctx(), s, id)
		c = v.con.l.View(found)
		return err
	})
	if err != nil {
		return err
	}
	p := page{Title: "Forget a claim", Section: secStore, Tab: "Claims"}
	return v.slowly("forget", p, map[string]any{"Row": rowOf(&c, v.now())}, func() (string, any, error) {
		blast, err := v.con.l.WouldForget(v.ctx(), v.owner(), c.ID)
		if err != nil {
			return "", nil, err
		}
		b := blastBody{Blast: blast, ID: c.ID, More: max(len(blast.Claims)-mostBlast, 0)}
		for i := range blast.Claims[:len(blast.Claims)-b.More] {
			b.Rows = append(b.Rows, blastRow{rowOf(&blast.Claims[i].ClaimView, v.now()), blast.Claims[i].Why})
		}
		return "blast", b, nil
	})
}

// forgottenBody is what was erased, and what was found when it was looked for.
type forgottenBody struct {
	middleware.Forgotten
	Checks []middleware.Check
	Clean  bool
	Failed string // why the check could not be made
}

// forget erases a claim and shows what went with it, and that it is gone.
func forget(v *visit) error {
	id, reason := v.r.PathValue("id"), strings.TrimSpace(v.text("reason"))
	err := v.withStore(func(s store.Engine) error {
		_, err := operator.Living(v.ctx(), s, id) // what can't be forgotten is no page that has begun
		return err
	})
	if err != nil {
		return err
	}
	return v.slowly("forgotten", page{Title: "Forgotten", Section: secStore, Tab: "Claims"}, map[string]any{}, func() (string, any, error) {
		was, err := v.con.l.WouldForget(v.ctx(), v.owner(), id)
		if err != nil {
			return "", nil, err
		}
		b := forgottenBody{Clean: true}
		err = v.withStore(func(s store.Engine) (err error) {
			b.Forgotten, err = v.desk(s).Forget(v.ctx(), id, reason)
			return err
		})
		v.con.turns.Drop(v.owner()) // receipts went
		if err != nil {
			return "", nil, err
		}
		claims := make([]ken.Claim, len(was.Claims))
		for i := range was.Claims {
			claims[i] = was.Claims[i].Claim
		}
		b.Checks, err = v.con.l.CheckForgotten(v.ctx(), v.owner(), claims, b.Forgotten)
		if err != nil {
			b.Clean, b.Failed = false, err.Error()
		}
		for _, c := range b.Checks {
			b.Clean = b.Clean && c.Clean
		}
		return "erased", b, nil
	})
}

// changesBody is what changed since a moment: the lens of a stretch of time.
type changesBody struct {
	Now    time.Time
	Since  time.Time
	Spans  []choice
	Days   []changedDay
	Total  int
	Kinds  []facetValue // by status
	Next   string
	Custom string
}

// changedDay is what changed on a day, the latest first.
type changedDay struct {
	Day  string
	Rows []changedRow
}

type changedRow struct {
	row
	Step step // the last thing that happened to it
}

// spans are the stretches of time that can be chosen.
var spans = []struct {
	name string
	long time.Duration
}{{"hour", time.Hour}, {"day", 24 * time.Hour}, {"week", 7 * 24 * time.Hour}, {"month", 30 * 24 * time.Hour}}

func changesPage(v *visit) error {
	b := changesBody{Now: v.now()}
	chosen := v.text("span")
	if at, err := time.Parse(time.DateOnly, v.text("since")); err == nil {
		b.Since, chosen, b.Custom = at, "", v.text("since")
	} else if chosen == "" {
		chosen = "week"
	}
	for _, s := range spans {
		here := s.name == chosen
		if here {
			b.Since = b.Now.Add(-s.long)
		}
		b.Spans = append(b.Spans, choice{Name: "the last " + s.name, Path: Prefix + "changes?span=" + s.name, Here: here})
	}
	if b.Since.IsZero() {
		return &ken.Error{Code: ken.CodeInvalid, Field: "span", Msg: "there is no such stretch of time", Try: "Use hour, day, week or month, or since with a date such as 2026-03-01."}
	}
	err := v.withStore(func(s store.Engine) error {
		p, err := v.con.claims.Catch(v.ctx(), s)
		if err != nil || !p.Ready {
			return err
		}
		got, err := v.con.claims.Select(s.Owner(), facet.Selection{ChangedSince: b.Since, Order: facet.Updated, Before: v.text("before"), Limit: claimsPerPage, Structural: true})
		if err != nil {
			return err
		}
		b.Total = got.Total
		if got.Next != "" {
			b.Next = with(v.r.URL, "before", got.Next)
		}
		for _, f := range got.Facets {
			if f.Name == facet.Status {
				for _, x := range f.Values {
					b.Kinds = append(b.Kinds, facetValue{Label: x.Value, Count: x.Count})
				}
			}
		}
		return v.changed(s, &b, got.IDs)
	})
	if err != nil {
		return err
	}
	return v.page("changes", page{Title: "What changed", Section: secStore, Tab: "Changes", Live: []string{liveClaims}, Body: b})
}

// changed reads claims with the last thing that happened to each, by day.
func (v *visit) changed(s store.Engine, b *changesBody, ids []string) error {
	rows, err := v.rows(s, ids)
	if err != nil {
		return err
	}
	for i := range rows {
		events, err := s.History(v.ctx(), rows[i].ID)
		if err != nil || len(events) == 0 { // forgotten meanwhile
			continue
		}
		last := steps(events)[0]
		day := last.At.UTC().Format("Monday, 2 January 2006")
		if n := len(b.Days); n == 0 || b.Days[n-1].Day != day {
			b.Days = append(b.Days, changedDay{Day: day})
		}
		d := &b.Days[len(b.Days)-1]
		d.Rows = append(d.Rows, changedRow{rows[i], last})
	}
	return nil
}

// behind remembers what takes longer to find out than a page may take. It is found out
// behind the page, which waits a moment for it and else shows what was found the last
// time, and asks for itself again. The zero value is ready; it is safe for concurrent
// use.
type behind[K comparable, V any] struct {
	mu sync.Mutex
	by map[K]*finding[V]
}

// finding is what was found last, and who is at it again.
type finding[V any] struct {
	last    *V            // nil before the first time; not changed once it is there
	at      time.Time     // when it was begun to be found
	of      int           // what changes was then
	changes int           // that forget was told of
	now     chan struct{} // closed when what runs is done; nil when nothing runs
	next    chan struct{} // closed when what runs after that is done; nil when nothing waits
}

const (
	// defaultPatience is how long a page waits for what is found out anew. It waits half as
	// long again for what is not known at all, and is there in less than 50 ms all the same.
	defaultPatience = 20 * time.Millisecond
	// mostFindings bounds what is remembered: beyond it, all is forgotten.
	mostFindings = 64
)

// forget has something found out anew after a change that good can't see. What was found
// stays, for who can't wait.
func (b *behind[K, V]) forget(key K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f := b.by[key]; f != nil {
		f.changes++
	}
}

// stands reports whether what was found last is good enough.
func (f *finding[V]) stands(good func(*V, time.Time) bool) bool {
	return f.last != nil && f.of == f.changes && good(f.last, f.at)
}

// never is for what has to be found out each time.
func never[V any](*V, time.Time) bool { return false }

// newerThan is good enough for what only has to be about right.
func newerThan[V any](c *Console, lasts time.Duration) func(*V, time.Time) bool {
	return func(_ *V, at time.Time) bool { return c.o.Now().Sub(at) <= lasts }
}

// get returns what was found last, if that is good; else what is found now, if that
// comes within a moment. What find returns is nil when there is nothing better than
// before. A finding that is under way may have passed what was just written, so that
// another one follows it, unless it turns out to be good.
func (b *behind[K, V]) get(v *visit, key K, good func(last *V, at time.Time) bool, find func(ctx context.Context, before *V) *V) *V {
	return b.within(v, key, good, find, v.con.o.Patience)
}

// within is get for who waits longer than a moment.
func (b *behind[K, V]) within(v *visit, key K, good func(last *V, at time.Time) bool, find func(ctx context.Context, before *V) *V, wait time.Duration) *V {
	b.mu.Lock()
	f := b.by[key]
	if f == nil {
		if b.by == nil || len(b.by) >= mostFindings {
			b.by = map[K]*finding[V]{}
		}
		f = &finding[V]{}
		b.by[key] = f
	}
	last := f.last
	if f.stands(good) {
		b.mu.Unlock()
		return last
	}
	done := b.begin(v.con, f, good, find)
	b.mu.Unlock()
	if last == nil {
		wait = max(wait, v.con.o.Patience*3/2)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		v.again = true
	case <-v.ctx().Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return f.last
}

// begin has something found out after now, and returns what is closed then. It is called
// with the lock held.
func (b *behind[K, V]) begin(c *Console, f *finding[V], good func(*V, time.Time) bool, find func(context.Context, *V) *V) <-chan struct{} {
	if f.next != nil {
		return f.next
	}
	done := make(chan struct{})
	before := f.now
	if before == nil {
		f.now = done
	} else {
		f.next = done
	}
	c.running.Go(func() {
		defer close(done)
		if before != nil {
			<-before
		}
		b.mu.Lock()
		f.now, f.next = done, nil
		last, of, enough := f.last, f.changes, before != nil && f.stands(good)
		b.mu.Unlock()
		at := c.o.Now()
		var found *V
		if !enough {
			found = find(c.stop, last)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if found != nil {
			f.last, f.at, f.of = found, at, of
		}
		if f.now == done {
			f.now = nil
		}
	})
	return done
}
