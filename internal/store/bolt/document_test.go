package bolt_test

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
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

// A claim that rests on a file's content stops standing when the file changes,
// and stands again when it changes back. Rival layers serve it forever.
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
