package storetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kenlayer/ken"
)

// at is a claim of a kind, created on a day of the tests' calendar.
func at(kind ken.Kind, day int) func(*ken.Claim) {
	return func(c *ken.Claim) { c.Kind, c.CreatedAt = kind, epoch.AddDate(0, 0, day-60) }
}

func testNewest(k *kit, p Readable) {
	written := map[ken.Kind][]string{} // newest last
	for day := range 4 {
		for _, kind := range []ken.Kind{ken.KindEpisode, ken.KindFinding, "own", ken.KindFact, ken.KindHot, ken.KindPattern, ken.KindDecision, ken.KindPlaybook} {
			written[kind] = append(written[kind], k.write("ledger", at(kind, day)))
		}
	}
	newest := func(limit int, kinds ...ken.Kind) []string {
		res, err := p.Newest(k.ctx, &ken.Filter{Kinds: kinds}, limit)
		return found(k, p, res, err)
	}
	backwards := func(kind ken.Kind) []string {
		out := slices.Clone(written[kind])
		slices.Reverse(out)
		return out
	}
	for kind := range written {
		if got, want := newest(3, kind), backwards(kind)[:3]; !slices.Equal(got, want) {
			k.Errorf("newest of %s: %v, want %v", kind, got, want)
		}
	}
	e, f := written[ken.KindEpisode], written[ken.KindFinding]
	merged := []string{f[3], e[3], f[2], e[2], f[1]} // of one moment, what was written last
	for _, kinds := range [][]ken.Kind{{ken.KindEpisode, ken.KindFinding}, {ken.KindFinding, ken.KindEpisode, ken.KindFinding}} {
		if got := newest(5, kinds...); !slices.Equal(got, merged) {
			k.Errorf("newest of %s: %v, want %v", kinds, got, merged)
		}
	}
	if got := newest(many); len(got) != 4*len(written) || got[0] != written[ken.KindPlaybook][3] {
		k.Errorf("newest of every kind: %v", got)
	}
	if got := newest(3, ken.KindFact, ken.KindEpisode); !slices.Equal(got, []string{written[ken.KindFact][3], e[3], written[ken.KindFact][2]}) {
		k.Errorf("newest of a large kind and a small one: %v", got)
	}
	for _, limit := range []int{0, -1} {
		if got := newest(limit, ken.KindEpisode); len(got) != 0 {
			k.Errorf("a limit of %d finds %v", limit, got)
		}
	}
	if got := newest(many, "nobody"); len(got) != 0 {
		k.Errorf("a kind that nothing is of: %v", got)
	}
	over, cancel := context.WithCancel(k.ctx)
	cancel()
	if _, err := p.Newest(over, &ken.Filter{Kinds: []ken.Kind{ken.KindEpisode}}, 1); !errors.Is(err, context.Canceled) {
		k.Errorf("a cancelled search: %v", err)
	}
}

// Whatever is written, and in whatever order of time, changed, superseded or given
// another kind: the newest are those that a look at all claims finds.
func testNewestFollows(k *kit, p Readable) {
	rng := rand.New(rand.NewPCG(4, 4))
	kinds := []ken.Kind{ken.KindEpisode, ken.KindFinding, ken.KindFact}
	var ids []string
	for range 150 {
		id := k.write("ledger", at(kinds[rng.IntN(3)], rng.IntN(20)), withKey(string(rune('a'+rng.IntN(26)))),
			withStatus([]ken.Status{ken.StatusObserved, ken.StatusHypothesis}[rng.IntN(2)]))
		if rng.IntN(10) == 0 && len(ids) > 0 {
			err := k.s.Supersede(k.ctx, ids[rng.IntN(len(ids))], id)
			if err != nil && !errors.Is(err, ken.ErrRefused) && !errors.Is(err, ken.ErrInvalid) { // superseded already, or by itself
				k.Fatal(err)
			}
		}
		ids = append(ids, id)
		f := ken.Filter{Kinds: []ken.Kind{kinds[rng.IntN(2)]}}
		limit := 1 + rng.IntN(5)
		var want []time.Time
		for _, c := range k.query(ken.Query{Question: "ledger", Filter: f, Limit: many}) {
			want = append(want, c.CreatedAt)
		}
		slices.SortFunc(want, func(a, b time.Time) int { return b.Compare(a) })
		res, err := p.Newest(k.ctx, &f, limit)
		if err != nil {
			k.Fatal(err)
		}
		if len(res.Cut) > limit {
			k.Fatalf("%d cuts for a limit of %d", len(res.Cut), limit)
		}
		checkCut(k, p, &f, res)
		var got []time.Time
		for _, h := range res.Hits {
			row, _ := p.Row(h.Ref)
			if why := f.Reject(row.Facts); why != "" {
				k.Fatalf("%s is refused for %s", row.ID, why)
			}
			got = append(got, row.CreatedAt)
		}
		if !slices.EqualFunc(got, want[:min(limit, len(want))], time.Time.Equal) {
			k.Fatalf("newest %v, want %v", got, want[:min(limit, len(want))])
		}
	}
}

// What was made of a record must not outlive a change of it.
func testVersions(k *kit, p Readable) {
	id := k.write("ledger", withKey("k"))
	other := k.write("ledger, another")
	seen := map[uint64]bool{}
	version := func() uint64 {
		k.Helper()
		res, err := p.Newest(k.ctx, &ken.Filter{Statuses: ken.Statuses()}, many)
		if err != nil {
			k.Fatal(err)
		}
		for _, h := range res.Hits {
			if row, ok := p.Row(h.Ref); ok && row.ID == id {
				return row.Version
			}
		}
		k.Fatal("the record is gone")
		return 0
	}
	fresh := func(after string) {
		k.Helper()
		v := version()
		if seen[v] {
			k.Errorf("version %d again after %s", v, after)
		}
		seen[v] = true
	}
	fresh("writing")
	k.write("ledger, revised", withKey("k"))
	fresh("a revision")
	k.transition(id, ken.StatusVerified)
	fresh("a transition")
	k.supersede(id, other)
	fresh("a supersession")
	last := version()
	k.write("ledger, a third")
	if version() != last {
		k.Error("the version changes though the record does not")
	}
}
