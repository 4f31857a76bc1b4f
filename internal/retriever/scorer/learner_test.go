package scorer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/retriever/scorer"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/memory"
	"github.com/kenlayer/ken/store/storetest"
)

var _ structure.Utility = (*scorer.Learner)(nil)

var monday = time.Date(2026, 5, 18, 9, 0, 0, 0, time.UTC)

// clock is one that is set by hand.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// shelves returns the shelves that a learner must work on.
func onEach(t *testing.T, run func(t *testing.T, shelf store.Shelf)) {
	t.Run("memory", func(t *testing.T) { run(t, storetest.Twice(memory.NewShelf())) })
	t.Run("bolt", func(t *testing.T) {
		s, err := bolt.Open(context.Background(), t.TempDir(), bolt.Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		run(t, s.Shelf())
	})
}

func learn(t testing.TB, l *scorer.Learner, outcomes ...scorer.Outcome) {
	t.Helper()
	if err := l.Learn(t.Context(), outcomes, nil); err != nil {
		t.Fatal(err)
	}
}

// shown returns an outcome of shown items; some of them helped.
func shown(entity, aspect string, used map[string]bool, ids ...string) (o scorer.Outcome) {
	for _, id := range ids {
		o.Shown = append(o.Shown, scorer.Shown{ID: id, Entity: entity, Aspect: aspect})
		o.Used = append(o.Used, ken.Use{ID: id, Cited: used[id]})
	}
	return o
}

func counts(l *scorer.Learner, entity, aspect string) string {
	s, u := l.Counts(entity, aspect)
	return fmt.Sprintf("%.2f/%.2f", u, s)
}

// shelved returns everything on a shelf.
func shelved(t testing.TB, shelf store.Shelf, prefix string) map[string]string {
	t.Helper()
	out := map[string]string{}
	if err := shelf.View(t.Context(), func(r store.ShelfReader) error {
		clear(out)
		for k, v := range r.Scan(prefix) {
			out[k] = string(v)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// Learned state survives the process, and another process continues with it.
func TestWhatIsLearnedSurvivesARestart(t *testing.T) {
	onEach(t, func(t *testing.T, shelf store.Shelf) {
		c := &clock{monday}
		o := scorer.Options{Mode: scorer.ModeOn, Now: c.now}
		w, a := newWorld(3, false), scorer.NewLearner(shelf, o)
		if a.InForce() != nil {
			t.Error("in force without a turn")
		}
		for range 30 {
			learn(t, a, w.next())
		}
		b := scorer.NewLearner(shelf, o)
		if err := b.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if a.Standing() != b.Standing() || b.Standing().Turns != 30 || !b.Standing().InForce {
			t.Errorf("%+v, %+v", a.Standing(), b.Standing())
		}
		r := w.next().Ranking.Candidates
		for _, l := range []*scorer.Learner{a, b} {
			l.Earlier(r, monday)
		}
		x := a.InForce().Order(r)
		y := b.InForce().Order(r)
		if fmt.Sprint(x) != fmt.Sprint(y) {
			t.Errorf("%v, %v", x, y)
		}
		learn(t, b, w.next())
		learn(t, a, w.next()) // it takes up what b left
		if n := a.Standing().Turns; n != 32 {
			t.Errorf("%d turns", n)
		}
		if counts(a, "entity 1", "aspect 1") == "0.00/0.00" {
			t.Error("nothing is counted")
		}
	})
}

// Counters are by entity and aspect, fade with time, and go with the claim.
func TestCountersFadeAndGoWithTheClaim(t *testing.T) {
	onEach(t, func(t *testing.T, shelf store.Shelf) {
		c := &clock{monday}
		l := scorer.NewLearner(shelf, scorer.Options{Now: c.now, HalfLife: 24 * time.Hour})
		learn(t, l, shown("Payments", "deploys", map[string]bool{"a": true}, "a", "b"), shown("payments", "Deploys", map[string]bool{"a": true}, "a"),
			shown("", "", nil, "loose"), scorer.Outcome{Shown: []scorer.Shown{{ID: "unjudged", Entity: "payments", Aspect: "deploys"}}})
		if got := counts(l, "the payments", "deploys"); got != "2.00/3.00" {
			t.Errorf("counted %s", got)
		}
		for _, other := range [][2]string{{"payments", ""}, {"ledger", "deploys"}, {"", ""}, {"", "deploys"}} {
			if got := counts(l, other[0], other[1]); got != "0.00/0.00" {
				t.Errorf("%v: %s", other, got)
			}
		}
		c.at = c.at.Add(24 * time.Hour)
		if got := counts(l, "payments", "deploys"); got != "1.00/1.50" {
			t.Errorf("after a half-life %s", got)
		}
		f := []scorer.Features{{ID: "a"}, {ID: "b"}, {ID: "new"}}
		l.Earlier(f, c.at)
		if f[0].Shown != 1 || f[0].Used != 1 || f[0].Entity != scorer.Slot("payments") || f[0].SlotShown != 1.5 || f[1].Shown != 0.5 || f[1].Used != 0 || f[2] != (scorer.Features{ID: "new"}) {
			t.Errorf("%+v", f)
		}
		if err := l.Forget(t.Context(), "a", "never there"); err != nil {
			t.Fatal(err)
		}
		if got := counts(l, "payments", "deploys"); got != "0.00/0.50" {
			t.Errorf("without a: %s", got)
		}
		if err := l.Forget(t.Context(), "b", "loose"); err != nil {
			t.Fatal(err)
		}
		for _, again := range []*scorer.Learner{l, scorer.NewLearner(shelf, scorer.Options{Now: c.now})} {
			if err := again.Load(t.Context()); err != nil || counts(again, "payments", "deploys") != "0.00/0.00" {
				t.Errorf("%v %s", err, counts(again, "payments", "deploys"))
			}
		}
		if left := shelved(t, shelf, "scorer/"); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// A claim that is filed anew takes its counters along.
func TestCountersMoveWithTheClaim(t *testing.T) {
	l := scorer.NewLearner(memory.NewShelf(), scorer.Options{Now: (&clock{monday}).now})
	learn(t, l, shown("payments", "", map[string]bool{"a": true}, "a"), shown("payments", "", nil, "b"))
	learn(t, l, shown("ledger", "database", nil, "a"))
	if p, d := counts(l, "payments", ""), counts(l, "ledger", "database"); p != "0.00/1.00" || d != "1.00/2.00" {
		t.Errorf("payments %s, ledger %s", p, d)
	}
}

// However many claims are shown, the counters are bounded, and what was shown last is
// there.
func TestCountersAreBounded(t *testing.T) {
	c := &clock{monday}
	shelf := memory.NewShelf()
	l := scorer.NewLearner(shelf, scorer.Options{Now: c.now, Records: 32, Slots: 16})
	for i := range 200 {
		c.at = c.at.Add(time.Minute)
		learn(t, l, shown(fmt.Sprint("entity ", i), "x", nil, fmt.Sprint("c", i)))
	}
	records, slots := shelved(t, shelf, "scorer/claim/"), shelved(t, shelf, "scorer/slot/")
	if len(records) > 32 || len(records) < 28 || len(slots) > 16 || len(slots) < 14 || records["scorer/claim/c199"] == "" || counts(l, "entity 199", "x") != "0.00/1.00" {
		t.Errorf("%d records, %d slots", len(records), len(slots))
	}
}

// A state that can't be read is kept as it is, and learning starts anew beside it.
func TestACorruptStateIsKeptAside(t *testing.T) {
	onEach(t, func(t *testing.T, shelf store.Shelf) {
		o := scorer.Options{Mode: scorer.ModeOn, Now: (&clock{monday}).now}
		w, l := newWorld(5, false), scorer.NewLearner(shelf, o)
		learn(t, l, w.next())
		good := shelved(t, shelf, "scorer/state")["scorer/state"]
		broken := good[:len(good)-3] + "xyz"
		set := func(v string) {
			if err := shelf.Update(t.Context(), func(tx store.ShelfTx) error { return tx.Put("scorer/state", []byte(v)) }); err != nil {
				t.Fatal(err)
			}
		}
		set(broken)
		l = scorer.NewLearner(shelf, o)
		if err := l.Load(t.Context()); err != nil || l.InForce() != nil {
			t.Errorf("%v, in force %v", err, l.InForce())
		}
		learn(t, l, w.next())
		aside := shelved(t, shelf, "scorer/aside/")
		if l.Standing().Turns != 1 || len(aside) != 1 {
			t.Errorf("%+v, aside %d", l.Standing(), len(aside))
		}
		for _, v := range aside {
			if v != broken {
				t.Error("it was changed")
			}
		}
		for i := range 8 { // a disk that keeps breaking it
			set(fmt.Sprint("garbage ", i))
			learn(t, scorer.NewLearner(shelf, o), w.next())
		}
		if aside, last := shelved(t, shelf, "scorer/aside/"), shelved(t, shelf, "scorer/state"); len(aside) != 4 || last["scorer/state"] != "garbage 7" {
			t.Errorf("aside %d, state %.20q", len(aside), last["scorer/state"])
		}
	})
}

// What a newer version wrote is left alone; counting goes on.
func TestANewerStateIsNotTouched(t *testing.T) {
	shelf := memory.NewShelf()
	newer := scorer.Newer(t)
	if err := shelf.Update(t.Context(), func(tx store.ShelfTx) error { return tx.Put("scorer/state", newer) }); err != nil {
		t.Fatal(err)
	}
	l := scorer.NewLearner(shelf, scorer.Options{Mode: scorer.ModeOn, Now: (&clock{monday}).now})
	learn(t, l, shown("payments", "x", map[string]bool{"a": true}, "a"))
	if all := shelved(t, shelf, "scorer/"); all["scorer/state"] != string(newer) || l.InForce() != nil || counts(l, "payments", "x") != "1.00/1.00" {
		t.Errorf("%q", all)
	}
}

// The shelf has no text of a claim or message.
func TestTheShelfHasNoWords(t *testing.T) {
	shelf := memory.NewShelf()
	l := scorer.NewLearner(shelf, scorer.Options{Now: (&clock{monday}).now})
	o := shown("Zerlina", "illness", map[string]bool{"id-1": true}, "id-1", "id-2")
	o.Ranking = &ken.Ranking{Candidates: []ken.Features{{ID: "id-1", Rank: 1, Entity: scorer.Slot("Zerlina")}, {ID: "id-2", Rank: 2}}}
	learn(t, l, o)
	for k, v := range shelved(t, shelf, "") {
		if s := strings.ToLower(k + v); strings.Contains(s, "zerlina") || strings.Contains(s, "illness") {
			t.Errorf("%q: %q", k, v)
		}
	}
}

// A failed transaction changes nothing, neither on the shelf nor in memory.
func TestAFailedTransactionTeachesNothing(t *testing.T) {
	l := scorer.NewLearner(memory.NewShelf(), scorer.Options{Now: (&clock{monday}).now})
	boom := errors.New("boom")
	err := l.Learn(t.Context(), []scorer.Outcome{newWorld(1, false).next()}, func(store.ShelfTx) error { return boom })
	if !errors.Is(err, boom) || l.Standing().Turns != 0 {
		t.Errorf("%v, %+v", err, l.Standing())
	}
}

// The modes: off never decides and never explores, on decides at once.
func TestModes(t *testing.T) {
	for mode, want := range map[scorer.Mode][2]bool{scorer.ModeOff: {false, false}, scorer.ModeAuto: {false, true}, "": {false, true}, scorer.ModeOn: {true, true}} {
		l := scorer.NewLearner(memory.NewShelf(), scorer.Options{Mode: mode, Now: (&clock{monday}).now})
		learn(t, l, newWorld(1, false).next())
		if got := [2]bool{l.InForce() != nil, l.Explores()}; got != want || l.Standing().InForce != want[0] {
			t.Errorf("%q: %v", mode, got)
		}
	}
}

func FuzzState(f *testing.F) {
	var st scorer.State
	w := newWorld(1, false)
	for range 3 {
		o := w.next()
		st.Take(scorer.Labels(o.Ranking, o.Used))
	}
	good, err := st.MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add([]byte("KSC1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var st scorer.State
		if err := st.UnmarshalBinary(b); err != nil {
			if st != (scorer.State{}) {
				t.Error("half of it was taken over")
			}
			return
		}
		again, err := st.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var same scorer.State
		if err := same.UnmarshalBinary(again); err != nil || same.Turns != st.Turns || same.Gate != st.Gate {
			t.Errorf("%v", err)
		}
		if more, err := same.MarshalBinary(); err != nil || !bytes.Equal(more, again) {
			t.Error("it is written differently")
		}
		if math.IsNaN(st.Gate.Sum) {
			t.Error("no number")
		}
	})
}

func ExampleLearner() {
	shelf := memory.NewShelf()
	l := scorer.NewLearner(shelf, scorer.Options{Now: func() time.Time { return monday }})
	var taken func()
	err := shelf.Update(context.Background(), func(tx store.ShelfTx) (err error) {
		taken, err = l.Take(tx, []scorer.Outcome{{
			Shown: []scorer.Shown{{ID: "c1", Entity: "payments", Aspect: "deploys"}, {ID: "c2", Entity: "payments", Aspect: "deploys"}},
			Used:  []ken.Use{{ID: "c1", Repeated: true}, {ID: "c2"}},
		}})
		return err
	})
	taken()
	shown, used := l.Counts("payments", "deploys")
	fmt.Println(shown, used, l.Standing().InForce, err)
	// Output: 2 1 false <nil>
}
