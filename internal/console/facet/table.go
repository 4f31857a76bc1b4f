package facet

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
)

// The facets. Index.Select counts them in this order.
const (
	Kind       = "kind"
	Status     = "status"
	Tier       = "tier"
	Trust      = "trust"
	Scope      = "scope" // as in repo:github.com/acme/payments
	Entity     = "entity"
	Tag        = "tag"
	Source     = "source"
	SourceType = "source_type"
	Session    = "session"
	Project    = "project"
	Agent      = "agent"      // who wrote it: see Writer
	File       = "file"       // that a piece of its evidence names
	Constraint = "constraint" // yes or no, like the next two
	Archived   = "archived"
	Expired    = "expired"
)

// Names lists the facets, in the order in which they come.
func Names() []string { return slices.Clone(names[:]) }

const (
	fKind = iota
	fStatus
	fTier
	fTrust
	fScope
	fEntity
	fTag
	fSource
	fSourceType
	fSession
	fProject
	fAgent
	fFile
	fConstraint
	fArchived
	fExpired
	facets
)

var names = [facets]string{Kind, Status, Tier, Trust, Scope, Entity, Tag, Source, SourceType, Session, Project, Agent, File,
	Constraint, Archived, Expired}

// table is what is known of one owner's claims: columns by slot. A slot that is free
// is told by its flag.
type table struct {
	ids        []uuid.UUID
	created    []int64 // unix milliseconds, like the next three
	updated    []int64
	expires    []int64 // 0 never
	newest     []int64 // the newest evidence, by which a tier decays
	confidence []float32
	seen       []uint32 // reinforcements
	status     []uint8  // by ken.Statuses
	tier       []uint8  // before decay
	trust      []uint8
	flags      []uint8
	constraint []uint8 // 0 or 1, like the next
	archived   []uint8

	words [facets]*words // those that hold one value each; nil for other facets
	lists [facets]*lists // those that hold several

	at   slots
	free []uint32
}

const (
	flagGone = 1 << iota
	flagStructural
)

func newTable() *table {
	t := &table{}
	t.at.ids = &t.ids
	for _, f := range []int{fKind, fScope, fSource, fSourceType, fSession, fProject, fAgent} {
		t.words[f] = &words{dictionary: newDictionary(nil)}
	}
	for _, f := range []int{fTag, fFile} {
		t.lists[f] = &lists{dictionary: newDictionary(nil)}
	}
	t.lists[fEntity] = &lists{dictionary: newDictionary(analysis.Entity)}
	return t
}

// Writer is how the facet Agent names who wrote a claim: an agent by its id, anybody
// else as in user:anna, and by the type alone where there is no id.
func Writer(a ken.Actor) string {
	switch {
	case a.ID == "":
		return a.Type
	case a.Type == "" || a.Type == "agent":
		return a.ID
	}
	return a.Type + ":" + a.ID
}

// put takes a claim in, in place of what was known of it. Pieces of the repository
// are no claims.
func (t *table) put(c *ken.Claim) {
	id, err := uuid.Parse(c.ID)
	if err != nil || c.Kind == ken.KindDocument {
		return
	}
	slot, ok := t.at.get(id)
	if !ok {
		slot = t.slot()
		t.ids[slot] = id
		t.at.put(slot)
	}
	sup := c.Support(nil)
	t.created[slot], t.updated[slot], t.expires[slot], t.newest[slot] = milli(c.CreatedAt), milli(c.UpdatedAt), milli(c.ExpiresAt), milli(sup.NewestAt)
	t.confidence[slot], t.seen[slot] = float32(c.Confidence), uint32(max(c.Reinforcements, 0))
	t.status[slot] = uint8(slices.Index(statuses, string(c.Status))) // stores admit no other
	t.tier[slot], t.trust[slot] = uint8(sup.Tier), uint8(sup.Trust)
	t.flags[slot] = flag(c.Kind.Structural(), flagStructural)
	t.constraint[slot], t.archived[slot] = flag(c.Constraint, 1), flag(!c.ArchivedAt.IsZero(), 1)
	for f, value := range [facets]string{fKind: string(c.Kind), fScope: c.Scope.String(), fSource: c.Source, fSourceType: c.SourceType,
		fSession: c.Session, fProject: c.Project, fAgent: Writer(c.Actor)} {
		if t.words[f] != nil {
			t.words[f].set(slot, value)
		}
	}
	t.lists[fEntity].set(slot, c.Entities)
	t.lists[fTag].set(slot, c.Tags)
	t.lists[fFile].set(slot, files(c))
}

// remove forgets a claim.
func (t *table) remove(id uuid.UUID) {
	slot, ok := t.at.get(id)
	if !ok {
		return
	}
	t.at.remove(slot)
	for f := range facets {
		if t.words[f] != nil {
			t.words[f].set(slot, "")
		}
		if t.lists[f] != nil {
			t.lists[f].set(slot, nil)
		}
	}
	t.flags[slot], t.ids[slot] = flagGone, uuid.UUID{}
	t.free = append(t.free, slot)
}

// slot finds room for a claim.
func (t *table) slot() uint32 {
	if n := len(t.free); n > 0 {
		slot := t.free[n-1]
		t.free = t.free[:n-1]
		return slot
	}
	t.ids = append(t.ids, uuid.UUID{})
	for _, col := range []*[]int64{&t.created, &t.updated, &t.expires, &t.newest} {
		*col = append(*col, 0)
	}
	t.confidence, t.seen = append(t.confidence, 0), append(t.seen, 0)
	for _, col := range []*[]uint8{&t.status, &t.tier, &t.trust, &t.flags, &t.constraint, &t.archived} {
		*col = append(*col, 0)
	}
	for f := range facets {
		if w := t.words[f]; w != nil {
			w.of = append(w.of, 0)
		}
		if l := t.lists[f]; l != nil {
			l.from, l.n = append(l.from, 0), append(l.n, 0)
		}
	}
	return uint32(len(t.ids) - 1)
}

// fit gives back the room that columns keep for growing.
func (t *table) fit() {
	t.ids = fitted(t.ids)
	for _, col := range []*[]int64{&t.created, &t.updated, &t.expires, &t.newest} {
		*col = fitted(*col)
	}
	t.confidence, t.seen = fitted(t.confidence), fitted(t.seen)
	for _, col := range []*[]uint8{&t.status, &t.tier, &t.trust, &t.flags, &t.constraint, &t.archived} {
		*col = fitted(*col)
	}
	for f := range facets {
		if w := t.words[f]; w != nil {
			w.of, w.names, w.uses = fitted(w.of), fitted(w.names), fitted(w.uses)
		}
		if l := t.lists[f]; l != nil {
			l.from, l.n, l.all, l.names, l.uses = fitted(l.from), fitted(l.n), fitted(l.all), fitted(l.names), fitted(l.uses)
		}
	}
}

// fitted copies a column without its spare room, but for a little to grow into.
func fitted[T any](col []T) []T {
	out := make([]T, len(col), len(col)+len(col)/64)
	copy(out, col)
	return out
}

func flag(is bool, f uint8) uint8 {
	if is {
		return f
	}
	return 0
}

// files are those that a claim rests on.
func files(c *ken.Claim) (paths []string) {
	for i := range c.Evidence {
		if p := c.Evidence[i].Path; p != "" {
			paths = append(paths, p)
		}
	}
	return paths
}

func milli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
