package remote

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/store/remote/codec"
	"github.com/kenlayer/ken/store"
)

// seenRow is a row as a client keeps it.
type seenRow struct {
	row  store.Row
	form analysis.Form
	gone bool
}

// link is who stands next to a record.
type link struct {
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
func readSight(b []byte, rows map[store.Ref]seenRow, links map[store.Ref]link) error {
	if len(b) == 0 {
		return nil
	}
	r := sightReader{b: b}
	classes := make([]class, r.count())
	for i := range classes {
		if r.b, r.bad = mustDecode(r.b, &classes[i]); r.bad {
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

func mustDecode(b []byte, c *class) ([]byte, bool) {
	rest, err := codec.DecodeSome(b, c)
	return rest, err != nil
}

// sightReader reads until something is bad, and zeros from then on.
type sightReader struct {
	b   []byte
	bad bool
}

func (r *sightReader) take(n int) []byte {
	if r.bad || n > len(r.b) {
		r.bad = true
		return make([]byte, n)
	}
	s := r.b[:n]
	r.b = r.b[n:]
	return s
}

func (r *sightReader) byte() byte { return r.take(1)[0] }

func (r *sightReader) uvarint() uint64 {
	n, size := binary.Uvarint(r.b)
	if r.bad || size <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[size:]
	return n
}

// count is how many things follow, each of at least a byte.
func (r *sightReader) count() int {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *sightReader) ref() store.Ref {
	n := r.uvarint()
	if n > math.MaxUint32 {
		r.bad = true
	}
	return store.Ref(n)
}

func (r *sightReader) milli() time.Time {
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

func (r *sightReader) row(classes []class) (store.Ref, seenRow) {
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
