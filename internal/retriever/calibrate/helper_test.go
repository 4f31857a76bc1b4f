package calibrate_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// notes returns n records of English sentences, each about a different subject.
func notes(n int) []ken.Claim {
	rng := rand.New(rand.NewPCG(7, 7))
	things := strings.Fields(`invoice ledger payment refund voucher customer account order basket parcel warehouse shipment carrier driver route depot
		sensor valve turbine boiler pump engine garden orchard greenhouse seedling harvest kitchen recipe oven bakery flour window curtain carpet
		library novel archive letter postcard stamp violin concert rehearsal orchestra bicycle helmet tunnel bridge ferry harbour lighthouse
		telescope planet comet galaxy rocket antenna radio battery charger keyboard monitor printer scanner backup database replica index cache
		queue worker scheduler token password certificate firewall proxy gateway router switch cable`)
	verbs := strings.Fields("checks copies replaces removes stores sends creates updates rejects measures opens closes repairs delays counts")
	states := strings.Fields("empty broken late full old missing wrong slow locked cold expensive quiet")
	pick := func(list []string) string { return list[rng.IntN(len(list))] }
	out := make([]ken.Claim, n)
	for i := range out {
		text := fmt.Sprintf("The %s %s the %s of the %s. When the %s is %s, the %s %s the %s before the %s.", pick(things), pick(verbs),
			pick(things), pick(things), pick(things), pick(states), pick(things), pick(verbs), pick(things), pick(things))
		out[i] = ken.Claim{ID: uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, i)).String(), Kind: ken.KindFact, Text: text,
			Status: ken.StatusObserved, Confidence: 1, CreatedAt: now.Add(-time.Hour), Evidence: []ken.Evidence{ken.FromUserStatement("s", "m")}}
	}
	return out
}

// stored puts claims into a store with the embedder e.
func stored(t testing.TB, e embed.Embedder, claims []ken.Claim) *bolt.Store {
	t.Helper()
	s, err := bolt.Open(context.Background(), t.TempDir(), bolt.Options{Embedder: e, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	in := make([]store.Incoming, len(claims))
	for i, c := range claims {
		in[i].Claim = c
	}
	for i, o := range s.Import(context.Background(), in) {
		if o.Err != nil {
			t.Fatalf("claim %d: %v", i, o.Err)
		}
	}
	if _, err := s.EmbedMissing(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

// noise is an embedder with random vectors.
type noise struct{}

func (noise) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		h := fnv.New64a()
		_, _ = h.Write([]byte(text))
		rng := rand.New(rand.NewPCG(h.Sum64(), 1))
		out[i] = make([]float32, 32)
		for k := range out[i] {
			out[i][k] = float32(rng.NormFloat64())
		}
		if err := embed.Unit(out[i]); err != nil {
			return nil, err
		}
	}
	return out, ctx.Err()
}

func (noise) Model() string { return "test:noise" }
func (noise) Dim() int      { return 32 }
func (noise) Local() bool   { return true }
