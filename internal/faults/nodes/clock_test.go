//go:build unix

package nodes

import (
	"os"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// wrongClock is the clock of a node. A test sets by how much it is wrong, through a file.
type wrongClock struct{ wrong atomic.Int64 }

var clock wrongClock

func (w *wrongClock) now() time.Time { return time.Now().Add(time.Duration(w.wrong.Load())) }

// follow reads the file again and again, and never returns. The file contains a duration, or does
// not exist.
func (w *wrongClock) follow(file string) {
	for tick := time.NewTicker(50 * time.Millisecond); ; <-tick.C {
		if b, err := os.ReadFile(file); err == nil {
			if d, err := time.ParseDuration(string(b)); err == nil {
				w.wrong.Store(int64(d))
			}
		}
	}
}

// name returns a new name for a write: a UUIDv7 with the time of this clock.
func (w *wrongClock) name() uuid.UUID {
	id, ms := uuid.Must(uuid.NewV7()), w.now().UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	return id
}
