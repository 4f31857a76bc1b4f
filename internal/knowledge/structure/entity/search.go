package entity

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/store"
)

// How a name matches, the best first.
const (
	MatchExact  = "exact"
	MatchPrefix = "prefix" // the name starts with it
	MatchWord   = "word"   // a word of the name does
	MatchPart   = "part"   // it is somewhere in the name
	MatchNear   = "near"   // it is spelled much like the name
	MatchAny    = "any"    // nothing was asked for
)

var matches = []string{MatchExact, MatchPrefix, MatchWord, MatchPart, MatchNear, MatchAny}

// Hit is an entity that a search found.
type Hit struct {
	Name    string   `json:"name"` // as it was found; an alias is one of Of's names
	Display string   `json:"display"`
	Type    string   `json:"type"`
	Of      []string `json:"of,omitempty"` // what the name is another name of
	Match   string   `json:"match"`
	Records int      `json:"records"`
	// Constraints is how many rules carry the name.
	Constraints int `json:"constraints"`
}

// Matches are what a search found, best first.
type Matches struct {
	Hits  []Hit `json:"hits"`
	Total int   `json:"total"` // hits without the limit
}

// Search finds names by the way they match, then by how many records carry them, then
// by length and in byte order. An empty text finds all. Names of tasks are found by
// what starts like one, such as T-00; see Tasks. limit is at least 1. Errors:
// ErrInvalid for a text that is too long for a name; the store's.
func Search(ctx context.Context, p store.Projections, text string, f *ken.Filter, limit int) (Matches, error) {
	return SearchFrom(ctx, p, text, f, 0, limit)
}

// SearchFrom is Search without the first hits.
func SearchFrom(ctx context.Context, p store.Projections, text string, f *ken.Filter, skip, limit int) (Matches, error) {
	if f == nil {
		f = &ken.Filter{Unscoped: true}
	}
	out := Matches{Hits: []Hit{}}
	want := spelled(text)
	if want == "" && strings.TrimSpace(text) != "" {
		if len(text) > maxShownName {
			_, err := Spell(text)
			return out, err
		}
		return out, nil
	}
	found, err := find(ctx, p, want, f, skip+limit)
	if err != nil {
		return out, err
	}
	out.Total = len(found)
	found = found[min(max(skip, 0), len(found)):]
	for _, n := range found[:min(max(limit, 1), len(found))] {
		h := Hit{Name: n.Name, Display: n.Name, Type: Unknown, Match: matches[n.class], Records: n.Records}
		if err := describe(ctx, p, &h, f); err != nil {
			return out, err
		}
		out.Hits = append(out.Hits, h)
	}
	return out, nil
}

type match struct {
	store.NameCount
	class int
}

// find ranks the names that match. Spelling is looked at where less than enough are
// found otherwise.
func find(ctx context.Context, p store.Projections, want string, f *ken.Filter, enough int) ([]match, error) {
	tasks := strings.HasPrefix(want, "t ")
	var found []match
	var rest []store.NameCount
	for n, err := range p.Names(ctx, f) {
		if err != nil {
			return nil, err
		}
		if _, is := task.IDOf(n.Name); is && !tasks {
			continue
		}
		if class, ok := classOf(n.Name, want); ok {
			found = append(found, match{n, class})
		} else {
			rest = append(rest, n)
		}
	}
	if len(found) < enough && want != "" {
		for _, n := range rest {
			if _, ok := apart(want, n.Name); ok {
				found = append(found, match{n, slices.Index(matches, MatchNear)})
			}
		}
	}
	slices.SortFunc(found, func(a, b match) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(b.Records, a.Records), cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	return found, nil
}

func classOf(name, want string) (int, bool) {
	class := MatchPart
	switch at := strings.Index(name, want); {
	case want == "":
		class = MatchAny
	case name == want:
		class = MatchExact
	case at < 0:
		return 0, false
	case at == 0:
		class = MatchPrefix
	case strings.Contains(name, " "+want), strings.Contains(name, "/"+want), strings.Contains(name, "."+want):
		class = MatchWord
	}
	return slices.Index(matches, class), true
}

// describe fills in what is said of the name itself.
func describe(ctx context.Context, p store.Projections, h *Hit, f *ken.Filter) error {
	sets, err := structure.New(p, nil).Resolve(ctx, h.Name, f)
	if err != nil {
		return err
	}
	names := []string{h.Name}
	for _, s := range sets {
		if s[0] != h.Name {
			h.Of = append(h.Of, s[0])
			names = append(names, s[0])
		}
	}
	outlines, err := p.Outlines(ctx, names, f, store.OutlineOptions{Aspects: 1, Top: 1, Links: 8})
	if err != nil {
		return err
	}
	for i := range outlines {
		if i == 0 {
			h.Constraints = len(outlines[i].Constraints)
		}
		if err := typed(ctx, p, &outlines[i], names[i], &h.Type, &h.Display, i == 0); err != nil {
			return err
		}
	}
	return nil
}

// typed sets the type and, if it is to, the display name by the entity's own claim.
func typed(ctx context.Context, p store.Projections, o *store.Outline, name string, typ, shown *string, own bool) error {
	for _, l := range o.Links {
		if l.Kind != ken.KindEntity || len(l.Names) == 0 || l.Names[0] != name {
			continue
		}
		if *typ == Unknown && l.Type != "" {
			*typ = l.Type
		}
		c, err := p.Claim(ctx, l.Ref)
		if errors.Is(err, ken.ErrNotFound) { // gone meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		if own {
			*shown, _ = display(c.Text, name)
			if id, is := task.IDOf(name); is {
				*shown = id + " " + strconv.Quote(clip(c.Text))
			}
		}
		return nil
	}
	return nil
}
