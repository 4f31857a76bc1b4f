package classify_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/knowledge/structure/classify"
	"github.com/kenlayer/ken/internal/run/jobs"
)

// old writes claims as they were before there was a structure: nobody files them.
func old(t testing.TB, texts ...string) (*rig, []string) {
	t.Helper()
	r := &rig{t: t, s: newStore(t, false)}
	r.q = jobs.NewQueue(r.s.Shelf(), jobs.Options{})
	r.Classifier = classify.New(r.s, classify.Options{})
	var claims []ken.Claim
	for _, text := range texts {
		claims = append(claims, fact(t, text))
	}
	return r, r.write(claims...)
}

func TestBackfillFilesOldClaims(t *testing.T) {
	r, ids := old(t, "Never deploy the payments service on Fridays", "The payments service depends on the ledger.", "It was so.")
	r.run()
	a, b := r.get(ids[0]), r.get(ids[1])
	if !a.Constraint || a.AssignedBy != ken.AssignedByRules || len(a.Entities) == 0 || a.Entities[0] != "payments" || a.Aspect == "" {
		t.Errorf("%+v", a)
	}
	if len(b.Entities) == 0 || b.AssignedBy != ken.AssignedByRules {
		t.Errorf("%+v", b)
	}
	same(t, "dependencies", dependencies(t, r.s), []string{"payments requires ledger"})
	n := r.counts()
	if n.Filed < 2 || n.Filed+n.Unsure+n.Unread != 3 {
		t.Errorf("%+v", n)
	}
	st, err := classify.Status(t.Context(), r.s.Shelf())
	must(t, err)
	if st.Rules == 0 || st.Rules > r.s.Seq() || st.Model != 0 {
		t.Errorf("%+v of %d", st, r.s.Seq())
	}
	v, err := classify.Cover(t.Context(), r.s, nil)
	must(t, err)
	if v.Claims != 3 || v.Filed < 2 || v.Rules != v.Filed || v.Share() < 0.6 || (classify.Coverage{}).Share() != 1 {
		t.Errorf("%+v", v)
	}
	// Again: nothing changes.
	seq := r.s.Seq()
	must(t, r.s.Shelf().Update(t.Context(), dropMarks))
	must(t, classify.New(r.s, classify.Options{}).CatchUp(t.Context()))
	if r.s.Seq() != seq {
		t.Errorf("%d events more", r.s.Seq()-seq)
	}
}

// A backlog and a model that is never there: the backfill ends, it can be
// stopped between two pages, and goes on where it was.
func TestBacklogIsWorkedOffInSteps(t *testing.T) {
	n := 200 // and 10,000 in BenchmarkBackfill
	var texts []string
	for i := range n {
		texts = append(texts, fmt.Sprintf("Service%d requires the ledger in run %d", i%50, i))
	}
	r, ids := old(t, texts...)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := r.CatchUp(ctx); err == nil {
		t.Error("it was stopped, and says that it was done")
	}
	r.run()
	for _, i := range []int{0, n / 2, n - 1} {
		if c := r.get(ids[i]); c.AssignedBy != ken.AssignedByRules {
			t.Errorf("%q is filed by %q", c.Text, c.AssignedBy)
		}
	}
	if got := r.counts(); got.Filed != uint64(n) {
		t.Errorf("%+v", got)
	}
	// A model that is configured later has all of it before it, in jobs.
	r.model = &scripted{answer: func(input) (string, error) { return "", errDown }}
	later := classify.New(r.s, classify.Options{Ask: r.model.ask, Model: "m"})
	must(t, later.CatchUp(t.Context()))
	waiting, err := r.q.List(t.Context(), jobs.Queued)
	must(t, err)
	if len(waiting) < n/classify.DefaultFacts || len(waiting) > n/10 {
		t.Errorf("%d jobs wait", len(waiting))
	}
	rep, err := later.Drain(t.Context(), r.q)
	if err != nil || rep.Done > 0 || rep.Dead > 0 {
		t.Errorf("%+v, %v", rep, err)
	}
	if got := len(r.model.requests); got > 2 {
		t.Errorf("a model that is down was asked %d times in a row", got)
	}
}

// The follower files what is written while it runs, whoever writes it, and what it
// adds reaches the workers.
func TestFollowerFilesWhatIsWritten(t *testing.T) {
	r := newRig(t, filer("schedule"))
	var wg sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	r.o.Settle, r.o.Rest, r.o.Wake = time.Millisecond, time.Millisecond, r.q.Wake
	c := classify.New(r.s, r.o)
	wg.Go(func() { _ = c.Follow(ctx) })
	wg.Go(func() { c.Work(ctx, r.q) })
	ids := r.write(fact(t, "The payments service depends on the ledger."))
	for seq := r.s.Seq(); ; seq = r.s.Seq() {
		if r.get(ids[0]).AssignedBy == ken.AssignedByModel && len(dependencies(t, r.s)) == 1 {
			break
		}
		must(t, r.s.Wait(t.Context(), seq))
	}
	stop()
	wg.Wait()
	// The mark was kept when it stopped.
	st, err := classify.Status(t.Context(), r.s.Shelf())
	must(t, err)
	if st.Rules+st.Model == 0 {
		t.Errorf("%+v", st)
	}
}

// slow is a store with jobs for a model that ask stands for.
func slow(t *testing.T, ask classify.Ask) (*classify.Classifier, *rig) {
	r := newRig(t, filer("x"))
	r.o.Ask = ask
	r.write(fact(t, "The payments run at night", "payments"), fact(t, "The gateway runs at night", "gateway"), fact(t, "The vault runs at night", "vault"))
	c := classify.New(r.s, r.o)
	must(t, c.CatchUp(t.Context()))
	return c, r
}

// A model that never answers holds its job and nothing else: stopping is at once, and
// does not count against the job.
func TestModelThatHangsIsLeftWhenItIsToldTo(t *testing.T) {
	asked := make(chan struct{}, 8)
	c, r := slow(t, func(ctx context.Context, _ classify.Request) (string, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return "", ctx.Err()
	})
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { c.Work(ctx, r.q) })
	<-asked
	stop()
	wg.Wait()
	list, err := r.q.List(t.Context())
	must(t, err)
	for _, j := range list {
		if j.State != jobs.Queued || j.Attempts != 0 {
			t.Errorf("%s after %d attempts: %s", j.State, j.Attempts, j.Error)
		}
	}
}

// A model that is down for an hour is asked some times, not once for each job; and one
// that says how long to wait is not asked before.
func TestModelThatIsDownIsLeftInPeace(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		most int
	}{
		"down":      {errDown, 16},
		"throttled": {&ken.Error{Code: ken.CodeUnavailable, Msg: "busy", Err: &embed.Throttled{After: 20 * time.Minute}}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			synctest.Test(t, func(t *testing.T) {
				g := classify.NewGate()
				end := time.Now().Add(time.Hour)
				ctx, cancel := context.WithDeadline(t.Context(), end)
				defer cancel()
				for g.Enter(ctx) == nil {
					n++
					g.Leave(tt.err)
				}
				g.Leave(nil)
				if err := g.Enter(t.Context()); err != nil {
					t.Errorf("it answers again: %v", err)
				}
			})
			if n < 2 || n > tt.most {
				t.Errorf("asked %d times in an hour", n)
			}
		})
	}
}

// Without a model there are no jobs, and none that an earlier model left is lost.
func TestJobsWaitWhereTheModelIsGone(t *testing.T) {
	r := newRig(t, filer("x"))
	r.write(fact(t, "The payments run at night", "payments"))
	must(t, r.CatchUp(t.Context()))
	bare := classify.New(r.s, classify.Options{})
	rep, err := bare.Drain(t.Context(), r.q)
	if err != nil || len(rep.Jobs) > 0 {
		t.Errorf("%+v, %v", rep, err)
	}
	bare.Work(t.Context(), r.q) // returns
	for kind, h := range bare.Handlers() {
		if !strings.HasPrefix(kind, "structural_") {
			t.Errorf("kind %s", kind)
		}
		if _, err := h(t.Context(), jobs.Job{Payload: []byte("nonsense")}, func(string, int, int) {}); err == nil {
			t.Errorf("%s: a payload that can't be read is done", kind)
		}
	}
	waiting, err := r.q.List(t.Context(), jobs.Queued)
	if err != nil || len(waiting) == 0 {
		t.Errorf("%v, %v", waiting, err)
	}
}
