package draw

import (
	"bytes"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/internal/seed"
)

var update = flag.Bool("update", false, "rewrite testdata")

var formats = []struct {
	name string
	draw func(io.Writer, entity.Graph, ...func(*Words)) error
}{{"svg", SVG}, {"mmd", Mermaid}, {"dot", DOT}}

func drawn(t *testing.T, draw func(io.Writer, entity.Graph, ...func(*Words)) error, g entity.Graph) string {
	t.Helper()
	var b bytes.Buffer
	if err := draw(&b, g); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPicturesAreAsTheyWere(t *testing.T) {
	for name, g := range map[string]entity.Graph{"payments": payments(), "hostile": hostile(), "crowded": crowded(),
		"alone": {Root: "x", Nodes: []entity.Node{{Name: "x", Display: "x", Type: "unknown"}}}, "empty": {Root: "x"}} {
		for _, f := range formats {
			t.Run(name+"."+f.name, func(t *testing.T) {
				path := filepath.Join("testdata", name+"."+f.name)
				got := drawn(t, f.draw, g)
				if *update {
					if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatalf("%v; run go test ./internal/knowledge/structure/draw -update", err)
				}
				if diff := cmp.Diff(string(want), got); diff != "" {
					t.Errorf("%s has changed; run go test ./internal/knowledge/structure/draw -update:\n%s", path, diff)
				}
			})
		}
	}
}

// A picture under version control must not change because a map was walked another way,
// or because a store listed edges in another order.
func TestPicturesDependOnTheGraphAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(seed.Of(t), 1))
	for range 20 {
		g := random(r, 40)
		shuffled := g
		shuffled.Edges = append([]entity.Edge{}, g.Edges...)
		r.Shuffle(len(shuffled.Edges), func(i, j int) {
			shuffled.Edges[i], shuffled.Edges[j] = shuffled.Edges[j], shuffled.Edges[i]
		})
		for _, f := range formats {
			if diff := cmp.Diff(drawn(t, f.draw, g), drawn(t, f.draw, shuffled)); diff != "" {
				t.Fatalf("%s differs:\n%s", f.name, diff)
			}
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestAWriterThatFailsIsTold(t *testing.T) {
	for _, f := range formats {
		if err := f.draw(full{}, payments()); err == nil {
			t.Errorf("%s: no error", f.name)
		}
	}
}
