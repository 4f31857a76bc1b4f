package bolt_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/store"
)

// Pages, put together, are what a scan sees, and a page goes on where the one
// before ended.
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
