package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/ledger"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/store"
)

// A ledger equals the book: the newest receipts at once, the list of all receipts
// within a minute, and their content within an hour.
func TestTurnsAreThoseOfTheBook(t *testing.T) {
	race.SkipLong(t)
	for _, count := range race.Pick([]int{30, 150, 400}, []int{30, 100}) {
		rng := rand.New(rand.NewPCG(seed.Of(t), 0))
		k := newKit(t, count, ledger.Options{})
		n := 0
		for range race.Pick(40, 12) {
			all := k.exists()
			for range rng.IntN(choose(rng, 3, 10, 60)) {
				k.now = k.now.Add(time.Second / 100)
				switch op := rng.IntN(20); {
				case op < 14 || len(all) == 0:
					n++
					k.put(random(rng, fmt.Sprint("t", n), choose(rng, "", fmt.Sprint("s", rng.IntN(8)), fmt.Sprint("long", n/50)), k.now))
				case op < 16: // a later request of the same turn, or of another session's
					old := choose(rng, all...)
					k.put(random(rng, old.Turn, choose(rng, old.Session, old.Session, "other"), old.At))
				case op < 18:
					_ = k.use(choose(rng, all...).Turn, ken.Use{ID: claimID(1), Cited: true, Corrected: rng.IntN(2) == 0}, ken.Use{ID: claimID(2), Repeated: true})
				case rng.IntN(4) == 0: // but for what took another's turns: see present
					if session := choose(rng, all...).Session; session != "other" {
						k.forget(session)
					}
				}
			}
			wait := choose(rng, 0, 0, time.Minute, time.Hour)
			k.now = k.now.Add(wait)
			k.catch()
			book, got := wanted(k.exists()), k.turns()
			const rereadNewest = 32
			if diff := cmp.Diff(book[:min(rereadNewest, len(book))], got[:min(rereadNewest, len(got), len(book))], cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("the newest (-want +got):\n%s", diff)
			}
			is := map[string]bool{}
			for i := range book {
				is[book[i].ID] = true
			}
			remaining := slices.DeleteFunc(slices.Clone(got), func(t ledger.Turn) bool { return !is[t.ID] })
			if wait < time.Minute && slices.Equal(ids(remaining), ids(book)) {
				continue
			}
			if !slices.Equal(ids(got), ids(book)) {
				t.Fatalf("after %v (-want +got):\n%s", wait, cmp.Diff(ids(book), ids(got)))
			}
			if diff := cmp.Diff(book, got, cmpopts.EquateEmpty()); wait == time.Hour && diff != "" {
				t.Fatalf("all (-want +got):\n%s", diff)
			}
		}
	}
}

func fill(k *kit, n int) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		k.now = k.now.Add(time.Second)
		k.put(random(rng, fmt.Sprintf("t%04d", i), fmt.Sprint("s", i/10), k.now))
	}
}

func TestOnlyWhatIsNewIsRead(t *testing.T) {
	k := newKit(t, 5000, ledger.Options{})
	fill(k, 2000)
	if k.catch(); k.reads != 2000 || k.gets != 0 {
		t.Errorf("the first time: %d receipts, %d one by one", k.reads, k.gets)
	}
	k.reads = 0
	if k.catch(); k.reads > 32 || k.gets != 0 {
		t.Errorf("with nothing new: %d receipts, %d one by one", k.reads, k.gets)
	}
	k.reads = 0
	k.put(random(rand.New(rand.NewPCG(1, 2)), "new", "s", k.now))
	if k.catch(); k.reads > 32 || len(k.turns()) != 2001 {
		t.Errorf("with one new: %d receipts, %d turns", k.reads, len(k.turns()))
	}
	k.reads, k.now = 0, k.now.Add(time.Minute)
	if k.catch(); k.reads > 32 || k.gets > 202 { // one for each session, and the oldest
		t.Errorf("a minute later: %d receipts, %d one by one", k.reads, k.gets)
	}
}

func TestAForgottenSessionIsGone(t *testing.T) {
	k := newKit(t, 5000, ledger.Options{})
	fill(k, 1000)
	k.catch()
	k.forget("s40")
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 100 { // it goes on, and its newest turns are there
		k.put(random(rng, fmt.Sprint("later", i), "s40", k.now))
		k.catch()
	}
	k.now = k.now.Add(time.Minute)
	k.catch()
	list, _ := k.l.Turns("o", time.Time{}, 5000, ledger.Match{Session: "s40"})
	if len(list) != 100 || len(k.turns()) != 1090 {
		t.Errorf("%d turns of the session, %d in all", len(list), len(k.turns()))
	}
	k.forget("s41")
	k.l.Drop("o")
	if len(k.turns()) != 0 {
		t.Error("dropped, and there")
	}
	if k.catch(); len(k.turns()) != 1080 {
		t.Errorf("%d turns once dropped and read", len(k.turns()))
	}
}

// Many sessions are looked for in parts, and a part that fails is looked at again.
func TestManySessionsAreLookedFor(t *testing.T) {
	race.SkipLong(t)
	k := newKit(t, 5000, ledger.Options{})
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 600 {
		k.put(random(rng, fmt.Sprint("t", i), fmt.Sprint("s", i), k.now))
	}
	k.catch()
	k.forget("s5")
	k.forget("s300")
	k.forget("s550")
	k.now, k.fails = k.now.Add(time.Minute), 20
	if err := k.l.Catch(t.Context(), "o", k); err == nil || len(k.turns()) != 600 {
		t.Errorf("%v, %d turns", err, len(k.turns()))
	}
	for _, want := range []int{599, 598, 597, 597} {
		if k.catch(); len(k.turns()) != want {
			t.Errorf("%d turns, want %d", len(k.turns()), want)
		}
	}
	if k.gets > 660 {
		t.Errorf("%d reads for 600 sessions", k.gets)
	}
}

func TestTurnsBeyondTheBoundAreLeftOut(t *testing.T) {
	k := newKit(t, 5000, ledger.Options{Turns: 700})
	for range 3 {
		fill(k, 1000)
		if k.catch(); !slices.Equal(ids(k.turns()), ids(wanted(k.exists()[:700]))) {
			t.Errorf("%d turns", len(k.turns()))
		}
	}
}

func TestTurnsByWhatTheyAre(t *testing.T) {
	k := newKit(t, 1000, ledger.Options{})
	fill(k, 300)
	k.catch()
	book := wanted(k.exists())
	since := monday.Add(200 * time.Second)
	for _, m := range []ledger.Match{{}, {Session: "s25"}, {Agent: "coder"}, {Mode: ken.ModeLate}, {Project: "p", Model: "small"}, {Session: "nobody"},
		{Key: "ana"}, {NoBlock: true}, {Until: monday.Add(250 * time.Second)}} {
		var all []ledger.Turn
		for _, b := range book {
			if !b.At.Before(since) && (m.Session == "" || b.Session == m.Session) && (m.Agent == "" || b.Agent == m.Agent) &&
				(m.Mode == "" || b.Mode == m.Mode) && (m.Project == "" || b.Project == m.Project) && (m.Model == "" || b.Model == m.Model) &&
				(m.Key == "" || b.Key == m.Key) && (!m.NoBlock || b.Chars == 0) && (m.Until.IsZero() || b.At.Before(m.Until)) {
				all = append(all, b)
			}
		}
		list, more := k.l.Turns("o", since, 20, m)
		if diff := cmp.Diff(all[:min(20, len(all))], list, cmpopts.EquateEmpty()); diff != "" || more != len(all)-len(list) {
			t.Errorf("%+v: %d more of %d (-want +got):\n%s", m, more, len(all), diff)
		}
		if more == 0 {
			continue
		}
		m.Before = list[19].ID
		rest, after := k.l.Turns("o", since, 5, m)
		if diff := cmp.Diff(all[20:min(25, len(all))], rest, cmpopts.EquateEmpty()); diff != "" || after != len(all)-20-len(rest) {
			t.Errorf("%+v: %d more (-want +got):\n%s", m, after, diff)
		}
	}
	if list, more := k.l.Turns("o", since, 5, ledger.Match{Before: "nothing"}); len(list)+more > 0 {
		t.Errorf("behind no turn there are %d, and %d more", len(list), more)
	}
	for n := range 22 {
		var all []string
		for _, r := range k.exists() {
			if slices.ContainsFunc(r.Items, func(it ken.Item) bool { return it.ID == claimID(n) }) {
				all = append(all, r.Turn)
			}
		}
		list, total := k.l.ShownIn("o", claimID(n), 5)
		if total != len(all) || !slices.Equal(ids(list), append([]string{}, all[:min(5, len(all))]...)) {
			t.Errorf("claim %d: %q of %d, want %q", n, ids(list), total, all)
		}
	}
	if list, total := k.l.ShownIn("o", "no-uuid", 5); list != nil || total != 0 {
		t.Errorf("%v, %d", list, total)
	}
	if id, at, ok := k.l.Latest("o"); id != book[0].ID || !at.Equal(book[0].At) || !ok {
		t.Errorf("%s, %v, %v", id, at, ok)
	}
}

func TestNoOwnerSeesAnothers(t *testing.T) {
	a, b := newKit(t, 100, ledger.Options{}), newKit(t, 100, ledger.Options{})
	fill(a, 10)
	a.catch()
	if err := a.l.Catch(t.Context(), "b", b); err != nil {
		t.Fatal(err)
	}
	for _, owner := range []string{"b", "", "never seen"} {
		if list, _ := a.l.Turns(owner, time.Time{}, 10, ledger.Match{}); len(list) > 0 {
			t.Errorf("%q sees %q", owner, ids(list))
		}
		if _, _, ok := a.l.Latest(owner); ok {
			t.Errorf("%q has a latest turn", owner)
		}
		for n := range 20 {
			if _, total := a.l.ShownIn(owner, claimID(n), 10); total > 0 {
				t.Errorf("%q: claim %d was shown", owner, n)
			}
		}
	}
}

func TestTheOwnersUsedLastAreKept(t *testing.T) {
	k := newKit(t, 100, ledger.Options{Owners: 2})
	fill(k, 3)
	for _, owner := range []string{"a", "b", "a", "c"} {
		if err := k.l.Catch(t.Context(), owner, k); err != nil {
			t.Fatal(err)
		}
	}
	for owner, want := range map[string]bool{"a": true, "b": false, "c": true} {
		if _, _, ok := k.l.Latest(owner); ok != want {
			t.Errorf("%s: %v", owner, ok)
		}
	}
}

func TestAReceiptThatCanNotBeRead(t *testing.T) {
	k := newKit(t, 100, ledger.Options{})
	fill(k, 60)
	k.catch()
	err := k.shelf.Update(t.Context(), func(tx store.ShelfTx) error {
		return tx.Put(fmt.Sprintf("receipt/entry/%016x", 60), []byte("torn"))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.l.Catch(t.Context(), "o", k); !errors.Is(err, ken.ErrCorrupt) {
		t.Errorf("%v", err)
	}
	if got := k.turns(); len(got) != 59 || got[0].ID != "t0058" {
		t.Errorf("%d turns", len(got))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := k.l.Catch(ctx, "o", k); !errors.Is(err, context.Canceled) || len(k.turns()) != 59 {
		t.Errorf("%v, %d turns", err, len(k.turns()))
	}
}

func TestWritersAndReaders(t *testing.T) {
	k := newKit(t, 100, ledger.Options{Verify: time.Nanosecond})
	var wg sync.WaitGroup
	l := ledger.New(ledger.Options{Verify: 1})
	for w := range 2 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 0))
			for i := range race.Pick(300, 80) {
				id := fmt.Sprint(w, "-", i)
				if err := k.book.Put(context.Background(), random(rng, id, fmt.Sprint("s", i/9), monday)); err != nil {
					t.Error(err)
				}
				if i%20 == 0 {
					if _, err := k.book.ForgetSession(context.Background(), "s1"); err != nil {
						t.Error(err)
					}
				}
				if err := l.Catch(context.Background(), "o", k.book); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			for range race.Pick(300, 80) {
				l.Series("o", monday, monday.Add(time.Hour), 10)
				l.ShownIn("o", claimID(1), 5)
				if list, _ := l.Turns("o", time.Time{}, 500, ledger.Match{}); len(list) > 100 {
					t.Errorf("%d turns", len(list))
				}
			}
		})
	}
	wg.Wait()
}

func TestASeriesIsWhatItsTurnsComeTo(t *testing.T) {
	rng := rand.New(rand.NewPCG(seed.Of(t), 0))
	k := newKit(t, 1000, ledger.Options{})
	fill(k, 400)
	k.catch()
	book := k.exists()
	for range race.Pick(60, 10) {
		from := monday.Add(time.Duration(rng.IntN(300))*time.Second - time.Minute)
		to := from.Add(time.Duration(1+rng.IntN(400)) * time.Second)
		n := 1 + rng.IntN(40)
		got := k.l.Series("o", from, to, n)
		if len(got) != n || !got[0].From.Equal(from) || !got[n-1].To.Equal(to) {
			t.Fatalf("%d buckets from %v to %v", len(got), got[0].From, got[n-1].To)
		}
		for i, b := range got {
			if i > 0 && !b.From.Equal(got[i-1].To) {
				t.Fatalf("bucket %d begins at %v, the one before ends at %v", i, b.From, got[i-1].To)
			}
			in := slices.DeleteFunc(slices.Clone(book), func(r receipt.Record) bool {
				return r.At.Before(b.From) || !r.At.Before(b.To) && !(i == n-1 && r.At.Equal(b.To))
			})
			want := bucket(in)
			want.From, want.To = b.From, b.To
			if diff := cmp.Diff(want, b); diff != "" {
				t.Fatalf("bucket %d of %d (-want +got):\n%s", i, n, diff)
			}
		}
	}
	for _, s := range [][]ledger.Bucket{k.l.Series("o", monday, monday, 5), k.l.Series("o", monday, monday.Add(1), 0), k.l.Series("o", monday.Add(1), monday, 5)} {
		if s != nil {
			t.Errorf("%v", s)
		}
	}
	if s := k.l.Series("o", monday, monday.Add(3), 5); len(s) != 3 {
		t.Errorf("%d buckets in three nanoseconds", len(s))
	}
}

// bucket sums up receipts by counting, for each value, how many do not exceed it.
func bucket(in []receipt.Record) (b ledger.Bucket) {
	least := func(value func(*receipt.Record) (float64, bool), percent int) float64 {
		var all []float64
		for i := range in {
			if v, ok := value(&in[i]); ok {
				all = append(all, v)
			}
		}
		best, found := 0.0, false
		for _, v := range all {
			below := 0
			for _, w := range all {
				if w <= v {
					below++
				}
			}
			if below*100 >= percent*len(all) && (!found || v < best) {
				best, found = v, true
			}
		}
		return best
	}
	ms := func(stage string) func(*receipt.Record) (float64, bool) {
		return func(r *receipt.Record) (float64, bool) { v, ok := r.MS[stage]; return v, ok }
	}
	for _, r := range in {
		if b.Modes == nil {
			b.Modes = map[ken.Mode]int{}
		}
		b.Turns++
		b.Modes[r.Mode]++
		b.CachedBytes += r.CachedBytes
		b.NewBytes += r.NewBytes
	}
	b.P50, b.P95, b.P99 = least(ms("total"), 50), least(ms("total"), 95), least(ms("total"), 99)
	b.Chars = int(least(func(r *receipt.Record) (float64, bool) { return float64(r.Chars), true }, 50))
	for _, stage := range []string{"budget", "keyword", "vector"} {
		if slices.ContainsFunc(in, func(r receipt.Record) bool { _, ok := r.MS[stage]; return ok }) {
			b.Stages = append(b.Stages, ledger.Stage{Name: stage, MS: least(ms(stage), 50)})
		}
	}
	return b
}

// A turn without items has the most frequent reason for cuts.
func TestMostCut(t *testing.T) {
	k := newKit(t, 10, ledger.Options{})
	cut := func(reasons ...ken.CutReason) (r receipt.Record) {
		r.Turn, r.At = fmt.Sprint("t", len(reasons)), monday
		for i, reason := range reasons {
			r.Cut = append(r.Cut, ken.Cut{ID: claimID(i), Reason: reason})
		}
		return r
	}
	with := cut(ken.CutFloor, ken.CutFloor, ken.CutFloor, ken.CutFloor)
	with.Items = []ken.Item{{ID: claimID(9), Kind: ken.KindFact}}
	k.put(cut(), cut(ken.CutTier), cut(ken.CutTier, ken.CutFloor), cut(ken.CutTier, ken.CutFloor, ken.CutFloor), with)
	k.catch()
	for i, want := range []ken.CutReason{"", ken.CutFloor, ken.CutTier, ken.CutTier, ""} {
		if got := k.turns()[i].CutFor; got != want {
			t.Errorf("%d: %q, want %q", i, got, want)
		}
	}
}
