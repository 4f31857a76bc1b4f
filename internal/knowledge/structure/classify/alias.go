package classify

import (
	"context"
	"fmt"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/store"
)

// view looks at the structure as one scope sees it.
type view struct {
	st    Store
	f     ken.Filter
	links map[string][]store.Link // by name, as read so far
	sets  map[string][][]string   // by name, as resolved so far
}

// viewOf looks as claims of that scope do: at its own and at what is unscoped.
func viewOf(st Store, scope ken.Scope) *view {
	return &view{st: st, f: ken.Filter{Scopes: []ken.Scope{scope}, Unscoped: true}, links: map[string][]store.Link{}, sets: map[string][][]string{}}
}

// mostLinks bounds what is read of one name.
const mostLinks = 256

func (v *view) of(ctx context.Context, name string) ([]store.Link, error) {
	if l, ok := v.links[name]; ok {
		return l, nil
	}
	out, err := v.st.Outlines(ctx, []string{name}, &v.f, store.OutlineOptions{Aspects: 1, Top: 1, Links: mostLinks})
	if err != nil || len(out) == 0 {
		return nil, err
	}
	v.links[name] = out[0].Links
	return out[0].Links, nil
}

// resolve returns what a name stands for: the names of each entity, the one that it
// goes by first.
func (v *view) resolve(ctx context.Context, name string) ([][]string, error) {
	if sets, ok := v.sets[name]; ok {
		return sets, nil
	}
	sets, err := structure.New(v.st, nil).Resolve(ctx, name, &v.f)
	if err != nil {
		return nil, fmt.Errorf("resolve a name: %w", err)
	}
	v.sets[name] = sets
	return sets, nil
}

// meant returns what a name stands for; "" for one that stands for several things.
func (v *view) meant(ctx context.Context, name string) (string, error) {
	sets, err := v.resolve(ctx, name)
	if err != nil || len(sets) != 1 {
		return "", err
	}
	return sets[0][0], nil
}

// names returns all names of an entity, itself first; of a name that stands for several
// things, the name.
func (v *view) names(ctx context.Context, entity string) ([]string, error) {
	sets, err := v.resolve(ctx, entity)
	if err != nil || len(sets) != 1 {
		return []string{entity}, err
	}
	return sets[0], nil
}

// kind returns the type that an entity was described as; "" for none.
func (v *view) kind(ctx context.Context, names []string) (string, error) {
	for _, n := range names {
		links, err := v.of(ctx, n)
		if err != nil {
			return "", err
		}
		for _, l := range links {
			if l.Kind == ken.KindEntity && len(l.Names) > 0 && l.Names[0] == n && l.Type != "" {
				return l.Type, nil
			}
		}
	}
	return "", nil
}

// neighbours returns what is tied to an entity by dependencies, in order.
func (v *view) neighbours(ctx context.Context, names []string) (out []string, err error) {
	for _, n := range names {
		links, err := v.of(ctx, n)
		if err != nil {
			return nil, err
		}
		for _, l := range links {
			if l.Kind != ken.KindDependency {
				continue
			}
			for _, o := range l.Names {
				if !slices.Contains(names, o) && !slices.Contains(out, o) {
					out = append(out, o)
				}
			}
		}
	}
	slices.Sort(out)
	return out, nil
}
