package codebase_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/race"
)

// Changes wait for each other, queries do not wait, and the final graph agrees with the files.
func TestAtTheSameTime(t *testing.T) {
	root := project(t, shop())
	c := open(t, root)
	build(t, c)
	rounds := race.Pick(40, 10)
	var g sync.WaitGroup
	for who := range 4 {
		g.Go(func() {
			for i := range rounds {
				name := fmt.Sprintf("part%d/x.go", who)
				write(t, root, map[string]string{name: fmt.Sprintf("package part%d\n\nimport \"example.com/shop/money\"\n\nfunc F%d() money.Amount { return money.Sum(nil) }\n", who, i)})
				switch i % 4 {
				case 0:
					if _, err := c.Build(t.Context()); err != nil {
						t.Error(err)
					}
				case 1:
					if err := c.Save(); err != nil {
						t.Error(err)
					}
					fallthrough
				default:
					if _, err := c.Update(t.Context(), name); err != nil {
						t.Error(err)
					}
				}
				if _, err := c.View().One(fmt.Sprintf("part%d.F%d", who, i)); err != nil && i%4 != 0 {
					t.Errorf("right after its update: %v", err)
				}
			}
		})
	}
	stop := make(chan struct{})
	var asking sync.WaitGroup
	for range 2 {
		asking.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				v := c.View()
				refs, err := v.Refs("money.Sum", nil, codegraph.Page{})
				if err != nil || refs.Total != len(refs.Refs) {
					t.Errorf("refs %+v, %v", refs, err)
				}
				codebase.Search(v, codebase.Query{Words: "sum"}, codegraph.Page{})
				if err := c.Govern(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	g.Wait()
	close(stop)
	asking.Wait()
	build(t, c)
	fresh := open(t, root)
	build(t, fresh)
	if export(t, c) != export(t, fresh) {
		t.Error("the graph differs from one that is built anew")
	}
}
