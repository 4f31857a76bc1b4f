package middleware

import (
	"context"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// ear hears the answer of one exchange.
type ear struct {
	x        *Exchange
	heard    func(Heard)
	encoding string
	journals bool
}

// after is told the body as far as the client read it, nil when there is none that
// can be read, and leaves the rest to a goroutine of its own.
func (e *ear) after(body []byte) {
	x := e.x
	read := sync.OnceValue(func() Heard {
		a, ok := wire.ParseAnswer(x.dialect, decoded(body, e.encoding))
		return Heard{Answer: a, OK: ok}
	})
	response := ""
	if x.thread != nil && body != nil {
		response = wire.AnswerID(beginning(body, e.encoding))
		x.layer.threads.put(x.thread, response, read)
	}
	if x.opened != nil && len(body) > 0 { // at once: the client may go on at once
		var m *ken.Message
		if h := read(); h.OK {
			m = &h.Answer.Message
		}
		x.opened(m)
	}
	if e.journals { // at once, so that whoever ends the session next ends it with the answer
		x.layer.answered(&x.Turn, len(body), response, func() (ken.Message, bool) { h := read(); return h.Answer.Message, h.OK })
	}
	if e.heard == nil && x.thread == nil {
		return
	}
	x.layer.afterwards.run(x.layer.survives("what follows an answer", func() {
		h := read()
		if x.thread != nil && body != nil {
			x.layer.threads.settle(x.thread)
		}
		if e.heard != nil {
			e.wait()
			e.tell(h)
		}
	}))
}

// lastWait bounds how long whoever hears an answer waits for the journal to have
// what led to it.
const lastWait = 5 * time.Second

// wait returns once what the turn left, its receipt included, is written.
func (e *ear) wait() {
	ctx, cancel := context.WithTimeout(context.Background(), lastWait)
	defer cancel()
	_ = e.x.layer.recorder.flush(ctx) // an error: it takes longer, and whoever hears it hears it earlier
}

// tell calls the listener, whose panic must not cost the process.
func (e *ear) tell(h Heard) {
	defer func() {
		if p := recover(); p != nil {
			e.x.layer.o.Log.Error("the answer's listener failed", "panic", p)
		}
	}()
	e.heard(h)
}

// afterwards runs what follows an answer, each on a goroutine of its own. The zero
// value is ready.
type afterwards struct {
	mu      sync.Mutex // guards closed, and Go against Wait
	closed  bool
	running sync.WaitGroup
}

// run starts f, unless close was called.
func (a *afterwards) run(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.running.Go(f)
	}
}

// close refuses what comes later and waits for what is under way.
func (a *afterwards) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.running.Wait()
}
