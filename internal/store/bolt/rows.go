package bolt

import (
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/store/clean"
	"github.com/kenlayer/ken/internal/store/outline"
	"github.com/kenlayer/ken/store"
)

// row is what the store keeps in memory for each record: about 110 bytes.
type row struct {
	id      uuid.UUID
	hash    [16]byte // of the text that is embedded
	version uint64   // the commit that last changed the record
	created int64    // unix milliseconds, like the next two
	expires int64    // 0 for never
	newest  int64    // newest evidence
	class   uint16   // index into table.classes
	tier    ken.Tier
	flags   uint8
	form    analysis.Form
	stream  uint32 // session or file that the record belongs to, see streamOf; 0 for none
	place   uint32 // line number in a file; other records are ordered by creation
}

const (
	flagGone       = 1 << iota // deleted; kept until no projection is behind
	flagConstraint             // a rule that is always included
	flagDocument               // a chunk of the repository: not in the log
	flagApproved               // a person approved it: see ken.Claim.Approved
	flagCandidate              // may become a rule: see ken.Claim.RuleCandidate
)

func (r *row) gone() bool { return r.flags&flagGone != 0 }

func (r *row) approved() bool { return r.flags&flagApproved != 0 }

// class holds the fields of a record that filters test, apart from its expiry. There are few
// distinct classes, so a filter is evaluated once per class, and a scan of a million rows is a
// table lookup for each.
type class struct {
	Scope  ken.Scope  `json:"scope"`
	Status ken.Status `json:"status"`
	Kind   ken.Kind   `json:"kind"`
	Trust  ken.Trust  `json:"trust"`
}

// filterMark holds what a filter needs from a row: its class, whether it expires and whether
// it is approved. A search tests about a thousand scattered records. Their rows would be cache
// misses, while all marks fit into a core's cache.
type filterMark uint32

const (
	markClass    filterMark = 1<<16 - 1
	markExpires  filterMark = 1 << 16
	markApproved filterMark = 1 << 17
	markGone     filterMark = 1<<32 - 1
)

func markOf(r *row) filterMark {
	if r.gone() {
		return markGone
	}
	m := filterMark(r.class)
	if r.expires != 0 {
		m |= markExpires
	}
	if r.approved() {
		m |= markApproved
	}
	return m
}

// table holds all rows of an owner, and the maps to find one.
type table struct {
	now func() time.Time

	mu      sync.RWMutex // guards everything below
	rows    []row        // by ref
	marks   []filterMark // by ref
	classes []class      // by row.class
	byClass map[class]uint16
	byID    map[uuid.UUID]store.Ref
	kinds   map[ken.Kind][]store.Ref // refs of small kinds, oldest first; see small
	streams map[uint32][]store.Ref   // refs by stream, in order of byPlace
	about   *outline.Index
	live    int
}

func newTable(now func() time.Time) *table {
	return &table{now: now, byClass: map[class]uint16{}, byID: map[uuid.UUID]store.Ref{},
		kinds: map[ken.Kind][]store.Ref{}, streams: map[uint32][]store.Ref{}, about: outline.New()}
}

// claims returns the records that came from the log, by ref; t.mu is held, or the table is not shared yet.
func (t *table) claims() (refs []store.Ref) {
	for i := range t.rows {
		if r := &t.rows[i]; !r.gone() && r.flags&flagDocument == 0 {
			refs = append(refs, store.Ref(i))
		}
	}
	return refs
}

// put sets a row and updates the maps; t.mu is held, or the table is not shared yet.
func (t *table) put(ref store.Ref, r row) {
	for int(ref) >= len(t.rows) {
		t.rows, t.marks = append(t.rows, row{flags: flagGone}), append(t.marks, markGone)
	}
	if old := &t.rows[ref]; !old.gone() {
		t.live--
		delete(t.byID, old.id)
		t.removeFromKinds(ref)
		t.leave(ref)
	}
	t.clampTimes(&r)
	t.rows[ref], t.marks[ref] = r, markOf(&r)
	if r.gone() {
		return
	}
	t.join(ref)
	t.list(ref)
	t.live++
	t.byID[r.id] = ref
}

// clampTimes corrects times in the future. They come from files written before writes checked
// this, or while the clock was ahead. Such a record would be the newest until then, and would
// not age. A future time of the newest evidence is replaced by the record's own time.
func (t *table) clampTimes(r *row) {
	now := t.now()
	if at := fromMilli(r.created); clean.NotAhead(at, now) != at {
		r.created = toMilli(now)
	}
	if at := fromMilli(r.newest); clean.NotAhead(at, now) != at {
		r.newest = r.created
	}
}

// intern returns the number of a class, and adds the class if it is new.
func (t *table) intern(c class) (uint16, error) {
	if n, ok := t.byClass[c]; ok {
		return n, nil
	}
	if len(t.classes) > 1<<16-1 {
		return 0, &ken.Error{Code: ken.CodeInvalid, Field: "scope", Msg: "more than 65,536 combinations of scope, kind, status and trust",
			Try: "Use fewer distinct scopes: put what varies by claim into tags."}
	}
	n := uint16(len(t.classes))
	t.classes = append(t.classes, c)
	t.byClass[c] = n
	return n, nil
}

func (t *table) facts(r *row) ken.Facts {
	c := t.classes[r.class]
	return ken.Facts{Scope: c.Scope, Status: c.Status, Kind: c.Kind, Trust: c.Trust, Approved: r.approved(), ExpiresAt: fromMilli(r.expires)}
}

// rowFilter is a filter prepared for a scan. It is only valid while the read lock is held
// under which it was made.
type rowFilter struct {
	t       *table
	verdict []ken.CutReason // by class; first for records that nobody approved, then for approved ones
	now     int64           // 0: expired records pass
}

func (t *table) filterFor(f *ken.Filter) rowFilter {
	n := len(t.classes)
	s := rowFilter{t: t, verdict: make([]ken.CutReason, 2*n), now: toMilli(f.Now)}
	for i, c := range t.classes {
		facts := ken.Facts{Scope: c.Scope, Status: c.Status, Kind: c.Kind, Trust: c.Trust}
		s.verdict[i] = f.Reject(facts)
		facts.Approved = true
		s.verdict[n+i] = f.Reject(facts)
	}
	return s
}

// reject reports whether the filter rejects a record, and why. The reason for removed records
// is "".
func (s *rowFilter) reject(ref store.Ref) (ken.CutReason, bool) {
	if int(ref) >= len(s.t.marks) {
		return "", true
	}
	m := s.t.marks[ref]
	if m == markGone {
		return "", true
	}
	class := int(m & markClass)
	if m&markApproved != 0 {
		class += len(s.verdict) / 2
	}
	if why := s.verdict[class]; why != "" {
		return why, true
	}
	if m&markExpires != 0 && s.now != 0 && s.now >= s.t.rows[ref].expires {
		return ken.CutExpired, true
	}
	return "", false
}

func (s *rowFilter) accept(ref store.Ref) bool {
	_, out := s.reject(ref)
	return !out
}

const rowSize = 16 + 16 + 8 + 8 + 8 + 8 + 2 + 1 + 1 + 4 + 2 + 1 + 4 + 4

func (r *row) encode() []byte {
	b := make([]byte, 0, rowSize)
	b = append(b, r.id[:]...)
	b = append(b, r.hash[:]...)
	for _, n := range []uint64{r.version, uint64(r.created), uint64(r.expires), uint64(r.newest)} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	b = binary.BigEndian.AppendUint16(b, r.class)
	b = append(b, byte(r.tier), r.flags)
	b = binary.BigEndian.AppendUint32(b, r.form.Speaker)
	b = binary.BigEndian.AppendUint16(b, r.form.Words)
	b = append(b, byte(r.form.Traits))
	b = binary.BigEndian.AppendUint32(b, r.stream)
	return binary.BigEndian.AppendUint32(b, r.place)
}

var errRow = errors.New("a row has the wrong size")

func (r *row) decode(b []byte) error {
	if len(b) != rowSize {
		return errRow
	}
	copy(r.id[:], b)
	copy(r.hash[:], b[16:])
	r.version = binary.BigEndian.Uint64(b[32:])
	r.created = int64(binary.BigEndian.Uint64(b[40:]))
	r.expires = int64(binary.BigEndian.Uint64(b[48:]))
	r.newest = int64(binary.BigEndian.Uint64(b[56:]))
	r.class = binary.BigEndian.Uint16(b[64:])
	r.tier, r.flags = ken.Tier(b[66]), b[67]
	r.form = analysis.Form{Speaker: binary.BigEndian.Uint32(b[68:]), Words: binary.BigEndian.Uint16(b[72:]), Traits: analysis.Traits(b[74])}
	r.stream, r.place = binary.BigEndian.Uint32(b[75:]), binary.BigEndian.Uint32(b[79:])
	return nil
}

func toMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMilli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
