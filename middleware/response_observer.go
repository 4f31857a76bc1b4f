package middleware

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// responseObserver observes the answer of one exchange.
type responseObserver struct {
	x        *Exchange
	onAnswer func(ObservedAnswer)
	encoding string
	journals bool
}

// observe receives the body as far as the client read it; nil if there is none that can be
// read. It leaves most of the work to a goroutine of its own.
func (e *responseObserver) observe(body []byte) {
	x := e.x
	read := sync.OnceValue(func() ObservedAnswer {
		a, ok := wire.ParseAnswer(x.dialect, decodeBody(body, e.encoding))
		return ObservedAnswer{Answer: a, OK: ok}
	})
	response := ""
	if x.thread != nil && body != nil {
		response = wire.AnswerID(decodeBeginning(body, e.encoding))
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
func (e *responseObserver) notify(h ObservedAnswer) {
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

// maxAnswerBytes bounds the answers that a bodyTee keeps, compressed or not. A longer answer is
// journaled when it comes back in the next request, or not at all.
const maxAnswerBytes = 4 << 20

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

func encodingOf(resp *http.Response) string {
	return strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))
}

func isEncoded(encoding string) bool { return encoding != "" && encoding != "identity" }

// canDecode reports whether an encoding can be decoded. http.Transport decodes gzip by itself
// unless the client asked for it.
func canDecode(encoding string) bool {
	switch encoding {
	case "gzip", "x-gzip", "deflate":
		return true
	}
	return !isEncoded(encoding)
}

// decodeBody decodes a body as far as it came. A body that grows too long gives nil.
func decodeBody(body []byte, encoding string) []byte {
	out := decodePrefix(body, encoding, maxAnswerBytes+1)
	if len(out) > maxAnswerBytes {
		return nil
	}
	return out
}

// decodeBeginning decodes as much of a body as is needed for the answer's id.
func decodeBeginning(body []byte, encoding string) []byte {
	return decodePrefix(body, encoding, 64<<10)
}

// decodePrefix decodes at most limit bytes of a body. A body without an encoding is returned as
// it is.
func decodePrefix(body []byte, encoding string, limit int64) []byte {
	if !isEncoded(encoding) {
		return body
	}
	var z io.Reader
	var err error
	if encoding == "deflate" {
		// The header that the name stands for is missing as often as not.
		if z, err = zlib.NewReader(bytes.NewReader(body)); err != nil {
			z, err = flate.NewReader(bytes.NewReader(body)), nil
		}
	} else {
		z, err = gzip.NewReader(bytes.NewReader(body))
	}
	if err != nil {
		return nil
	}
	out, _ := io.ReadAll(io.LimitReader(z, limit)) // an error means that it broke off
	return out
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
	if t.buf.Len()+len(p) > maxAnswerBytes {
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

// endDetector finds the end of a Responses answer before the response is over. A client may
// continue from an answer as soon as it has it, while the connection is still open, and the
// layer must know the answer by then.
type endDetector struct {
	length       int64 // of the body; below 0 if it is unknown
	sawLastEvent bool  // a last event has begun
	tries        int
}

// maxTries bounds how often a body without a length is parsed whole.
const maxTries = 4

// lastEvents are last events of a stream at the beginning of a line, where no text of a model
// can stand.
var lastEvents = [][]byte{[]byte("\nevent: response.completed"), []byte("\nevent: response.incomplete")}

// reached reports whether the kept bytes are complete, of which added bytes are new.
func (e *endDetector) reached(kept []byte, added int) bool {
	switch {
	case int64(len(kept)) == e.length:
		return true
	case e.length >= 0 || added == 0:
		return false
	}
	last := kept[len(kept)-1]
	if kept[0] == '{' {
		if last != '}' && last != '\n' || e.tries == maxTries {
			return false
		}
		e.tries++
		return json.Valid(kept)
	}
	if !e.sawLastEvent {
		for _, event := range lastEvents {
			e.sawLastEvent = e.sawLastEvent || bytes.Contains(kept[max(0, len(kept)-added-len(event)):], event)
		}
	}
	return e.sawLastEvent && (bytes.HasSuffix(kept, []byte("\n\n")) || bytes.HasSuffix(kept, []byte("\r\n\r\n")))
}
