package middleware

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// responseObserver observes the answer of one exchange.
type responseObserver struct {
	x        *Exchange
	onAnswer func(wire.Observed)
	encoding string
	journals bool
}

// observe receives the body as far as the client has read it; nil if it was too long. It does most
// of the work in a goroutine of its own.
func (e *responseObserver) observe(body []byte) {
	x := e.x
	read := sync.OnceValue(func() wire.Observed {
		a, ok := wire.ParseAnswer(x.dialect, wire.Decode(body, e.encoding))
		return wire.Observed{Answer: a, OK: ok}
	})
	response := ""
	if x.thread != nil && body != nil {
		response = wire.AnswerID(wire.DecodeBeginning(body, e.encoding))
		x.layer.threads.put(x.thread, response, read)
	}
	if x.onFirstAnswer != nil && len(body) > 0 { // at once, because the client's next request may follow at once
		var m *ken.Message
		if h := read(); h.OK {
			m = &h.Answer.Message
		}
		x.onFirstAnswer(m)
	}
	if e.journals { // at once, so that the end of the session includes the answer
		x.layer.recordAnswer(&x.Turn, len(body), response, func() (ken.Message, bool) { h := read(); return h.Answer.Message, h.OK })
	}
	events := x.layer.events != nil && !x.Turn.Incognito
	if e.onAnswer == nil && x.thread == nil && !events {
		return
	}
	x.layer.responseTasks.run(x.layer.catchPanics("what follows an answer", func() {
		h := read()
		if events {
			x.layer.reportAnswer(&x.Turn, &h)
		}
		if x.thread != nil && body != nil {
			x.layer.threads.resolve(x.thread)
		}
		if e.onAnswer != nil {
			ctx, cancel := context.WithTimeout(context.Background(), journalWait)
			_ = x.layer.recorder.flush(ctx) // after an error the listener is called too early
			cancel()
			x.layer.guarded("the answer's listener failed", func() { e.onAnswer(h) })
		}
	}))
}

// journalWait is how long the listener of an answer waits until the records of the turn are in the
// journal.
const journalWait = 5 * time.Second

// taskGroup runs the tasks that follow an answer, each in its own goroutine. The zero value is
// ready.
type taskGroup struct {
	mu      sync.Mutex // guards closed, and calls of running.Go against running.Wait
	closed  bool
	running sync.WaitGroup
}

// run starts f, unless close was called.
func (a *taskGroup) run(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.running.Go(f)
	}
}

// close rejects new tasks and waits for those that are running.
func (a *taskGroup) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.running.Wait()
}

// bodyTee keeps a copy of what a client reads of an answer. It passes the copy on once, when the
// client has read the body to its end or closed it. A read is delayed only by the copying.
type bodyTee struct {
	body io.ReadCloser
	// isComplete reports whether kept is a complete answer although the body continues. added is
	// the number of new bytes in kept. If isComplete is nil, only the body's end counts.
	isComplete func(kept []byte, added int) bool

	mu         sync.Mutex // a client may close the body while another goroutine reads it
	buf        bytes.Buffer
	overflowed bool              // the body was longer than the limit
	onDone     func(body []byte) // nil after it was called

	// keepsBeginning says that onDone gets the beginning of a body that was too long. Otherwise it
	// gets nil.
	keepsBeginning bool
}

// Read implements io.Reader.
func (t *bodyTee) Read(p []byte) (int, error) {
	n, err := t.body.Read(p)
	t.keep(p[:n], err != nil)
	return n, err
}

// Close implements io.Closer.
func (t *bodyTee) Close() error {
	t.keep(nil, true)
	return t.body.Close()
}

func (t *bodyTee) keep(p []byte, last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.onDone == nil {
		return
	}
	t.overflowed = t.overflowed || t.buf.Len()+len(p) > wire.MaxAnswerBytes
	if t.overflowed && !t.keepsBeginning {
		t.buf = bytes.Buffer{}
	}
	if !t.overflowed {
		t.buf.Write(p)
		last = last || t.isComplete != nil && t.isComplete(t.buf.Bytes(), len(p))
	}
	if !last {
		return
	}
	t.onDone(t.buf.Bytes())
	t.onDone, t.buf = nil, bytes.Buffer{}
}
