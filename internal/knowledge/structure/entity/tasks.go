package entity

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/store"
)

// Tasks yields the tasks that pass the filter, whatever their state at now, by their
// numbers: those about one of the names, which are spelled already, or all when there
// are none.
func Tasks(ctx context.Context, p store.Projections, about []string, f *ken.Filter, now time.Time) iter.Seq2[task.Task, error] {
	return func(yield func(task.Task, error) bool) {
		refs, err := taskRefs(ctx, p, about, f)
		if err != nil {
			yield(task.Task{}, err)
			return
		}
		for _, r := range refs {
			c, err := p.Claim(ctx, r.ref)
			if errors.Is(err, ken.ErrNotFound) {
				continue
			}
			if err != nil {
				yield(task.Task{}, err)
				return
			}
			if t, ok := task.Of(c, now); ok && !yield(t, nil) {
				return
			}
		}
	}
}

type taskRef struct {
	number uint64
	ref    store.Ref
}

// taskRefs finds tasks by what they are about, or by their own names.
func taskRefs(ctx context.Context, p store.Projections, about []string, f *ken.Filter) ([]taskRef, error) {
	names := about
	if len(names) == 0 {
		for n, err := range p.Names(ctx, f) {
			if err != nil {
				return nil, err
			}
			if _, ok := task.IDOf(n.Name); ok {
				names = append(names, n.Name)
			}
		}
	}
	outlines, err := p.Outlines(ctx, names, f, store.OutlineOptions{Aspects: 1, Top: 1, Links: whole})
	if err != nil {
		return nil, err
	}
	var out []taskRef
	for i := range outlines {
		for _, l := range outlines[i].Links {
			if l.Kind != ken.KindEntity || l.Type != task.Type || len(l.Names) == 0 {
				continue
			}
			if id, ok := task.IDOf(l.Names[0]); ok {
				out = append(out, taskRef{task.Number(id), l.Ref})
			}
		}
	}
	slices.SortFunc(out, func(a, b taskRef) int { return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.ref, b.ref)) })
	return slices.Compact(out), nil
}
