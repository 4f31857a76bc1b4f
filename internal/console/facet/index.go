package facet

import (
	"context"
	"encoding/binary"
	"iter"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/store"
)

// DefaultOwners is how many owners' columns are kept when nothing is said.
const DefaultOwners = 8

// Options configures an index; the zero value works.
type Options struct {
	Now       func() time.Time // default time.Now
	DecayDays int              // after which a Verified claim without new evidence is Inferred; 0 and less: never
	Top       int              // values listed of a facet; 0 and less is 12
	MaxOwners int              // whose columns are kept, those used last; 0 and less is 8

	// Open opens an owner's store for work in the background, which lasts longer than
	// the call of Catch that began it, and release gives it back. Nil: the store that
	// Catch was given serves, and must stay open.
	Open func(ctx context.Context, owner string) (s store.Engine, release func(), err error)

	// Log hears of work in the background that failed. Default: nothing is logged.
	Log *slog.Logger
}

// Store is what an index reads of an owner's store. Every store.Engine is one.
type Store interface {
	Owner() string
	Seq() uint64
	Events(ctx context.Context, from uint64) iter.Seq2[*store.Event, error]
	Claims(ctx context.Context) iter.Seq2[ken.Claim, error]
	Get(ctx context.Context, id string) (ken.Claim, error)
}

// Index keeps what can be counted of the claims of some owners. One serves all; it is
// safe for concurrent use. It must be closed.
type Index struct {
	o    Options
	ctx  context.Context // of work in the background
	stop context.CancelFunc
	work sync.WaitGroup

	mu     sync.Mutex // guards what follows
	owners map[string]*owner
	clock  uint64 // counts uses
	closed bool
}

// New returns an index that has read nothing.
func New(o Options) *Index {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Top <= 0 {
		o.Top = DefaultTop
	}
	if o.MaxOwners <= 0 {
		o.MaxOwners = DefaultOwners
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	x := &Index{o: o, owners: map[string]*owner{}}
	x.ctx, x.stop = context.WithCancel(context.Background())
	return x
}

// Close ends the work in the background, waits for it, and gives the columns up. It
// may be called again.
func (x *Index) Close() {
	x.mu.Lock()
	x.closed = true
	x.owners = map[string]*owner{}
	x.mu.Unlock()
	x.stop()
	x.work.Wait()
}

var errClosed = &ken.Error{Code: ken.CodeUnavailable, Msg: "the index of claims is closed", Try: "Try again when the server is up."}

// owner returns whose columns they are, in place of those that were used least lately
// if there is no room.
func (x *Index) owner(name string) (*owner, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, errClosed
	}
	o := x.owners[name]
	if o == nil {
		if len(x.owners) >= x.o.MaxOwners {
			oldest := ""
			for n, other := range x.owners {
				if oldest == "" || other.used < x.owners[oldest].used {
					oldest = n
				}
			}
			x.owners[oldest].stop()
			delete(x.owners, oldest)
		}
		o = &owner{name: name, turn: make(chan struct{}, 1)}
		o.ctx, o.stop = context.WithCancel(x.ctx)
		x.owners[name] = o
	}
	x.clock++
	o.used = x.clock
	return o, nil
}

// read runs fn over an owner's columns.
func (x *Index) read(name string, fn func(*table)) error {
	x.mu.Lock()
	o := x.owners[name]
	if o != nil {
		x.clock++
		o.used = x.clock
	}
	x.mu.Unlock()
	if o != nil {
		o.mu.RLock()
		defer o.mu.RUnlock()
		if o.t != nil {
			fn(o.t)
			return nil
		}
	}
	return &ken.Error{Code: ken.CodeUnavailable, Msg: "the claims are still being read", Try: "Try again in a moment."}
}

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

// words is a column of which each claim has one value or none.
type words struct {
	dictionary
	of []uint32 // by slot
}

func (w *words) set(slot uint32, name string) {
	old := w.of[slot]
	w.of[slot] = w.take(name) // before the old one goes, which may be the same
	w.drop(old)
}

// lists is a column of which each claim may have several values.
type lists struct {
	dictionary
	from  []uint32 // by slot: where its values begin in all
	n     []uint16 // by slot: how many they are
	all   []uint32
	waste int // of all, what no claim has any more
}

// values are those of a slot, each once.
func (l *lists) values(slot uint32) []uint32 {
	from := l.from[slot]
	return l.all[from : from+uint32(l.n[slot])]
}

// set gives a slot its values. One without a spelling is left out, and so is what
// is beyond 65,535.
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
		l.tidy()
	}
}

// tidy gives back what no claim has any more.
func (l *lists) tidy() {
	all := make([]uint32, 0, len(l.all)-l.waste)
	for slot := range l.from {
		v := l.values(uint32(slot))
		l.from[slot] = uint32(len(all))
		all = append(all, v...)
	}
	l.all, l.waste = all, 0
}

// dictionary numbers the values of a facet, so that a column holds four bytes for
// each claim and a value is kept once. Number 0 is for none. A value that nobody uses
// any more leaves nothing behind: it may be of a claim that was forgotten.
type dictionary struct {
	spell func(string) string // what values are compared by; nil compares them as they are
	codes map[string]uint32   // by spelling
	names []string            // by code, as first written
	uses  []uint32            // by code
	free  []uint32
}

func newDictionary(spell func(string) string) dictionary {
	return dictionary{spell: spell, codes: map[string]uint32{}, names: []string{""}, uses: []uint32{0}}
}

// key is what a name is compared by; "" is none.
func (d *dictionary) key(name string) string {
	if d.spell == nil {
		return name
	}
	return d.spell(name)
}

// find returns a name's number; 0 and true for no name.
func (d *dictionary) find(name string) (uint32, bool) {
	if name == "" {
		return 0, true
	}
	code, ok := d.codes[d.key(name)]
	return code, ok
}

// take returns a name's number and counts one more use of it.
func (d *dictionary) take(name string) uint32 {
	key := d.key(name)
	if key == "" {
		return 0
	}
	if code, ok := d.codes[key]; ok {
		d.uses[code]++
		return code
	}
	name = strings.Clone(name) // it may be a part of a whole claim
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

// slots finds a claim's slot by its id: a hash table that holds numbers of slots
// alone, since the ids are in a column already. It takes 5 to 11 bytes for each claim,
// where a map takes 35.
type slots struct {
	ids  *[]uuid.UUID // by slot
	home []uint32     // slot+1, 0 for none; its length is a power of two
	n    int
}

// at is where the search for an id begins. Ids are random in their last half, or were
// chosen by somebody: then they may crowd, which makes a search longer, not wrong.
func (s *slots) at(id *uuid.UUID) uint64 {
	h := binary.LittleEndian.Uint64(id[:8]) ^ binary.LittleEndian.Uint64(id[8:])*0x9e3779b97f4a7c15
	h = (h ^ h>>32) * 0xd6e8feb86659fd93
	return (h ^ h>>32) & uint64(len(s.home)-1)
}

func (s *slots) get(id uuid.UUID) (uint32, bool) {
	if s.n == 0 {
		return 0, false
	}
	for i := s.at(&id); ; i = (i + 1) & uint64(len(s.home)-1) {
		switch at := s.home[i]; {
		case at == 0:
			return 0, false
		case (*s.ids)[at-1] == id:
			return at - 1, true
		}
	}
}

// put notes the slot of an id that has none yet. The column has it.
func (s *slots) put(slot uint32) {
	if (s.n+1)*5 > len(s.home)*4 {
		old := s.home
		s.home = make([]uint32, max(16, 2*len(old)))
		for _, at := range old {
			if at != 0 {
				s.place(at)
			}
		}
	}
	s.place(slot + 1)
	s.n++
}

func (s *slots) place(at uint32) {
	mask := uint64(len(s.home) - 1)
	i := s.at(&(*s.ids)[at-1])
	for s.home[i] != 0 {
		i = (i + 1) & mask
	}
	s.home[i] = at
}

// remove forgets an id, which the column still has, and moves what stands behind it
// nearer to where it belongs.
func (s *slots) remove(slot uint32) {
	mask := uint64(len(s.home) - 1)
	hole := s.at(&(*s.ids)[slot])
	for s.home[hole] != slot+1 {
		hole = (hole + 1) & mask
	}
	for i := (hole + 1) & mask; s.home[i] != 0; i = (i + 1) & mask {
		begin := s.at(&(*s.ids)[s.home[i]-1])
		if (i-begin)&mask >= (i-hole)&mask { // it was looked for at the hole first
			s.home[hole], hole = s.home[i], i
		}
	}
	s.home[hole] = 0
	s.n--
}
