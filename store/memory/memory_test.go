package memory_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store/memory"
	"github.com/kenlayer/ken/store/storetest"
)

func open(o storetest.Options) memory.Store {
	return memory.New(memory.Options{Owner: o.Owner, Now: o.Now, NewID: o.NewID, Assign: o.Assign, Embed: o.Embed, Dim: o.Dim})
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(_ *testing.T, o storetest.Options) ken.Store { return open(o) })
}

func TestProjections(t *testing.T) {
	storetest.RunProjections(t, func(_ *testing.T, o storetest.Options) memory.Store { return open(o) })
}

func claim(text string) ken.Claim {
	return ken.Claim{Text: text, Confidence: 1, Evidence: []ken.Evidence{ken.FromArtifact("test", "")}}
}

func write(t testing.TB, s memory.Store, c ken.Claim) string {
	t.Helper()
	id, err := s.WriteClaim(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// What an embedder gets wrong costs the claim its vector and nothing else.
func TestUselessVectorsAreNotKept(t *testing.T) {
	for name, vecs := range map[string][][]float32{
		"none":                {},
		"two for one":         {{1, 0}, {0, 1}},
		"nil":                 {nil},
		"no direction":        {{0, 0}},
		"another dimension":   {{1, 0, 0}},
		"not a number inside": {{float32(math.NaN()), 1}},
	} {
		s := memory.New(memory.Options{Dim: 2, Embed: func(context.Context, []string) ([][]float32, error) { return vecs, nil }})
		write(t, s, claim("payments uses sagas"))
		if embedded, total := s.Coverage(); embedded != 0 || total != 1 {
			t.Errorf("%s: covers %d of %d", name, embedded, total)
		}
		res, err := s.Vector(t.Context(), []float32{1, 0}, &ken.Filter{}, 10)
		if err != nil || len(res.Hits) != 0 {
			t.Errorf("%s: found %+v, %v", name, res.Hits, err)
		}
	}
}

func TestDimIsThatOfTheFirstVector(t *testing.T) {
	s := memory.New(memory.Options{Embed: func(context.Context, []string) ([][]float32, error) { return [][]float32{{3, 4}}, nil }})
	if res, err := s.Vector(t.Context(), []float32{1, 2, 3}, &ken.Filter{}, 10); err != nil || res.Hits != nil {
		t.Errorf("before there is any: %+v, %v", res, err)
	}
	write(t, s, claim("payments uses sagas"))
	if _, err := s.Vector(t.Context(), []float32{1, 2, 3}, &ken.Filter{}, 10); !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("another dimension: %v", err)
	}
	res, err := s.Vector(t.Context(), []float32{30, 40}, &ken.Filter{}, 10)
	if err != nil || len(res.Hits) != 1 || res.Hits[0].Score < 0.999999 {
		t.Errorf("length must not matter: %+v, %v", res, err)
	}
}

func TestWithoutEmbedderVectorFindsNothing(t *testing.T) {
	s := memory.New(memory.Options{})
	write(t, s, claim("payments uses sagas"))
	if res, err := s.Vector(t.Context(), []float32{1}, &ken.Filter{}, 10); err != nil || len(res.Hits) != 0 {
		t.Errorf("%+v, %v", res, err)
	}
	if embedded, total := s.Coverage(); embedded != 0 || total != 1 {
		t.Errorf("covers %d of %d", embedded, total)
	}
}

func TestImportKeepsTheLifeBefore(t *testing.T) {
	s := memory.New(memory.Options{})
	prior := []ken.ClaimEvent{{Seq: 7, At: time.Unix(9, 0).UTC(), Type: ken.EventWritten, To: ken.StatusObserved}}
	c := claim("payments uses sagas")
	c.ID = uuid.NewString()
	for range 2 { // again is no change
		if _, err := s.Import(t.Context(), c, prior); err != nil {
			t.Fatal(err)
		}
	}
	events, err := s.History(t.Context(), c.ID)
	if err != nil || len(events) != 2 || !cmp.Equal(events[0], prior[0]) || events[1].Seq != 1 {
		t.Errorf("%+v, %v", events, err)
	}
}

func TestEvents(t *testing.T) {
	var s memory.Store
	read := func(ctx context.Context, from uint64) (seqs []uint64, err error) {
		s = memory.New(memory.Options{})
		for i := range 4 {
			write(t, s, claim(fmt.Sprintf("claim %d", i)))
		}
		for ev, err := range s.Events(ctx, from) {
			if err != nil {
				return seqs, err
			}
			seqs = append(seqs, ev.Seq)
			write(t, s, claim("written while reading")) // not part of this reading
		}
		return seqs, nil
	}
	for from, want := range map[uint64][]uint64{0: {1, 2, 3, 4}, 1: {1, 2, 3, 4}, 3: {3, 4}, 5: nil, 99: nil} {
		if got, err := read(t.Context(), from); err != nil || !cmp.Equal(got, want) {
			t.Errorf("from %d: %v, %v; want %v", from, got, err, want)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := read(over, 1); !errors.Is(err, context.Canceled) || got != nil {
		t.Errorf("cancelled: %v, %v", got, err)
	}
}

func ExampleNew() {
	ctx := context.Background()
	s := memory.New(memory.Options{})
	c, err := ken.NewClaim("payments uses the saga pattern", ken.FromFile("saga.go", "acme/payments", "abc123"))
	if err != nil {
		panic(err)
	}
	id, err := s.WriteClaim(ctx, c)
	if err != nil {
		panic(err)
	}
	found, err := s.Query(ctx, ken.Query{Question: "Which patterns do our services use?"})
	if err != nil {
		panic(err)
	}
	fmt.Println(found[0].Text, found[0].ID == id)
	fmt.Println(s.Transition(ctx, ken.Transition{ID: id, To: ken.StatusHypothesis}))
	// Output:
	// payments uses the saga pattern true
	// status: a claim can't go from observed to hypothesis
}

func BenchmarkWriteClaim(b *testing.B) {
	s := memory.New(memory.Options{})
	c := claim("The payments service uses the saga pattern for multi-step transactions across four databases.")
	for b.Loop() {
		write(b, s, c)
	}
}

func BenchmarkQuery(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		s := memory.New(memory.Options{})
		for i := range n {
			write(b, s, claim(fmt.Sprintf("Service number %d retries its transactions %d times in region %d.", i, i%7, i%31)))
		}
		b.Run(fmt.Sprintf("claims=%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Query(b.Context(), ken.Query{Question: "which services retry in region 17?"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
