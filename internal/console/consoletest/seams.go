package consoletest

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"

	"github.com/google/uuid"
)

// clock stands still until it is set. It is safe for concurrent use.
type clock struct {
	mu sync.Mutex
	at time.Time
}

// Now is the time that it was set to.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// ids makes UUIDs of version 7 that are the same in every run. It is safe for concurrent use.
type ids struct {
	seed uint64

	mu sync.Mutex
	n  uint64
}

// next is an id that was not there before.
func (i *ids) next(at time.Time) string {
	i.mu.Lock()
	i.n++
	n := i.n
	i.mu.Unlock()
	return i.id(at, binary.BigEndian.AppendUint64(nil, n))
}

// named is the id that goes by a name.
func (i *ids) named(at time.Time, name string) string { return i.id(at, []byte("name "+name)) }

func (i *ids) id(at time.Time, of []byte) string {
	sum := sha256.Sum256(append(binary.BigEndian.AppendUint64(nil, i.seed), of...))
	var u uuid.UUID
	copy(u[:], sum[:])
	ms := uint64(at.UnixMilli())
	for k := range 6 {
		u[k] = byte(ms >> (40 - 8*k))
	}
	u[6], u[8] = u[6]&0x0f|0x70, u[8]&0x3f|0x80
	return u.String()
}
