package facet

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
)

// The facets, in the order in which Index.Select returns them.
const (
	Kind       = "kind"
	Status     = "status"
	Tier       = "tier"
	Trust      = "trust"
	Scope      = "scope" // such as repo:github.com/acme/payments
	Entity     = "entity"
	Tag        = "tag"
	Source     = "source"
	SourceType = "source_type"
	Session    = "session"
	Project    = "project"
	Agent      = "agent"      // the writer: see Writer
	File       = "file"       // files in its evidence
	Constraint = "constraint" // yes or no, like the next two
	Archived   = "archived"
	Expired    = "expired"
)

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

// table holds the properties of one owner's claims: columns indexed by slot. A flag
// marks free slots.
type table struct {
	ids        []uuid.UUID
	created    []int64 // unix milliseconds, like the next three
	updated    []int64
	expires    []int64 // 0 means never
	newest     []int64 // time of the newest evidence, from which a tier decays
	confidence []float32
	seen       []uint32 // reinforcements
	status     []uint8  // index in ken.Statuses
	tier       []uint8  // before decay
	trust      []uint8
	flags      []uint8
	constraint []uint8 // 0 or 1, like the next
	archived   []uint8

	words [facets]*words // facets with one value; nil for others
	lists [facets]*lists // facets with several values

	slots map[uuid.UUID]uint32 // by claim
	free  []uint32
}

const (
	flagGone = 1 << iota
	flagStructural
)

func newTable() *table {
	t := &table{slots: map[uuid.UUID]uint32{}}
	for _, f := range []int{fKind, fScope, fSource, fSourceType, fSession, fProject, fAgent} {
		t.words[f] = &words{dictionary: newDictionary(nil)}
	}
	for _, f := range []int{fTag, fFile} {
		t.lists[f] = &lists{dictionary: newDictionary(nil)}
	}
	t.lists[fEntity] = &lists{dictionary: newDictionary(analysis.Entity)}
	return t
}

// Writer returns the value of the facet Agent: an agent's id, user:anna and the like
// for other types, and the type alone if there is no id.
func Writer(a ken.Actor) string {
	switch {
	case a.ID == "":
		return a.Type
	case a.Type == "" || a.Type == "agent":
		return a.ID
	}
	return a.Type + ":" + a.ID
}

// put adds a claim, or replaces its properties. Pieces of the repository are ignored.
func (t *table) put(c *ken.Claim) {
	id, err := uuid.Parse(c.ID)
	if err != nil || c.Kind == ken.KindDocument {
		return
	}
	slot, ok := t.slots[id]
	if !ok {
		slot = t.slot()
		t.ids[slot], t.slots[id] = id, slot
	}
	sup := c.Support(nil)
	t.created[slot], t.updated[slot], t.expires[slot], t.newest[slot] = milli(c.CreatedAt), milli(c.UpdatedAt), milli(c.ExpiresAt), milli(sup.NewestAt)
	t.confidence[slot], t.seen[slot] = float32(c.Confidence), uint32(max(c.Reinforcements, 0))
	t.status[slot] = uint8(slices.Index(statuses, string(c.Status))) // stores accept no other status
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

func (t *table) remove(id uuid.UUID) {
	slot, ok := t.slots[id]
	if !ok {
		return
	}
	delete(t.slots, id)
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

// shrink releases spare capacity of the columns.
func (t *table) shrink() {
	t.ids = withoutSpare(t.ids)
	for _, col := range []*[]int64{&t.created, &t.updated, &t.expires, &t.newest} {
		*col = withoutSpare(*col)
	}
	t.confidence, t.seen = withoutSpare(t.confidence), withoutSpare(t.seen)
	for _, col := range []*[]uint8{&t.status, &t.tier, &t.trust, &t.flags, &t.constraint, &t.archived} {
		*col = withoutSpare(*col)
	}
	for f := range facets {
		if w := t.words[f]; w != nil {
			w.of, w.names, w.uses = withoutSpare(w.of), withoutSpare(w.names), withoutSpare(w.uses)
		}
		if l := t.lists[f]; l != nil {
			l.from, l.n, l.all, l.names, l.uses = withoutSpare(l.from), withoutSpare(l.n), withoutSpare(l.all), withoutSpare(l.names), withoutSpare(l.uses)
		}
	}
}

// withoutSpare copies a column without most of its spare capacity.
func withoutSpare[T any](col []T) []T {
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

// words is a column in which each claim has at most one value.
type words struct {
	dictionary
	of []uint32 // by slot
}

func (w *words) set(slot uint32, name string) {
	old := w.of[slot]
	w.of[slot] = w.take(name) // before dropping the old value, which may be the same
	w.drop(old)
}

// lists is a column in which each claim may have several values.
type lists struct {
	dictionary
	from  []uint32 // by slot: index of its first value in all
	n     []uint16 // by slot: number of its values
	all   []uint32
	waste int // number of unused entries in all
}

// values returns the values of a slot, without duplicates.
func (l *lists) values(slot uint32) []uint32 {
	from := l.from[slot]
	return l.all[from : from+uint32(l.n[slot])]
}

// set sets the values of a slot. It ignores values that are empty once spelled, and
// values beyond 65,535.
func (l *lists) set(slot uint32, names []string) {
	old := slices.Clone(l.values(slot))
	from := len(l.all)
	for _, name := range names {
		if len(l.all)-from == math.MaxUint16 {
			break
		}
		code := l.take(name)
		if code == 0 {
			continue
		}
		if slices.Contains(l.all[from:], code) {
			l.drop(code)
			continue
		}
		l.all = append(l.all, code)
	}
	l.from[slot], l.n[slot] = uint32(from), uint16(len(l.all)-from)
	for _, code := range old {
		l.drop(code)
	}
	const some = 4096
	if l.waste += len(old); l.waste > some && l.waste > len(l.all)/2 {
		l.compact()
	}
}

// compact removes the unused entries.
func (l *lists) compact() {
	all := make([]uint32, 0, len(l.all)-l.waste)
	for slot := range l.from {
		v := l.values(uint32(slot))
		l.from[slot] = uint32(len(all))
		all = append(all, v...)
	}
	l.all, l.waste = all, 0
}

// dictionary numbers the values of a facet, so that a column needs four bytes for each
// claim and a value is stored once. Code 0 means none. An unused value is removed from
// memory, because it may be of a forgotten claim.
type dictionary struct {
	spell func(string) string // returns the form by which values are compared; nil compares them unchanged
	codes map[string]uint32   // by compared form
	names []string            // by code, as first written
	uses  []uint32            // by code
	free  []uint32
}

func newDictionary(spell func(string) string) dictionary {
	return dictionary{spell: spell, codes: map[string]uint32{}, names: []string{""}, uses: []uint32{0}}
}

// key returns the form by which a name is compared; "" means no name.
func (d *dictionary) key(name string) string {
	if d.spell == nil {
		return name
	}
	return d.spell(name)
}

// find returns a name's code; 0 and true for no name.
func (d *dictionary) find(name string) (uint32, bool) {
	if name == "" {
		return 0, true
	}
	code, ok := d.codes[d.key(name)]
	return code, ok
}

// take returns a name's code and counts one more use of it.
func (d *dictionary) take(name string) uint32 {
	key := d.key(name)
	if key == "" {
		return 0
	}
	if code, ok := d.codes[key]; ok {
		d.uses[code]++
		return code
	}
	name = strings.Clone(name) // it may be a substring of a whole claim
	if d.spell == nil {
		key = name
	}
	var code uint32
	if n := len(d.free); n > 0 {
		code, d.free = d.free[n-1], d.free[:n-1]
		d.names[code], d.uses[code] = name, 1
	} else {
		code = uint32(len(d.names))
		d.names, d.uses = append(d.names, name), append(d.uses, 1)
	}
	d.codes[key] = code
	return code
}

// drop counts one use less.
func (d *dictionary) drop(code uint32) {
	if code == 0 {
		return
	}
	if d.uses[code]--; d.uses[code] > 0 {
		return
	}
	delete(d.codes, d.key(d.names[code]))
	d.names[code], d.free = "", append(d.free, code)
}
