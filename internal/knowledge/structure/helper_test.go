package structure_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/store/outline"
	"github.com/kenlayer/ken/store"
)

var day = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// shelf is a source over claims that are set by hand. Ref n is the n-th of them.
type shelf struct {
	index *outline.Index
	rows  []store.Row
	asked int // calls of Outlines
	fail  error
}

func newShelf(claims ...ken.Claim) *shelf {
	s := &shelf{index: outline.New()}
	s.index.Load(func(yield func(outline.Record) bool) {
		for i := range claims {
			c := &claims[i]
			id := uuid.UUID{14: byte(i >> 8), 15: byte(i)}
			if i >= 1<<16 {
				id[13] = byte(i >> 16)
			}
			s.rows = append(s.rows, store.Row{ID: id.String(), Facts: c.Facts(), Support: c.Support(nil), CreatedAt: c.CreatedAt, Constraint: c.Constraint})
			if about, ok := outline.Of(c); ok && !yield(outline.Record{Ref: store.Ref(i), ID: id, Kind: c.Kind, Tier: c.Support(nil).Tier,
				Created: c.CreatedAt.UnixMilli(), Constraint: c.Constraint, About: about}) {
				return
			}
		}
	})
	return s
}

func (s *shelf) Row(ref store.Ref) (store.Row, bool) {
	if int(ref) >= len(s.rows) {
		return store.Row{}, false
	}
	return s.rows[ref], true
}

func (s *shelf) Known(names []string) []bool {
	standing, links := ken.Filter{}, outline.Links(&ken.Filter{})
	out := make([]bool, len(names))
	for i, n := range names {
		out[i] = s.index.Known(n, func(ref store.Ref) bool {
			f := s.rows[ref].Facts
			return standing.Reject(f) == "" || links.Reject(f) == ""
		})
	}
	return out
}

func (s *shelf) Outlines(_ context.Context, names []string, f *ken.Filter, o store.OutlineOptions) ([]store.Outline, error) {
	s.asked++
	if s.fail != nil {
		return nil, s.fail
	}
	links := outline.Links(f)
	return s.index.Outlines(names, outline.Pass{
		Claim: func(ref store.Ref) bool { return f.Reject(s.rows[ref].Facts) == "" },
		Link:  func(ref store.Ref) bool { return links.Reject(s.rows[ref].Facts) == "" },
	}, o), nil
}

func (s *shelf) Names(context.Context, *ken.Filter) iter.Seq2[store.NameCount, error] {
	return func(func(store.NameCount, error) bool) {}
}

// fact is a claim about entities, the primary one first.
func fact(aspect string, entities ...string) ken.Claim {
	return ken.Claim{Kind: ken.KindFact, Text: "It is so.", Status: ken.StatusObserved, Entities: entities, Aspect: aspect, Importance: 0.5,
		CreatedAt: day, Evidence: []ken.Evidence{ken.FromUserStatement("s", "m")}}
}

func rule(entities ...string) ken.Claim {
	c := fact("", entities...)
	c.Constraint = true
	return c
}

func alias(of, other string) ken.Claim {
	c := fact("", of, other)
	c.Kind, c.Importance = ken.KindAlias, 1
	return c
}

func dependency(source, how, target string, strength float64) ken.Claim {
	c := fact(how, source, target)
	c.Kind, c.Importance = ken.KindDependency, strength
	return c
}

func task(name string, about ...string) ken.Claim {
	c := fact("task", append([]string{name}, about...)...)
	c.Kind, c.Importance = ken.KindEntity, 0.5
	return c
}

// ask is what a turn of these words shows.
func ask(text string) structure.Signs { return structure.Signs{Text: text} }

func focal(t testing.TB, s *shelf, signs structure.Signs) []structure.Focus {
	t.Helper()
	out, _, err := structure.New(s, nil).Look(t.Context(), signs, &ken.Filter{}, structure.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func names(focal []structure.Focus) []string {
	out := []string{}
	for _, f := range focal {
		out = append(out, f.Name)
	}
	return out
}

func look(t testing.TB, s *shelf, signs structure.Signs, b structure.Bounds) structure.Traversal {
	t.Helper()
	_, out, err := structure.New(s, nil).Look(t.Context(), signs, &ken.Filter{}, b)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// ruled are the constraints of a traversal, each as "ref@distance of entity".
func ruled(tr structure.Traversal) []string {
	out := []string{}
	for _, c := range tr.Constraints {
		out = append(out, fmt.Sprintf("%d@%d of %s", c.Ref, c.Distance, c.Entity))
	}
	return out
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }
