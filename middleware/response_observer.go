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

// observe receives the body as far as the client read it; nil if there is none that can be
// read. It leaves most of the work to a goroutine of its own.
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
	if x.onFirstAnswer != nil && len(body) > 0 { // at once, since the client may go on at once
		var m *ken.Message
		if h := read(); h.OK {
			m = &h.Answer.Message
		}
		x.onFirstAnswer(m)
	}
	if e.journals { // at once, so that an end of the session includes the answer
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
			e.awaitJournal()
			e.notify(h)
		}
	}))
}

// journalWait bounds how long the listener of an answer waits until the journal has what led to
// it.
const journalWait = 5 * time.Second

// awaitJournal returns once what the turn left, including its receipt, is written.
func (e *responseObserver) awaitJournal() {
	ctx, cancel := context.WithTimeout(context.Background(), journalWait)
	defer cancel()
	_ = e.x.layer.recorder.flush(ctx) // after an error the listener is called early
}

// notify calls the listener. A panic of the listener is logged.
func (e *responseObserver) notify(h wire.Observed) {
	defer func() {
		if p := recover(); p != nil {
			e.x.layer.o.Log.Error("the answer's listener failed", "panic", p)
		}
	}()
	e.onAnswer(h)
}

// taskGroup runs what follows an answer, each task on a goroutine of its own. The zero value is
// ready.
type taskGroup struct {
	mu      sync.Mutex // guards closed, and Go against Wait
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

// close refuses new tasks and waits for those that run.
func (a *taskGroup) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.running.Wait()
}

// bodyTee keeps what a client reads of an answer, and hands it on once, when the client has
// read it to its end or closed it. A read takes no longer than before, except for a copy in
// memory.
type bodyTee struct {
	body io.ReadCloser
	// isComplete reports that the answer is complete although the body goes on. added is how
	// many bytes of kept are new. Nil means never.
	isComplete func(kept []byte, added int) bool

	mu         sync.Mutex // a client may close what another of its goroutines reads
	buf        bytes.Buffer
	overflowed bool              // the body was longer than it may keep
	onDone     func(body []byte) // nil once it was called; its argument is nil for a body that was too long
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
	if t.buf.Len()+len(p) > wire.MaxAnswerBytes {
		t.overflowed, t.buf = true, bytes.Buffer{}
	}
	if !t.overflowed {
		t.buf.Write(p)
		last = last || t.isComplete != nil && t.isComplete(t.buf.Bytes(), len(p))
	}
	if !last {
		return
	}
	var body []byte
	if !t.overflowed {
		body = t.buf.Bytes()
	}
	t.onDone(body)
	t.onDone, t.buf = nil, bytes.Buffer{}
}
