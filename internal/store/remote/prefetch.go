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

// A sight is the data that a turn needs about the records that a search has found: their
// rows and forms, those of their neighbours, and the order of the records in their streams.
// It has its own encoding, because a turn needs hundreds of rows. A row takes 40 bytes
// instead of 150, and the fields that many rows share are written once, as a class.
//
//	classes: how many, then each as codec writes it; only classes may differ between builds
//	   with the same version of the protocol
//	rows: how many, then each
//	   ref; flags 1; unless it is gone:
//	   id 16, or length and text; class; tier 1; trust 1; version; form: speaker 4, words, traits 1;
//	   created, expires if it does, newest evidence: unix milliseconds
//	streams: how many, then each
//	   flags 1; how many refs, then each
//
// Sizes are in bytes. Numbers without a size are varints. Times have the store's resolution,
// a millisecond; 0 is the zero time.

// How many neighbours of a found record a turn uses: the words of three to each side, and
// the similarity of two further neighbours of each of those.
const (
	sightNear  = 3 // neighbours to each side whose rows are included
	sightReach = 5 // neighbours to each side whose order is included
)

const (
	rowGone       = 1 << iota // the record does not exist
	rowConstraint             // Row.Constraint is set
	rowExpires                // the row has an expiry time
	rowNamed                  // the id is a string other than a UUID in canonical form
)

const (
	streamBegins = 1 << iota // the first ref is the first of its stream
	streamEnds               // the last ref is the last of its stream
	streamNone               // the record is in no stream
)

// sightOf returns a sight. It holds the rows of refs and alone, the rows of up to near
// neighbours to each side of each of refs, and the order of up to reach neighbours to each
// side. If reach is 0, it holds no neighbours.
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

// appendStream appends a record and its neighbours, in the order of the stream. before and
// after have the nearest first.
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
	head    []byte // the encoded classes
	body    []byte // the encoded rows
	rows    int
}

// row writes a record's row, unless it was written before.
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

// idOf parses an id. usual reports whether it is a UUID in canonical form: 36 characters,
// lower case.
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

// seenRow is a row as a client caches it. gone means that the record does not exist.
type seenRow struct {
	row  store.Row
	form analysis.Form
	gone bool
}

// neighbourRow holds the records next to a record in its stream. flags are those below.
type neighbourRow struct {
	before, after store.Ref
	flags         uint8
}

const (
	linkBefore = 1 << iota // before is known
	linkAfter              // after is known
	linkFirst              // nothing comes before
	linkLast               // nothing comes after
	linkNone               // the record is in no stream
)

var errSight = errors.New("what is said of the records found makes no sense")

// readSight decodes a sight and adds its rows and neighbours to rows and links. as decodes
// classes. After an error, rows and links may hold a part.
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

// prefetchReader decodes b. After invalid data it sets bad, and all reads return zero.
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

// count reads the number of elements that follow. Each takes at least one byte, so a number
// greater than the bytes left is invalid.
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
