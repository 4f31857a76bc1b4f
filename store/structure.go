package store

import (
	"context"
	"iter"

	"github.com/kenlayer/ken"
)

// Structure is the index of what records are about: the names in Claim.Entities, as
// analysis.Entity spells them, and what is filed under each. It is kept in memory,
// is complete once the store is open, and follows every write before that is
// acknowledged, so that a rule can't be missed for want of time. Repository chunks
// are not in it.
//
// What a name means (that it is another name of something, that something depends
// on it) is the business of who reads the links; the index does not follow them.
type Structure interface {
	// Known reports for each name, spelled as analysis.Entity does, whether any
	// record that stands carries it: one that a recall may return, or a structural one
	// of such a status, that has not expired.
	Known(names []string) []bool
	// Outlines returns what is filed under each of the names and passes the filter, in
	// the order of names; f.Kinds does not apply to links. The name "" stands for
	// constraints that have no entities. A store of this process answers even when ctx
	// has ended, in microseconds.
	Outlines(ctx context.Context, names []string, f *ken.Filter, o OutlineOptions) ([]Outline, error)
	// Names yields every name that a record carries which passes the filter, in byte
	// order; structural records count whatever f.Kinds says.
	Names(ctx context.Context, f *ken.Filter) iter.Seq2[NameCount, error]
}

// OutlineOptions bound an outline; constraints have no bound. Zero values mean the
// defaults.
type OutlineOptions struct {
	Aspects int // most aspects, those with most claims; default 64
	Top     int // most records of one aspect; default 20
	Links   int // most links of one kind, strongest first; default 64
	// Brief leaves out everything but constraints and aliases, uncounted: it takes
	// little time however much is filed under a name.
	Brief bool
	// Mentioned are those of the names for which rules count, too, that say the name
	// without carrying it: all its words stand in the heading or the text, among the
	// first 400, next to each other and in order. Case, accents and plural make no
	// difference. A rule may be older than the name.
	Mentioned []string
}

// Outline lists the claims that are filed under one name.
type Outline struct {
	Name    string
	Records int // all that pass and carry the name, links included
	// Constraints is every rule that carries the name, whatever its aspect: by tier,
	// strongest first, then newest, then by id. Rules that only say it come behind, in
	// the same order: see OutlineOptions.Mentioned. These are in no count but their own.
	Constraints []Ref
	// Candidates are claims that may be rules and carry the name, in the order of
	// Constraints, at most OutlineOptions.Top: they are facts as well, and counted as those.
	Candidates []Ref
	Mentioned  int             // how many of Constraints, the last ones, only say the name
	Links      []Link          // entities, then dependencies, then aliases; of each kind strongest first, then newest, then by id
	Aspects    []AspectOutline // by name; the first may be "", of what has no aspect yet
}

// Link is a structural record under a name.
type Link struct {
	Ref      Ref
	Kind     ken.Kind // entity, dependency or alias
	Names    []string // the record's entities, as spelled by analysis.Entity; not to be changed
	Type     string   // its aspect: a dependency's type, an entity's type
	Strength float64  // its importance, 0..1
}

// AspectOutline sums up what is filed under one aspect of a name, as far as the name
// is the records' primary entity; constraints are counted, and not in Top.
type AspectOutline struct {
	Name        string
	Claims      int   // constraints included
	Constraints int   // of these
	Others      int   // distinct other names that its claims carry
	Top         []Ref // by tier, then newest, then id
}

// NameCount is a name and how many records carry it.
type NameCount struct {
	Name    string
	Records int
	Primary int // of these, the records that it is the primary entity of
}
