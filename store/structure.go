package store

import (
	"context"
	"iter"

	"github.com/kenlayer/ken"
)

// Structure is the index of what records are about: the names in Claim.Entities, as
// analysis.Entity spells them, and the records filed under each. It is kept in memory
// and is complete once the store is open. It includes every write before that is
// acknowledged, so a rule is never missed. It contains no repository chunks.
//
// The index does not follow links (that a name is an alias of another, or depends on
// it); readers of the links do.
type Structure interface {
	// Known reports for each name, spelled as analysis.Entity does, whether any active
	// record carries it: one that a recall may return, or a structural one with such a
	// status, that has not expired.
	Known(names []string) []bool
	// Outlines returns the records that are filed under each of the names and pass the
	// filter, in the order of names; f.Kinds does not apply to links. The name "" stands
	// for constraints without entities. A store in this process answers in microseconds,
	// even when ctx has ended.
	Outlines(ctx context.Context, names []string, f *ken.Filter, o OutlineOptions) ([]Outline, error)
	// Names yields every name of a record that passes the filter, in byte order;
	// structural records count whatever f.Kinds says.
	Names(ctx context.Context, f *ken.Filter) iter.Seq2[NameCount, error]
}

// OutlineOptions limits an outline; constraints are not limited. Zero values mean the
// defaults.
type OutlineOptions struct {
	Aspects int // maximum number of aspects; those with most claims are kept; default 64
	Top     int // maximum number of records per aspect; default 20
	Links   int // maximum number of links per kind, strongest first; default 64
	// Brief returns only constraints and aliases, without counts. It is fast however
	// much is filed under a name.
	Brief bool
	// Mentioned lists those of the names for which Constraints also includes rules that
	// mention the name without carrying it. A rule mentions a name if all words of the
	// name occur in the first 400 words of its heading and text, next to each other and
	// in order. Case, accents and plural make no difference. A rule may be older than
	// the name.
	Mentioned []string
}

// Outline lists the claims that are filed under one name.
type Outline struct {
	Name    string
	Records int // number of records that pass and carry the name, links included
	// Constraints holds every rule that carries the name, whatever its aspect: by tier,
	// strongest first, then newest, then by id. Rules that only mention it follow, in
	// the same order: see OutlineOptions.Mentioned. Those are counted only in Mentioned.
	Constraints []Ref
	// Candidates holds claims that may become rules and carry the name, in the order of
	// Constraints, at most OutlineOptions.Top. They are facts as well, and counted as
	// facts.
	Candidates []Ref
	Mentioned  int             // how many of Constraints, at the end, only mention the name
	Links      []Link          // entities, then dependencies, then aliases; of each kind strongest first, then newest, then by id
	Aspects    []AspectOutline // by name; the first may be "", for claims without aspect
}

// Link is a structural record under a name.
type Link struct {
	Ref      Ref
	Kind     ken.Kind // entity, dependency or alias
	Names    []string // the record's entities, as spelled by analysis.Entity; not to be changed
	Type     string   // its aspect: a dependency's type, an entity's type
	Strength float64  // its importance, 0..1
}

// AspectOutline summarizes the claims under one aspect of a name that have the name as
// their primary entity. Constraints are counted, but are not in Top.
type AspectOutline struct {
	Name        string
	Claims      int   // constraints included
	Constraints int   // number of constraints among Claims
	Others      int   // number of distinct other names that its claims carry
	Top         []Ref // by tier, then newest, then id
}

// NameCount is a name and how many records carry it.
type NameCount struct {
	Name    string
	Records int
	Primary int // of these, records whose primary entity it is
}
