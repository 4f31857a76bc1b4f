package bolt_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
)

// document is one file of one chunk; its hash is its text.
func document(t *testing.T, path, text string) store.Document {
	t.Helper()
	e := ken.FromFile(path, "", "")
	e.ContentHash = "sha256:" + text
	c, err := ken.NewClaim(text, e)
	must(t, err)
	c.ID = uuid.NewSHA1(uuid.NameSpaceURL, []byte(path+text)).String()
	return store.Document{Path: path, Known: store.Known{Hash: e.ContentHash}, Chunks: []ken.Claim{c}}
}

func tierOf(t *testing.T, s *bolt.Store, id string) ken.Tier {
	t.Helper()
	res, err := s.Keyword(context.Background(), "listens", &ken.Filter{}, 10)
	must(t, err)
	for _, h := range res.Hits {
		if row, _ := s.Row(h.Ref); row.ID == id {
			return row.Support.Tier
		}
	}
	t.Fatalf("claim %s is not found", id)
	return 0
}

func TestDocumentsAreReplacedAndGo(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := open(t, dir, bolt.Options{})
	must(t, s.PutDocuments(ctx, []store.Document{document(t, "a.md", "alpha words"), document(t, "b.md", "beta words")}))
	must(t, s.PutDocuments(ctx, []store.Document{document(t, "a.md", "gamma words")}))
	must(t, s.RemoveDocuments(ctx, []string{"b.md", "never.md"}))
	check := func(s *bolt.Store) {
		t.Helper()
		if got := texts(t, s, "words"); len(got) != 1 || got[0] != "gamma words" {
			t.Errorf("found %q", got)
		}
		known, err := s.DocumentHashes(ctx)
		must(t, err)
		if len(known) != 1 || known["a.md"].Hash != "sha256:gamma words" {
			t.Errorf("known %+v", known)
		}
		report, err := s.VerifyLog(ctx)
		if err != nil || report.Events != 0 {
			t.Errorf("documents are in the log: %+v, %v", report, err)
		}
	}
	check(s)
	must(t, s.Rebuild(ctx))
	check(s)
	must(t, s.Close())
	check(open(t, dir, bolt.Options{}))
}

// Evidence from a file's content stops counting when the file changes, and counts again when
// it changes back. Other memory layers serve such claims forever.
func TestChangedFileNoLongerSupportsItsClaim(t *testing.T) {
	ctx := context.Background()
	s := open(t, t.TempDir(), bolt.Options{})
	must(t, s.PutDocuments(ctx, []store.Document{document(t, "main.go", "v1")}))
	e := ken.FromFile("main.go", "", "")
	e.ContentHash = "sha256:v1"
	c, err := ken.NewClaim("the server listens on 8080", e)
	must(t, err)
	id := write(t, s, c)
	steps := []struct {
		do   func() error
		want ken.Tier
	}{
		{func() error { return nil }, ken.Inferred},
		{func() error { return s.PutDocuments(ctx, []store.Document{document(t, "main.go", "v2")}) }, ken.Guessed},
		{func() error { return s.PutDocuments(ctx, []store.Document{document(t, "main.go", "v1")}) }, ken.Inferred},
		{func() error { return s.RemoveDocuments(ctx, []string{"main.go"}) }, ken.Guessed},
	}
	for i, step := range steps {
		must(t, step.do())
		if got := tierOf(t, s, id); got != step.want {
			t.Errorf("step %d: tier %s, want %s", i, got, step.want)
		}
	}
}

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

// A forgotten claim is deleted completely: for every way of access, with
// everything derived from it, and from the disk. Rival layers go on recalling
// what was deleted, or keep it in summaries and raw files.
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

// A copy is complete although others keep writing: its log verifies, and it has
// everything that was there when it began.
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

// syncRename is an embedder of another model.
type renamed struct {
	embedtest.Bag
	name string
}

func (r renamed) Model() string { return r.name }

// Forgetting a claim also erases its vectors of an earlier model. Vectors of other claims
// stay while the new model lacks some, and are deleted when nothing reads them any more.
func TestForgettingReachesTheVectorsOfOtherModels(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	const secret = "The patient zanzibarquux lives at Elm Street."
	s := open(t, dir, bolt.Options{Embedder: renamed{name: "m1"}})
	id, other := write(t, s, claim(t, secret)), write(t, s, claim(t, "The clinic opens at nine."))
	must(t, s.Close())
	vec := func(text string) []byte {
		vecs, err := embedtest.Bag{}.Embed(ctx, []string{text})
		must(t, err)
		var b []byte
		for _, x := range vecs[0] {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		return b
	}
	had := filesWith(t, dir, vec(secret))
	if len(had) != 1 {
		t.Fatalf("the vector is in %v", had)
	}
	must(t, os.WriteFile(filepath.Join(dir, "vectors", "m0.64d.vec.broken"), vec(secret), 0o600))
	s = open(t, dir, bolt.Options{}) // of no model: nothing replaces the old vectors
	_, err := s.Forget(ctx, id, "", ken.Actor{})
	must(t, err)
	if left := filesWith(t, dir, vec(secret)); len(left) != 0 {
		t.Errorf("the forgotten claim's vector is in %v", left)
	}
	if left := filesWith(t, dir, vec("The clinic opens at nine.")); len(left) != 1 {
		t.Errorf("the other's vector is in %v", left)
	}
	must(t, s.Close())
	s = open(t, dir, bolt.Options{Embedder: renamed{name: "m2"}})
	_, err = s.EmbedMissing(ctx)
	must(t, err)
	_, err = s.Forget(ctx, write(t, s, claim(t, "Something else.")), "", ken.Actor{})
	must(t, err)
	if _, err := os.Stat(had[0]); !os.IsNotExist(err) {
		t.Errorf("the file of a model that nothing uses is there: %v", err)
	}
	if have, total := s.Coverage(); have != 1 || total != 1 {
		t.Errorf("%d of %d have a vector, of %s", have, total, other)
	}
}

// Verified decays without new evidence; the same person's newer word is new.
func TestReinforcingStopsDecay(t *testing.T) {
	ctx := context.Background()
	s := open(t, t.TempDir(), bolt.Options{})
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := claim(t, "the ledger listens on 5432")
	c.CreatedAt = first
	id := write(t, s, c)
	must(t, s.Transition(ctx, ken.Transition{ID: id, To: ken.StatusVerified, Evidence: []ken.Evidence{ken.FromHumanAssertion("ada", first, "")}}))
	at := func(day int) ken.Tier {
		t.Helper()
		res, err := s.Keyword(ctx, "ledger", &ken.Filter{}, 1)
		must(t, err)
		row, _ := s.Row(res.Hits[0].Ref)
		return row.Support.At(first.AddDate(0, 0, day), 90)
	}
	if at(80) != ken.Verified || at(100) != ken.Inferred {
		t.Errorf("tiers %s and %s before", at(80), at(100))
	}
	must(t, s.Reinforce(ctx, id, []ken.Evidence{ken.FromHumanAssertion("ada", first.AddDate(0, 0, 80), "again")}, ken.Actor{Type: "user", ID: "ada"}))
	got, err := s.Get(ctx, id)
	must(t, err)
	if at(100) != ken.Verified || got.Reinforcements != 1 || len(got.Evidence) != 2 {
		t.Errorf("tier %s, claim %+v", at(100), got)
	}
	events, err := s.History(ctx, id)
	must(t, err)
	if last := events[len(events)-1]; last.Type != ken.EventReinforced || last.Actor.ID != "ada" {
		t.Errorf("history ends with %+v", last)
	}
	must(t, s.Transition(ctx, ken.Transition{ID: id, To: ken.StatusDisputed}))
	if err := s.Reinforce(ctx, id, nil, ken.Actor{}); !errors.Is(err, ken.ErrRefused) {
		t.Errorf("a disputed claim was reinforced: %v", err)
	}
}
