package codegraph

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/seed"
)

// TestReadersSeeWholeChanges queries from several goroutines while others change the graph. Every change renames two
// functions in two files: a view has both new names or neither.
func TestReadersSeeWholeChanges(t *testing.T) {
	g := newShop()
	pair := func(n int) []File {
		return []File{file("p/a.go", "go", "in package:p", fmt.Sprintf("func p.Left%d", n), fmt.Sprintf("calls =p.Right%d", n)),
			file("p/b.go", "go", "in package:p", fmt.Sprintf("func p.Right%d", n))}
	}
	g.Apply(pair(0), nil)
	done := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				v := g.View()
				left, total := v.Search("Left", []Kind{KindFunction}, 10)
				if total != 1 {
					t.Errorf("%d functions are called Left and a number", total)
					return
				}
				s, err := v.Show(left[0].ID)
				if err != nil || len(s.To) != 1 || s.To[0].To.Name[len("Right"):] != s.Name[len("Left"):] {
					t.Errorf("%s calls %+v, %v", left[0].ID, s.To, err)
					return
				}
				if _, err := v.Refs(s.To[0].To.ID, nil, Page{}); err != nil {
					t.Error(err)
					return
				}
				if _, err := v.Dependents("package:p", 0, Page{}); err != nil {
					t.Error(err)
				}
				v.Find("none of it", 1)
				if err := v.Save(&bytes.Buffer{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	rounds := race.Pick(400, 60)
	writers.Go(func() {
		for n := range rounds {
			g.Apply(pair(n), nil)
		}
	})
	writers.Go(func() {
		w := &world{Rand: rand.New(rand.NewPCG(seed.Of(t), 2))}
		for range rounds {
			g.Apply([]File{w.file("w/" + w.path())}, []string{"w/" + w.path()})
		}
	})
	writers.Go(func() {
		for n := range rounds / 10 {
			g.Govern(shopDecisions()[:n%2])
			g.Prune(func(string) bool { return true }, true)
		}
	})
	writers.Wait()
	close(done)
	readers.Wait()
	checkConsistent(t, g.View())
}
