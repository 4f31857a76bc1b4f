package entity

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/internal/spelling"
	"github.com/kenlayer/ken/store"
)

// Types lists the types of entities, the fallback last. The caller owns the slice.
func Types() []string {
	var out []string
	for _, t := range reading.Types() {
		out = append(out, string(t))
	}
	return out
}

// Unknown is the type of an entity that nobody has described.
const Unknown = string(reading.Unknown)

// IsType reports whether t is one of Types.
func IsType(t string) bool { return slices.Contains(Types(), t) }

// Spell is the name as entities are compared by. Errors: ErrInvalid, with the field
// "name", for one that has no letters, or more than a name has.
func Spell(name string) (string, error) {
	if s := spelled(name); s != "" {
		return s, nil
	}
	msg := "is no name"
	if len(name) > maxShownName {
		msg = "is too long for a name"
	}
	return "", &ken.Error{Code: ken.CodeInvalid, Field: "name", Msg: strconv.Quote(clip(guardrail.Sanitize(name))) + " " + msg,
		Try: "Name the thing in a few words, such as payments service."}
}

// spelled is the name as a store keeps it: without marks that turn a line around.
func spelled(name string) string { return analysis.Entity(guardrail.Sanitize(name)) }

// maxShownName bounds a name in an error, in code points.
const maxShownName = 80

func clip(s string) string {
	if len(s) <= maxShownName {
		return s
	}
	for i, n := 0, 0; i < len(s); n++ {
		if n == maxShownName-1 {
			return s[:i] + "…"
		}
		_, w := utf8.DecodeRuneInString(s[i:])
		i += w
	}
	return s
}

// Found is an entity that a name stands for.
type Found struct {
	Name    string   // that it goes by, as analysis.Entity spells it
	Aliases []string // its other names, sorted
}

// Names are all its names, the one that it goes by first.
func (f *Found) Names() []string { return append([]string{f.Name}, f.Aliases...) }

// Resolve finds what a name stands for, aliases followed. It is ambiguous when there
// is more than one; they are in byte order. Errors: ErrInvalid for what is no name;
// ErrNotFound, with the nearest names, for one that no record that passes the filter
// carries; the store's.
func Resolve(ctx context.Context, p store.Projections, name string, f *ken.Filter) ([]Found, error) {
	own, err := Spell(name)
	if err != nil {
		return nil, err
	}
	known, err := Known(ctx, p, own, f)
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, unknown(ctx, p, name, f)
	}
	sets, err := structure.New(p, nil).Resolve(ctx, own, f)
	if err != nil {
		return nil, err
	}
	out := make([]Found, len(sets))
	for i, s := range sets {
		out[i] = Found{s[0], s[1:]}
	}
	return out, nil
}

// Find is Resolve for a reader, as a turn would understand the name: where nothing is
// known of it as it stands, the first of its variants is meant that something is known
// of. Who writes means the very name.
func Find(ctx context.Context, p store.Projections, name string, f *ken.Filter) ([]Found, error) {
	found, err := Resolve(ctx, p, name, f)
	if !errors.Is(err, ken.ErrNotFound) {
		return found, err
	}
	for _, v := range reading.Variants(name) {
		known, kerr := Known(ctx, p, v, f)
		if kerr != nil {
			return nil, kerr
		}
		if known {
			return Resolve(ctx, p, v, f)
		}
	}
	return nil, err
}

// Known reports whether a record that passes the filter carries the name, which is
// spelled already.
func Known(ctx context.Context, p store.Projections, spelled string, f *ken.Filter) (bool, error) {
	got, err := p.Outlines(ctx, []string{spelled}, f, store.OutlineOptions{Aspects: 1, Top: 1, Links: 1})
	return len(got) == 1 && got[0].Records > 0, err
}

func unknown(ctx context.Context, p store.Projections, name string, f *ken.Filter) error {
	try := "Check the spelling, or search for a part of the name."
	if near := nearest(ctx, p, name, f, 3); len(near) > 0 {
		for i := range near {
			near[i] = strconv.Quote(clip(near[i]))
		}
		try = "Did you mean " + strings.Join(near, " or ") + "?"
	}
	return &ken.Error{Code: ken.CodeNotFound, Field: "name", Msg: "nothing is known of " + strconv.Quote(clip(guardrail.Sanitize(name))), Try: try}
}

// nearest returns the known names that are spelled most like one, at most so many,
// the nearest first; none when nothing is near.
func nearest(ctx context.Context, p store.Projections, name string, f *ken.Filter, limit int) []string {
	want := spelled(name)
	if want == "" {
		return nil
	}
	type near struct {
		name     string
		distance int
		records  int
	}
	var all []near
	for n, err := range p.Names(ctx, f) {
		if err != nil {
			return nil
		}
		if d, ok := apart(want, n.Name); ok {
			all = append(all, near{n.Name, d, n.Records})
		}
	}
	slices.SortFunc(all, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(b.records, a.records), cmp.Compare(a.name, b.name))
	})
	out := make([]string, 0, limit)
	for _, n := range all[:min(limit, len(all))] {
		out = append(out, n.name)
	}
	return out
}

// apart is how many letters lie between two names, and false when too many do: a
// third of the shorter, at least one. One that is in the other, by whole words, is
// near too.
func apart(a, b string) (int, bool) {
	most := max(1, min(len(a), len(b))/3)
	if within(a, b) {
		return most, true
	}
	if d := len(a) - len(b); d > 4*most || -d > 4*most { // a letter has at most four bytes
		return 0, false
	}
	d := spelling.Distance(a, b)
	return d, d <= most
}

// within reports that one of the names is a run of the other's words.
func within(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return strings.Contains(" "+b+" ", " "+a+" ")
}
