package middleware

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// witness passes a stream on as it comes, and judges it at its end: what is found is
// told in the trailer, and in the session's next response.
type witness struct {
	g    *guard
	body io.ReadCloser

	mu   sync.Mutex // a client may close what another of its goroutines reads
	kept bytes.Buffer
	full bool
	over bool
}

// Read implements io.Reader.
func (w *witness) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	w.keep(p[:n], err != nil)
	return n, err
}

// Close implements io.Closer.
func (w *witness) Close() error {
	w.keep(nil, true)
	return w.body.Close()
}

func (w *witness) keep(p []byte, last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	if w.full = w.full || w.kept.Len()+len(p) > maxAnswerBytes; !w.full {
		w.kept.Write(p)
	}
	if !last {
		return
	}
	w.over = true
	taints := w.g.judge(decoded(w.kept.Bytes(), w.g.encoding)) // of a longer one, what was kept
	w.kept = bytes.Buffer{}
	if len(taints) > 0 {
		w.g.tell("flagged", taints)
		w.g.x.suspects.owe(w.g.x.Turn.ID, taints)
	}
}

// gate passes a stream's events on, and holds those of a tool call until it is
// complete and was judged.
type gate struct {
	g     *guard
	body  io.ReadCloser
	calls openCalls

	in     []byte // an event that is not whole yet
	seen   int    // how much of it was looked at for its end
	held   []byte // whole events of calls that are not complete
	out    []byte // what may go on, from passed on
	passed int
	err    error // how the body ended, once out is gone
	buf    [16 << 10]byte
}

// maxHeld bounds what is held of calls. Arguments are judged by their first 4 MiB,
// so what is beyond would say nothing new.
const maxHeld = 2 * maxAnswerBytes

// Read implements io.Reader.
func (t *gate) Read(p []byte) (int, error) {
	for t.passed == len(t.out) && t.err == nil {
		t.out, t.passed = t.out[:0], 0
		n, err := t.body.Read(t.buf[:])
		t.take(t.buf[:n])
		if err != nil && t.err == nil {
			t.end(err)
		}
	}
	if t.passed == len(t.out) {
		return 0, t.err
	}
	n := copy(p, t.out[t.passed:])
	t.passed += n
	return n, nil
}

// Close implements io.Closer.
func (t *gate) Close() error { return t.body.Close() }

// take reads on.
func (t *gate) take(p []byte) {
	t.in = append(t.in, p...)
	for t.err == nil {
		from := max(t.seen-maxEnd, 0)
		n := t.eventEnd(t.in[from:])
		switch {
		case n > 0:
			n += from
		case len(t.in) > maxHeld: // nothing that a client would read as one event
			n = len(t.in)
		default:
			t.seen = len(t.in)
			return
		}
		raw := t.in[:n]
		t.in, t.seen = t.in[n:], 0
		t.event(raw)
	}
}

// event decides about one event.
func (t *gate) event(raw []byte) {
	touched := t.calls.event(raw)
	if !touched && len(t.held) == 0 {
		t.out = append(t.out, raw...)
		return
	}
	t.held = append(t.held, raw...)
	if !t.calls.open() || len(t.held) > maxHeld {
		t.decide()
	}
}

// decide judges what is held, and lets it go or puts an error in its place.
func (t *gate) decide() {
	held := t.held
	t.held = nil
	taints := t.g.judge(held)
	if len(taints) == 0 {
		t.out = append(t.out, held...)
		return
	}
	t.refuse(taints)
}

func (t *gate) refuse(taints []ken.Taint) {
	t.out = append(t.out, errorEvents(t.g.x.dialect, taints)...)
	t.in, t.err = nil, io.EOF
	t.g.tell("refused", taints)
	_ = t.body.Close() // the rest is not wanted
}

// end is told how the body ended. Where it broke off within a call, what came of it
// is judged all the same.
func (t *gate) end(err error) {
	t.held = append(t.held, t.in...)
	t.in, t.err = nil, err
	if len(t.held) > 0 {
		t.decide()
	}
	if errors.Is(t.err, io.EOF) {
		t.err = io.EOF
	}
}

// maxEnd is how long an event's end is at most: two line ends.
const maxEnd = 4

// eventEnd returns where the first event of b ends; 0 when it is not whole. Ollama's
// events are lines.
func (t *gate) eventEnd(b []byte) int {
	if t.calls.dialect == wire.Ollama {
		return bytes.IndexByte(b, '\n') + 1
	}
	return eventEnd(b)
}

// eventEnd returns where the first event of b ends, behind its empty line; 0 when it
// is not whole.
func eventEnd(b []byte) int {
	for i := 0; i < len(b); {
		n := bytes.IndexAny(b[i:], "\r\n")
		if n < 0 {
			return 0
		}
		i += n
		first := lineEnd(b[i:])
		if i+first == len(b) && b[i] == '\r' { // a \n may follow
			return 0
		}
		i += first
		if i < len(b) && (b[i] == '\r' || b[i] == '\n') {
			second := lineEnd(b[i:])
			if b[i] == '\r' && i+1 == len(b) && first == 2 { // half of the second \r\n
				return 0
			}
			return i + second
		}
	}
	return 0
}

// lineEnd is the length of the line end at the head of b.
func lineEnd(b []byte) int {
	if b[0] == '\r' && len(b) > 1 && b[1] == '\n' {
		return 2
	}
	return 1
}
