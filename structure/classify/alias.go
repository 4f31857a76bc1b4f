package classify

import (
	"context"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// view looks at the structure as one scope sees it.
type view struct {
	st    Store
	f     ken.Filter
	links map[string][]store.Link // by name, as read so far
}

// viewOf looks as claims of that scope do: at its own and at what is unscoped.
func viewOf(st Store, scope ken.Scope) *view {
	return &view{st: st, f: ken.Filter{Scopes: []ken.Scope{scope}, Unscoped: true}, links: map[string][]store.Link{}}
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

// mostNames bounds a walk over aliases.
const mostNames = 64

// walk returns the names that aliases lead to from one, itself first: up to what it
// is a name of, or down to the other names.
func (v *view) walk(ctx context.Context, name string, up bool) (all, ends []string, err error) {
	all = []string{name}
	for i := 0; i < len(all) && len(all) < mostNames; i++ {
		links, err := v.of(ctx, all[i])
		if err != nil {
			return nil, nil, err
		}
		end := true
		for _, l := range links {
			if l.Kind != ken.KindAlias || len(l.Names) < 2 || l.Names[0] == l.Names[1] {
				continue
			}
			from, to := l.Names[0], l.Names[1]
			if up {
				from, to = to, from
			}
			if from != all[i] {
				continue
			}
			end = false
			if !slices.Contains(all, to) {
				all = append(all, to)
			}
		}
		if end {
			ends = append(ends, all[i])
		}
	}
	return all, ends, nil
}

// meant returns what a name stands for; "" for one that stands for several things. A
// circle of aliases is one thing, by its first name in byte order.
func (v *view) meant(ctx context.Context, name string) (string, error) {
	all, ends, err := v.walk(ctx, name, true)
	switch {
	case err != nil:
		return "", err
	case len(ends) == 0:
		return slices.Min(all), nil
	case len(ends) > 1:
		return "", nil
	}
	return ends[0], nil
}

// names returns all names of an entity, itself first.
func (v *view) names(ctx context.Context, entity string) ([]string, error) {
	all, _, err := v.walk(ctx, entity, false)
	return all, err
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
