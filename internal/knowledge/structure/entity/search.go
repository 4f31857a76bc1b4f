package entity

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/internal/spelling"
	"github.com/kenlayer/ken/store"
)

// How a name matches the text of a search, the best first.
const (
	MatchExact  = "exact"
	MatchPrefix = "prefix" // the name starts with the text
	MatchWord   = "word"   // a word of the name starts with the text
	MatchPart   = "part"   // the text is anywhere in the name
	MatchNear   = "near"   // the spelling is similar
	MatchAny    = "any"    // the text is empty
)

var matches = []string{MatchExact, MatchPrefix, MatchWord, MatchPart, MatchNear, MatchAny}

// Hit is an entity that a search found.
type Hit struct {
	Name    string   `json:"name"` // the name that matches; for an alias, a name of an entity in Of
	Display string   `json:"display"`
	Type    string   `json:"type"`
	Of      []string `json:"of,omitempty"` // entities that the name is an alias of
	Match   string   `json:"match"`
	Records int      `json:"records"`
	// Constraints is the number of rules about the name.
	Constraints int `json:"constraints"`
	// Alike holds names that differ from Name only in their form, such as "ledgers" from
	// "ledger". Only a folded search sets it.
	Alike []store.NameCount `json:"-"`
}

// Matches is the result of a search, best hits first.
type Matches struct {
	Hits  []Hit `json:"hits"`
	Total int   `json:"total"` // number of hits without the limit
}

// Search finds names, ordered by how they match, then by the number of records, then by length
// and in byte order. An empty text finds all names. Names of tasks are found only by a text that
// starts like one, such as T-00; see Tasks. limit is at least 1. Errors: ErrInvalid for a text
// that is too long for a name; the store's.
func Search(ctx context.Context, p store.Projections, text string, f *ken.Filter, limit int) (Matches, error) {
	return SearchFrom(ctx, p, text, f, 0, limit)
}

// SearchFrom is like Search, but skips the first hits.
func SearchFrom(ctx context.Context, p store.Projections, text string, f *ken.Filter, skip, limit int) (Matches, error) {
	return search(ctx, p, text, f, skip, limit, false)
}

// SearchFolded is like SearchFrom, but combines near duplicates: of names that differ only in
// their form, the first is a hit, and Alike has the others.
func SearchFolded(ctx context.Context, p store.Projections, text string, f *ken.Filter, skip, limit int) (Matches, error) {
	return search(ctx, p, text, f, skip, limit, true)
}

func search(ctx context.Context, p store.Projections, text string, f *ken.Filter, skip, limit int, folded bool) (Matches, error) {
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
	if folded {
		found = fold(found)
	}
	out.Total = len(found)
	found = found[min(max(skip, 0), len(found)):]
	for _, n := range found[:min(max(limit, 1), len(found))] {
		h := Hit{Name: n.Name, Display: n.Name, Type: Unknown, Match: matches[n.class], Records: n.Records, Alike: n.alike}
		if err := describe(ctx, p, &h, f); err != nil {
			return out, err
		}
		h.Type = guessed(h.Type, h.Name)
		out.Hits = append(out.Hits, h)
	}
	return out, nil
}

type match struct {
	store.NameCount
	class int
	alike []store.NameCount
}

// fold combines names with the same form into the first one.
func fold(found []match) []match {
	at := map[string]int{}
	var out []match
	for _, m := range found {
		form := formOf(m.Name)
		if i, ok := at[form]; ok {
			out[i].alike = append(out[i].alike, m.NameCount)
			continue
		}
		at[form] = len(out)
		out = append(out, m)
	}
	return out
}

// formOf returns what names have in common that differ only in plurals, hyphens and spaces: the
// stems of their words. For a path or an identifier it returns the name itself.
func formOf(name string) string {
	if strings.ContainsAny(name, "/.:@#<>()") {
		return name
	}
	form := ""
	for w := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == ' ' || r == '-' || r == '_' }) {
		form += analysis.Stem(w)
	}
	return cmp.Or(form, name)
}

// find returns the names that match, ranked. Similar spellings are searched only if fewer than
// enough names match otherwise.
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
			found = append(found, match{NameCount: n, class: class})
		} else {
			rest = append(rest, n)
		}
	}
	if len(found) < enough && want != "" {
		for _, n := range rest {
			if _, ok := editDistance(want, n.Name); ok {
				found = append(found, match{NameCount: n, class: slices.Index(matches, MatchNear)})
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

// describe sets the fields of a hit that describe the name.
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

// typed sets the type from the claim that describes the entity and, if own is set, the display
// name.
func typed(ctx context.Context, p store.Projections, o *store.Outline, name string, typ, shown *string, own bool) error {
	at := slices.IndexFunc(o.Links, func(l store.Link) bool { return l.Kind == ken.KindEntity && len(l.Names) > 0 && l.Names[0] == name })
	if at < 0 {
		return nil
	}
	if *typ == Unknown {
		*typ = cmp.Or(o.Links[at].Type, Unknown)
	}
	c, err := p.Claim(ctx, o.Links[at].Ref)
	if errors.Is(err, ken.ErrNotFound) { // deleted meanwhile
		return nil
	}
	if err == nil && own {
		*shown, _ = display(c.Text, name)
		if id, is := task.IDOf(name); is {
			*shown = id + " " + strconv.Quote(Clip(c.Text))
		}
	}
	return err
}

// Types lists the types of entities, the fallback last. The caller owns the slice.
func Types() []string {
	var out []string
	for _, t := range reading.Types() {
		out = append(out, string(t))
	}
	return out
}

// guessed returns the type of an entity without a description, guessed from its name.
func guessed(typ, name string) string {
	if typ == Unknown {
		return string(reading.TypeOf(name))
	}
	return typ
}

// Unknown is the type of an entity without a description whose name does not tell the type.
const Unknown = string(reading.Unknown)

// IsType reports whether t is one of Types.
func IsType(t string) bool { return slices.Contains(Types(), t) }

// Spell returns the name in the form in which entities are compared. Errors: ErrInvalid, with the
// field "name", for a name without letters or one that is too long.
func Spell(name string) (string, error) {
	if s := spelled(name); s != "" {
		return s, nil
	}
	msg := "is no name"
	if len(name) > maxShownName {
		msg = "is too long for a name"
	}
	return "", &ken.Error{Code: ken.CodeInvalid, Field: "name", Msg: strconv.Quote(Clip(guardrail.Sanitize(name))) + " " + msg,
		Try: "Name the thing in a few words, such as payments service."}
}

// spelled returns the name as a store keeps it, without marks that change the direction of text.
func spelled(name string) string { return analysis.Entity(guardrail.Sanitize(name)) }

// maxShownName is the maximum length of a name in an error, in code points.
const maxShownName = 80

// Clip shortens a name, or a text that was given as one, for an error.
func Clip(s string) string {
	n := 0
	for i := range s {
		if n++; n == maxShownName && len(s) > maxShownName {
			return s[:i] + "…"
		}
	}
	return s
}

// Found is an entity that a name stands for.
type Found struct {
	Name    string   // its primary name, in the form of analysis.Entity
	Aliases []string // its other names, sorted
}

// Names returns all names of the entity, the primary one first.
func (f *Found) Names() []string { return append([]string{f.Name}, f.Aliases...) }

// Resolve returns the entities that a name stands for, following aliases. The name is ambiguous
// if there is more than one; they are in byte order. Errors: ErrInvalid for an invalid name;
// ErrNotFound, with the nearest names, if no record that passes the filter has the name; the
// store's.
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

// Find is like Resolve, but understands a name as a turn does: if nothing is known about the name
// itself, the first of its variants counts about which something is known. It is for readers; a
// writer means the exact name.
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

// Known reports whether a record that passes the filter has the name, which must be in normalised
// form.
func Known(ctx context.Context, p store.Projections, spelled string, f *ken.Filter) (bool, error) {
	got, err := p.Outlines(ctx, []string{spelled}, f, store.OutlineOptions{Aspects: 1, Top: 1, Links: 1})
	return len(got) == 1 && got[0].Records > 0, err
}

func unknown(ctx context.Context, p store.Projections, name string, f *ken.Filter) error {
	try := "Check the spelling, or search for a part of the name."
	if near := nearest(ctx, p, name, f, 3); len(near) > 0 {
		for i := range near {
			near[i] = strconv.Quote(Clip(near[i]))
		}
		try = "Did you mean " + strings.Join(near, " or ") + "?"
	}
	return &ken.Error{Code: ken.CodeNotFound, Field: "name", Msg: "nothing is known of " + strconv.Quote(Clip(guardrail.Sanitize(name))), Try: try}
}

// nearest returns at most limit known names with a similar spelling, the nearest first.
func nearest(ctx context.Context, p store.Projections, name string, f *ken.Filter, limit int) []string {
	want := spelled(name)
	if want == "" {
		return nil
	}
	type near struct {
		store.NameCount
		distance int
	}
	var all []near
	for n, err := range p.Names(ctx, f) {
		if err != nil {
			return nil
		}
		if d, ok := editDistance(want, n.Name); ok {
			all = append(all, near{n, d})
		}
	}
	slices.SortFunc(all, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(b.Records, a.Records), cmp.Compare(a.Name, b.Name))
	})
	out := make([]string, 0, limit)
	for _, n := range all[:min(limit, len(all))] {
		out = append(out, n.Name)
	}
	return out
}

// editDistance returns the number of letters in which two names differ. ok is false if these are
// more than a third of the shorter name, at least one. A name that is part of the other, by whole
// words, also counts as near.
func editDistance(a, b string) (int, bool) {
	most := max(1, min(len(a), len(b))/3)
	if containsWords(a, b) {
		return most, true
	}
	if d := len(a) - len(b); d > 4*most || -d > 4*most { // a letter has at most four bytes
		return 0, false
	}
	d := spelling.Distance(a, b)
	return d, d <= most
}

// containsWords reports whether one of the names is a sequence of the other's words.
func containsWords(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return strings.Contains(" "+b+" ", " "+a+" ")
}
