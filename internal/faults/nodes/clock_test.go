//go:build unix

package nodes

import (
	"os"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// wrongClock is the clock of a node, which a test sets by a file.
type wrongClock struct{ wrong atomic.Int64 }

var clock wrongClock

func (w *wrongClock) now() time.Time { return time.Now().Add(time.Duration(w.wrong.Load())) }

// follow reads the file, which holds a duration, or is not there.
func (w *wrongClock) follow(file string) {
	for tick := time.NewTicker(50 * time.Millisecond); ; <-tick.C {
		if b, err := os.ReadFile(file); err == nil {
			if d, err := time.ParseDuration(string(b)); err == nil {
				w.wrong.Store(int64(d))
			}
		}
	}
}

// name is a name of a write, by this clock.
func (w *wrongClock) name() uuid.UUID {
	id, ms := uuid.Must(uuid.NewV7()), w.now().UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	return id
}
