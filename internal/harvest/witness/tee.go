package witness

import (
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken/internal/harvest/finding/outcome"
)

// drained is how long the pipe of a command that is over may be silent before what it
// left running, and holds the other end, is waited for no more. Whoever reads our output
// may take as long as it likes. Tests change it.
var drained = 2 * time.Second

// tee passes an output on and looks at it.
type tee struct {
	to     io.Writer // nil for nobody
	stream outcome.Stream

	from, in *os.File // the pipe: in is the command's; nil when there is none
	over     atomic.Bool
	done     chan struct{}
}

// open makes the pipe, once.
func (t *tee) open() (err error) {
	if t.from == nil {
		t.from, t.in, err = os.Pipe()
	}
	return err
}

// began starts to pass on, once the command has its end of the pipe, or gives the pipe
// up when it never will.
func (t *tee) began(yes bool) {
	if t.from == nil || t.done != nil {
		return
	}
	t.done = make(chan struct{})
	_ = t.in.Close()
	if !yes {
		_ = t.from.Close()
		close(t.done)
		return
	}
	go t.pass()
}

// pass ends when nobody holds the other end any more, when nobody reads ours, or when
// drain says so. It closes the pipe: a command that writes on is told.
func (t *tee) pass() {
	defer close(t.done)
	defer t.from.Close() // it was only read
	buf := make([]byte, 32<<10)
	for {
		if t.over.Load() {
			_ = t.from.SetReadDeadline(time.Now().Add(drained)) // where there are none, the end is waited for
		}
		n, err := t.from.Read(buf)
		_, _ = t.stream.Write(buf[:n]) // never fails
		if n > 0 && t.to != nil {
			if _, failed := t.to.Write(buf[:n]); failed != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// drain waits for the rest of the output of a command that is over.
func (t *tee) drain() {
	if t.from == nil {
		return
	}
	t.over.Store(true)
	_ = t.from.SetReadDeadline(time.Now().Add(drained))
	<-t.done
}
