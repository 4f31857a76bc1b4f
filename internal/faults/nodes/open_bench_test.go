//go:build unix

package nodes

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
	"github.com/kenlayer/ken/internal/store/shared"
	"github.com/kenlayer/ken/internal/synth"
	"github.com/kenlayer/ken/store"
)

// BenchmarkOpenElsewhere measures how long a node with an empty folder takes to open an owner of
// 100,000 claims from the engine's snapshot, until the first search by words is answered.
func BenchmarkOpenElsewhere(b *testing.B) {
	const claims = 100_000
	embedder, question := synth.NewEmbedder(256), synth.New(2).Question()
	dir := b.TempDir()
	alone := shared.NewOwners(dir, 0, shared.Options{Store: bolt.Options{NoSync: true}})
	importClaims(b, alone, "ada", claims, 0)
	if err := alone.Close(); err != nil {
		b.Fatal(err)
	}
	for _, engine := range []string{"nats", "postgres"} {
		b.Run(engine, func(b *testing.B) {
			url := ""
			if engine == "nats" {
				url = logtest.StartNATS(b, 3).URL()
			} else {
				url = logtest.StartPostgres(b).URL()
			}
			node := func(id, dir string) (*shared.Owners, func()) {
				log, err := openLog(b.Context(), url)
				if err != nil {
					b.Fatal(err)
				}
				n, err := shared.StartNode(b.Context(), shared.NodeOptions{Log: log, ID: id})
				if err != nil {
					b.Fatal(err)
				}
				w := shared.NewOwners(dir, 0, shared.Options{Node: n, Store: bolt.Options{Embedder: embedder}})
				return w, func() { _, _ = w.Close(), n.Close() }
			}
			first, end := node("first", dir)
			if _, release, err := first.Get(b.Context(), "ada"); err != nil { // the folder begins the log
				b.Fatal(err)
			} else {
				release()
			}
			end()
			n := 0
			for b.Loop() {
				b.StopTimer()
				n++
				w, end := node(fmt.Sprint("n", n), b.TempDir())
				b.StartTimer()
				s, release, err := w.Get(b.Context(), "ada")
				if err != nil {
					b.Fatal(err)
				}
				got, err := s.Keyword(b.Context(), question, &ken.Filter{}, 10)
				b.StopTimer()
				if err != nil || len(got.Hits) == 0 || s.Len() != claims {
					b.Fatal(len(got.Hits), err, s.Len())
				}
				release()
				end()
				b.StartTimer()
			}
		})
	}
}

// importClaims fills an owner's store. A claim carries padding of so many bytes, which no
// compression removes.
func importClaims(tb testing.TB, w *shared.Owners, owner string, n, padding int) {
	s, release, err := w.Get(context.Background(), owner)
	if err != nil {
		tb.Fatal(err)
	}
	defer release()
	src := synth.New(1)
	rng := rand.NewChaCha8([32]byte{1})
	pad := make([]byte, padding/2)
	for left := n; left > 0; left -= 1000 {
		in := make([]store.Incoming, min(left, 1000))
		for i := range in {
			in[i].Claim = src.Claim()
			if padding > 0 {
				_, _ = rng.Read(pad)
				in[i].Claim.Body = fmt.Appendf(nil, `{"padding":"%x"}`, pad)
			}
		}
		for _, o := range s.Import(context.Background(), in) {
			if o.Err != nil {
				tb.Fatal(o.Err)
			}
		}
	}
}
