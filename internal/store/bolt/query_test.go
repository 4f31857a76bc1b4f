package bolt_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/internal/synth"
	"github.com/kenlayer/ken/store"
)

var episodes = &ken.Filter{Kinds: []ken.Kind{ken.KindEpisode}}

// newest returns the ids of the newest episodes.
func newest(t testing.TB, s *bolt.Store, limit int) (out []string) {
	t.Helper()
	res, err := s.Newest(context.Background(), episodes, limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range res.Hits {
		row, ok := s.Row(h.Ref)
		if !ok {
			t.Fatalf("hit %d is gone", h.Ref)
		}
		out = append(out, row.ID)
	}
	return out
}

// The lists by kind are kept through forgetting, closing and rebuilding, and for
// episodes that come out of order.
func TestNewestSurvivesForgettingReopeningAndRebuilding(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := open(t, dir, bolt.Options{})
	var want []string
	for _, day := range []int{3, 1, 4, 0, 2} {
		c := claim(t, fmt.Sprintf("session of day %d", day))
		c.Kind, c.CreatedAt = ken.KindEpisode, time.Date(2026, 3, 1+day, 9, 0, 0, 0, time.UTC)
		want = append(want, write(t, s, c))
		write(t, s, claim(t, fmt.Sprintf("a fact of day %d", day)))
	}
	want = []string{want[2], want[0], want[4], want[1], want[3]}
	check := func(when string) {
		t.Helper()
		if got := newest(t, s, 10); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	check("written")
	if _, err := s.Forget(ctx, want[1], "test", ken.Actor{Type: "user"}); err != nil {
		t.Fatal(err)
	}
	want = slices.Delete(want, 1, 2)
	check("one forgotten")
	must(t, s.Rebuild(ctx))
	check("rebuilt")
	closeStore(t, s)
	s = open(t, dir, bolt.Options{})
	check("reopened")
}

// A turn asks for the newest episodes of a store that holds far more facts.
func BenchmarkNewest(b *testing.B) {
	s := open(b, b.TempDir(), bolt.Options{NoSync: true})
	fill(b, s, 10_000)
	src := synth.New(3)
	in := make([]store.Incoming, 500)
	for i := range in {
		in[i].Claim = src.Claim()
		in[i].Claim.Kind = ken.KindEpisode
	}
	for _, o := range s.Import(context.Background(), in) {
		if o.Err != nil {
			b.Fatal(o.Err)
		}
	}
	for b.Loop() {
		if len(newest(b, s, 3)) != 3 {
			b.Fatal("not three")
		}
	}
}

// All pages together equal a scan, and each page continues where the previous one
// ended.
func TestPagesAreAScanInParts(t *testing.T) {
	ctx := context.Background()
	s := open(t, t.TempDir(), bolt.Options{NoSync: true})
	must(t, s.PutDocuments(ctx, []store.Document{{Path: "a.md", Chunks: []ken.Claim{claim(t, "a chunk")}}}))
	var ids []string
	for i := range 25 {
		c := claim(t, fmt.Sprintf("claim %d", i))
		if i%3 == 0 {
			c.Status = ken.StatusHypothesis
		}
		ids = append(ids, write(t, s, c))
	}
	_, err := s.Forget(ctx, ids[1], "", ken.Actor{})
	must(t, err)
	for name, f := range map[string]*ken.Filter{"everything": nil, "by default": {}} {
		var want, got []ken.Claim
		all := s.Claims(ctx)
		if f != nil {
			all = s.Scan(ctx, f, func(store.Glance) bool { return true })
		}
		for c, err := range all {
			must(t, err)
			want = append(want, c)
		}
		for from, done := store.Ref(0), false; !done; {
			var page []engine.Located
			page, from, done, err = s.Glances(ctx, f, from, 4)
			must(t, err)
			if len(page) > 4 {
				t.Fatalf("%d on a page of 4", len(page))
			}
			refs := []store.Ref{1 << 30} // nobody
			for _, l := range page {
				refs = append(refs, l.Ref)
			}
			records, err := s.Records(ctx, refs)
			must(t, err)
			for i, r := range records {
				if r.Ref != page[i].Ref || engine.GlanceOf(&r.Claim) != page[i].Glance {
					t.Errorf("%+v at a glance, and read %+v", page[i], r.Claim)
				}
				got = append(got, r.Claim)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
			t.Errorf("%s (-scan +pages):\n%s", name, diff)
		}
	}
}

// The number of the last commit is there once all of it can be seen.
func TestCommitGrowsWithWhatIsSeen(t *testing.T) {
	s := open(t, t.TempDir(), bolt.Options{})
	before := s.Commit()
	write(t, s, claim(t, "the port is 8080"))
	if s.Commit() <= before {
		t.Errorf("commit %d after %d", s.Commit(), before)
	}
}
