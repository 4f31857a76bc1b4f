package api

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
)

// position is an entry's place in a list. Lists are ordered by rank, then by time, the latest
// first, then by id. An entry's position never changes, so a page can start after it even if
// entries were added.
type position struct {
	rank uint8
	at   int64
	id   string
}

// comparePositions compares two positions in the order of a list.
func comparePositions(a, b position) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.at, a.at), strings.Compare(a.id, b.id))
}

const cursorVersion = 1

// sumBytes is the length of the hash that binds a cursor to its query.
const sumBytes = 8

// cursor encodes a position. The result is valid only for the same owner and query.
func (c *call) cursor(p position) string {
	b := append([]byte{cursorVersion}, c.querySum()...)
	b = append(b, p.rank)
	b = binary.BigEndian.AppendUint64(b, uint64(p.at))
	return base64.RawURLEncoding.EncodeToString(append(b, p.id...))
}

// startPosition parses the cursor parameter; ok is false if there is none.
func (c *call) startPosition() (p position, ok bool, err error) {
	text := c.text(pCursor)
	if text == "" {
		return p, false, nil
	}
	p, sum, ok := parseCursor(text)
	switch {
	case !ok:
		return p, false, invalid(pCursor.name, "not a cursor", "Give the value of next of a page, or leave it out to begin.")
	case sum != string(c.querySum()):
		return p, false, invalid(pCursor.name, "it belongs to another query", "Repeat the parameters of the page before, or leave the cursor out to begin.")
	}
	return p, true, nil
}

func parseCursor(text string) (p position, sum string, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	const head = 1 + sumBytes + 1 + 8
	if err != nil || len(b) < head || b[0] != cursorVersion {
		return p, "", false
	}
	p = position{rank: b[1+sumBytes], at: int64(binary.BigEndian.Uint64(b[2+sumBytes:])), id: string(b[head:])}
	return p, string(b[1 : 1+sumBytes]), true
}

// querySum returns a hash of the owner and the query without its cursor and limit.
func (c *call) querySum() []byte {
	h := sha256.New()
	add := func(s string) {
		_ = binary.Write(h, binary.BigEndian, uint32(len(s))) // writing to a hash never fails
		h.Write([]byte(s))
	}
	add(c.who.Owner)
	add(c.r.URL.EscapedPath())
	for _, p := range c.route.params {
		if p == pCursor || p == pLimit || p == pExplain {
			continue
		}
		add(p.name)
		for _, v := range c.query[p.name] {
			add(v)
		}
	}
	return h.Sum(nil)[:sumBytes]
}

// page sorts all entries and returns the requested page. next is "" if it is the last one.
func page[T any](c *call, all []T, at func(*T) position) (out []T, next string, err error) {
	limit := c.number(pLimit)
	from, given, err := c.startPosition()
	if err != nil {
		return nil, "", err
	}
	slices.SortFunc(all, func(a, b T) int { return comparePositions(at(&a), at(&b)) })
	if given {
		i, found := slices.BinarySearchFunc(all, from, func(e T, p position) int { return comparePositions(at(&e), p) })
		if found {
			i++
		}
		all = all[i:]
	}
	if len(all) > limit {
		all = all[:limit]
		next = c.cursor(at(&all[limit-1]))
	}
	return append([]T{}, all...), next, nil
}
