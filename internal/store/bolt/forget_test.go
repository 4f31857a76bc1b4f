package bolt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/store/bolt"
)

// filesWith lists the files under dir that hold the bytes of word.
func filesWith(t *testing.T, dir string, word []byte) (out []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, word) {
			out = append(out, path)
		}
		return err
	}))
	return out
}

// Forgotten means gone: by every path, with everything derived from it, and from
// the disk. Rival layers go on recalling what was deleted, or keep it in
// summaries and raw files.
func TestForgottenIsGoneEverywhere(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := open(t, dir, bolt.Options{Embedder: embedtest.Bag{}})
	secret := claim(t, "The patient zanzibarquux lives at Elm Street.")
	secret.Evidence[0].Detail = "she said zanzibarquux herself"
	id := write(t, s, secret)
	must(t, s.Transition(ctx, ken.Transition{ID: id, To: ken.StatusVerified, Reason: "seen zanzibarquux"}))
	summary, err := ken.NewClaim("A summary that names zanzibarquux.", ken.FromRepositoryMemory(id))
	must(t, err)
	derived := write(t, s, summary)
	other := write(t, s, claim(t, "The clinic opens at nine."))
	before, err := s.VerifyLog(ctx)
	must(t, err)

	gone, err := s.Forget(ctx, id, "the patient asked", ken.Actor{Type: "user", ID: "op"})
	if err != nil {
		t.Fatalf("forget: %v", err)
	}
	if len(gone) != 2 || gone[0] != id || gone[1] != derived {
		t.Errorf("forgot %v, want %s and %s, which was derived from it", gone, id, derived)
	}
	if got := texts(t, s, "zanzibarquux"); len(got) != 0 {
		t.Errorf("still found by keyword: %q", got)
	}
	vecs, err := embedtest.Bag{}.Embed(ctx, []string{secret.Text})
	must(t, err)
	hits, err := s.Vector(ctx, vecs[0], &ken.Filter{Statuses: ken.Statuses()}, 10)
	must(t, err)
	for _, h := range hits.Hits {
		if row, _ := s.Row(h.Ref); row.ID != other {
			t.Errorf("still found by vector: %s", row.ID)
		}
	}
	if _, err := s.Get(ctx, id); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("still found by id: %v", err)
	}
	events, err := s.History(ctx, id)
	must(t, err)
	last := events[len(events)-1]
	if last.Type != ken.EventForgotten || last.Reason != "the patient asked" || !events[0].Erased || events[0].Evidence != nil {
		t.Errorf("history %+v", events)
	}
	after, err := s.VerifyLog(ctx)
	if err != nil || after.Events != before.Events+2 || after.Erased != 3 {
		t.Errorf("log %+v, %v: want two tombstones more than %+v, and three payloads erased", after, err, before)
	}
	if files := filesWith(t, dir, []byte("zanzibarquux")); len(files) > 0 {
		t.Errorf("the word is still in %v", files)
	}
	must(t, s.Rebuild(ctx))
	if got := texts(t, s, "zanzibarquux"); len(got) != 0 {
		t.Errorf("a rebuild brought it back: %q", got)
	}
	if got := texts(t, s, "clinic"); len(got) != 1 {
		t.Errorf("the other claim is gone too: %q", got)
	}
	must(t, s.Close())
	again := open(t, dir, bolt.Options{Embedder: embedtest.Bag{}})
	if have, total := again.Coverage(); have != 1 || total != 1 {
		t.Errorf("after reopening %d of %d records have a vector", have, total)
	}
}

// Forgetting one of two claims with the same text must not take the other's
// vector.
func TestForgetKeepsTheTwin(t *testing.T) {
	ctx := context.Background()
	s := open(t, t.TempDir(), bolt.Options{Embedder: embedtest.Bag{}})
	a, b := claim(t, "the port is 8080"), claim(t, "the port is 8080")
	id := write(t, s, a)
	twin := write(t, s, b)
	_, err := s.Forget(ctx, id, "", ken.Actor{})
	must(t, err)
	must(t, s.Rebuild(ctx))
	var e embed.Embedder = embedtest.Bag{}
	vecs, err := e.Embed(ctx, []string{"the port is 8080"})
	must(t, err)
	hits, err := s.Vector(ctx, vecs[0], &ken.Filter{}, 5)
	must(t, err)
	if len(hits.Hits) != 1 {
		t.Fatalf("%d hits for the twin", len(hits.Hits))
	}
	if row, _ := s.Row(hits.Hits[0].Ref); row.ID != twin {
		t.Errorf("found %s, want %s", row.ID, twin)
	}
}

// A copy is whole although others go on to write: its log verifies, and what was
// there when it was begun is found in it.
func TestACopyIsWhole(t *testing.T) {
	ctx := context.Background()
	o := bolt.Options{NoSync: true, Embedder: embedtest.Bag{}}
	s := open(t, t.TempDir(), o)
	for i := range 50 {
		write(t, s, claim(t, fmt.Sprintf("the port of service%d is %d", i, i)))
	}
	put(t, s.Shelf(), "a", "b")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				_, _ = s.WriteClaim(ctx, claim(t, fmt.Sprintf("written meanwhile %d", i)))
			}
		}
	})
	to := t.TempDir()
	must(t, s.CopyTo(ctx, to))
	close(stop)
	wg.Wait()
	c := open(t, to, o) // and verified when the test ends
	if got := texts(t, c, "service7 port"); len(got) == 0 || got[0] != "the port of service7 is 7" {
		t.Errorf("found %q", got)
	}
	if c.Len() < 50 || c.ID() != s.ID() || shelfOf(t, c.Shelf())["a"] != "b" {
		t.Errorf("%d claims", c.Len())
	}
	if _, err := c.EmbedMissing(ctx); err != nil {
		t.Error(err)
	}
	if have, total := c.Coverage(); have != total {
		t.Errorf("%d of %d have a vector", have, total)
	}
	n := c.Seq()
	if err := s.CopyTo(ctx, to); !errors.Is(err, ken.ErrRefused) {
		t.Errorf("over a store: %v", err)
	}
	closeStore(t, c)
	if c := open(t, to, o); c.Seq() != n {
		t.Errorf("it was written over: %d events became %d", n, c.Seq())
	}
}
