package remote

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/store/remote/codec"
	"github.com/kenlayer/ken/store"
)

// A sight is what a turn will ask about the records that a search has found: their
// rows and forms, those of the records around them, and who stands next to whom. It
// is written by hand, because a turn brings hundreds of rows: they are 40 bytes
// instead of 150, and what many share is written once.
//
//	classes: how many, then each as codec writes it: only they may differ between builds of
//	   one version of the protocol
//	rows: how many, then each
//	   ref; flags 1; unless it is gone:
//	   id 16, or length and text; class; tier 1; trust 1; version; form: speaker 4, words, traits 1;
//	   created, expires if it does, newest evidence: unix milliseconds
//	streams: how many, then each
//	   flags 1; how many refs, then each
//
// Numbers without a size are varints. Times are to the millisecond, as the store
// has them; 0 is no time.

// How far around what was found a turn looks: the words of three neighbours count,
// and the likeness of two neighbours of each of those.
const (
	sightNear  = 3 // records to each side that come with their rows
	sightReach = 5 // to each side whose place is known
)

const (
	rowGone       = 1 << iota // there is no such record
	rowConstraint             // a rule that always surfaces
	rowExpires                // it has a time to expire
	rowNamed                  // its id is no UUID as they are usually written
)

const (
	streamBegins = 1 << iota // nothing comes before the first ref
	streamEnds               // nothing comes after the last
	streamNone               // the record is in none
)

// sightOf writes what is known of records, of the records up to near to each side of
// those, and how those up to reach lie.
func sightOf(s store.Projections, refs, alone []store.Ref, near, reach int) []byte {
	w := prefetchWriter{s: s, seen: make(map[store.Ref]bool, len(refs)+len(alone)), classes: map[class]int{}}
	var streams []byte
	n := 0
	for _, ref := range refs {
		w.row(ref)
		if reach == 0 {
			continue
		}
		before, after := s.Around(ref, reach)
		for _, list := range [][]store.Ref{before, after} {
			for _, r := range list[:min(near, len(list))] {
				w.row(r)
			}
		}
		streams = appendStream(streams, ref, before, after, reach)
		n++
	}
	for _, ref := range alone {
		w.row(ref)
	}
	b := binary.AppendUvarint(nil, uint64(len(w.classes)))
	b = append(b, w.head...)
	b = binary.AppendUvarint(b, uint64(w.rows))
	b = append(b, w.body...)
	b = binary.AppendUvarint(b, uint64(n))
	return append(b, streams...)
}

// appendStream writes how records lie around one.
func appendStream(b []byte, ref store.Ref, before, after []store.Ref, reach int) []byte {
	var flags byte
	if before == nil && after == nil {
		flags |= streamNone
	}
	if len(before) < reach {
		flags |= streamBegins
	}
	if len(after) < reach {
		flags |= streamEnds
	}
	b = append(b, flags)
	b = binary.AppendUvarint(b, uint64(len(before)+1+len(after)))
	for i := len(before) - 1; i >= 0; i-- {
		b = binary.AppendUvarint(b, uint64(before[i]))
	}
	b = binary.AppendUvarint(b, uint64(ref))
	for _, r := range after {
		b = binary.AppendUvarint(b, uint64(r))
	}
	return b
}

type prefetchWriter struct {
	s       store.Projections
	seen    map[store.Ref]bool
	classes map[class]int
	head    []byte // of classes
	body    []byte // of rows
	rows    int
}

// row writes a record's row once.
func (w *prefetchWriter) row(ref store.Ref) {
	if w.seen[ref] {
		return
	}
	w.seen[ref] = true
	w.rows++
	w.body = binary.AppendUvarint(w.body, uint64(ref))
	row, ok := w.s.Row(ref)
	if !ok {
		w.body = append(w.body, rowGone)
		return
	}
	id, usual := idOf(row.ID)
	var flags byte
	if row.Constraint {
		flags |= rowConstraint
	}
	if !row.Facts.ExpiresAt.IsZero() {
		flags |= rowExpires
	}
	if !usual {
		w.body = append(w.body, flags|rowNamed)
		w.body = append(binary.AppendUvarint(w.body, uint64(len(row.ID))), row.ID...)
	} else {
		w.body = append(append(w.body, flags), id[:]...)
	}
	w.body = binary.AppendUvarint(w.body, uint64(w.class(&row.Facts)))
	w.body = append(w.body, byte(row.Support.Tier), byte(row.Support.Trust))
	w.body = binary.AppendUvarint(w.body, row.Version)
	f := w.s.Form(ref)
	w.body = binary.LittleEndian.AppendUint32(w.body, f.Speaker)
	w.body = append(binary.AppendUvarint(w.body, uint64(f.Words)), byte(f.Traits))
	w.body = appendMilli(w.body, row.CreatedAt)
	if flags&rowExpires != 0 {
		w.body = appendMilli(w.body, row.Facts.ExpiresAt)
	}
	w.body = appendMilli(w.body, row.Support.NewestAt)
}

// idOf reads an id, and reports whether it is written as UUIDs usually are.
func idOf(s string) (id uuid.UUID, usual bool) {
	id, err := uuid.Parse(s)
	return id, err == nil && len(s) == 36 && !strings.ContainsAny(s, "ABCDEF")
}

func (w *prefetchWriter) class(f *ken.Facts) int {
	c := class{f.Scope, f.Status, f.Kind, f.Trust, f.Approved}
	n, ok := w.classes[c]
	if !ok {
		n = len(w.classes)
		w.classes[c] = n
		w.head = codec.Append(w.head, &c)
	}
	return n
}

func appendMilli(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, 0)
	}
	return binary.AppendVarint(b, t.UnixMilli())
}

// seenRow is a row as a client keeps it.
type seenRow struct {
	row  store.Row
	form analysis.Form
	gone bool
}

// neighbourRow is who stands next to a record.
type neighbourRow struct {
	before, after store.Ref
	flags         uint8
}

const (
	linkBefore = 1 << iota // before is known
	linkAfter              // after is known
	linkFirst              // nothing comes before
	linkLast               // nothing comes after
	linkNone               // it has no neighbours, and can't have any
)

var errSight = errors.New("what is said of the records found makes no sense")

// readSight adds what a sight says to rows and links.
func readSight(as *codec.Reader, b []byte, rows map[store.Ref]seenRow, links map[store.Ref]neighbourRow) error {
	if len(b) == 0 {
		return nil
	}
	r := prefetchReader{b: b}
	classes := make([]class, r.count())
	for i := range classes {
		var err error
		if r.b, err = as.DecodeSome(r.b, &classes[i]); err != nil {
			return errSight
		}
	}
	for range r.count() {
		ref, row := r.row(classes)
		if r.bad {
			return errSight
		}
		rows[ref] = row
	}
	for range r.count() {
		flags := r.byte()
		n := r.count()
		if n == 0 {
			return errSight
		}
		prev := store.Ref(0)
		for i := range n {
			ref := r.ref()
			if r.bad {
				return errSight
			}
			l := links[ref]
			switch {
			case i > 0:
				l.before, l.flags = prev, l.flags|linkBefore
				p := links[prev]
				p.after, p.flags = ref, p.flags|linkAfter
				links[prev] = p
			case flags&streamBegins != 0:
				l.flags |= linkFirst
			}
			if i == n-1 && flags&streamEnds != 0 {
				l.flags |= linkLast
			}
			if flags&streamNone != 0 {
				l.flags |= linkNone
			}
			links[ref] = l
			prev = ref
		}
	}
	if r.bad || len(r.b) > 0 {
		return errSight
	}
	return nil
}

// prefetchReader reads until something is bad, and zeros from then on.
type prefetchReader struct {
	b   []byte
	bad bool
}

func (r *prefetchReader) take(n int) []byte {
	if r.bad || n > len(r.b) {
		r.bad = true
		return make([]byte, n)
	}
	s := r.b[:n]
	r.b = r.b[n:]
	return s
}

func (r *prefetchReader) byte() byte { return r.take(1)[0] }

func (r *prefetchReader) uvarint() uint64 {
	n, size := binary.Uvarint(r.b)
	if r.bad || size <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[size:]
	return n
}

// count is how many things follow, each of at least a byte.
func (r *prefetchReader) count() int {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *prefetchReader) ref() store.Ref {
	n := r.uvarint()
	if n > math.MaxUint32 {
		r.bad = true
	}
	return store.Ref(n)
}

func (r *prefetchReader) milli() time.Time {
	ms, size := binary.Varint(r.b)
	if r.bad || size <= 0 {
		r.bad = true
		return time.Time{}
	}
	r.b = r.b[size:]
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func (r *prefetchReader) row(classes []class) (store.Ref, seenRow) {
	var s seenRow
	ref, flags := r.ref(), r.byte()
	if s.gone = flags&rowGone != 0; s.gone {
		return ref, s
	}
	row := &s.row
	if flags&rowNamed != 0 {
		row.ID = string(r.take(r.count()))
	} else {
		row.ID = uuid.UUID(r.take(len(uuid.UUID{}))).String()
	}
	c := r.uvarint()
	if c >= uint64(len(classes)) {
		r.bad = true
		return ref, s
	}
	row.Facts = ken.Facts{Scope: classes[c].Scope, Status: classes[c].Status, Kind: classes[c].Kind, Trust: classes[c].Trust,
		Approved: classes[c].Approved}
	row.Constraint = flags&rowConstraint != 0
	row.Support.Tier, row.Support.Trust = ken.Tier(r.byte()), ken.Trust(r.byte())
	row.Version = r.uvarint()
	s.form.Speaker = binary.LittleEndian.Uint32(r.take(4))
	s.form.Words = uint16(min(r.uvarint(), math.MaxUint16))
	s.form.Traits = analysis.Traits(r.byte())
	row.CreatedAt = r.milli()
	if flags&rowExpires != 0 {
		row.Facts.ExpiresAt = r.milli()
	}
	row.Support.NewestAt = r.milli()
	return ref, s
}
