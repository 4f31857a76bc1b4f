package bolt_test

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/store/bolt"
)

// renamed is an embedder of another model.
type renamed struct {
	embedtest.Bag
	name string
}

func (r renamed) Model() string { return r.name }

// The vectors that a claim had with an earlier model go with it; what they were of others is
// there while the new model lacks some, and goes whole when nothing reads it any more.
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
