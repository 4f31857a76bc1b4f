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

// responseObserver hears the answer of one exchange.
type responseObserver struct {
	x        *Exchange
	heard    func(Heard)
	encoding string
	journals bool
}

// observe is told the body as far as the client read it, nil when there is none that
// can be read, and leaves the rest to a goroutine of its own.
func (e *responseObserver) observe(body []byte) {
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
	x.layer.responseTasks.run(x.layer.survives("what follows an answer", func() {
		h := read()
		if x.thread != nil && body != nil {
			x.layer.threads.settle(x.thread)
		}
		if e.heard != nil {
			e.awaitJournal()
			e.notify(h)
		}
	}))
}

// lastWait bounds how long whoever hears an answer waits for the journal to have
// what led to it.
const lastWait = 5 * time.Second

// awaitJournal returns once what the turn left, its receipt included, is written.
func (e *responseObserver) awaitJournal() {
	ctx, cancel := context.WithTimeout(context.Background(), lastWait)
	defer cancel()
	_ = e.x.layer.recorder.flush(ctx) // an error: it takes longer, and whoever hears it hears it earlier
}

// notify calls the listener, whose panic must not cost the process.
func (e *responseObserver) notify(h Heard) {
	defer func() {
		if p := recover(); p != nil {
			e.x.layer.o.Log.Error("the answer's listener failed", "panic", p)
		}
	}()
	e.heard(h)
}

// taskGroup runs what follows an answer, each on a goroutine of its own. The zero
// value is ready.
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

// close refuses what comes later and waits for what is under way.
func (a *taskGroup) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.running.Wait()
}

// maxAnswerBytes bounds the answers that a tap keeps, compressed or not: a longer
// one is journaled when it comes back in the next request, or not at all.
const maxAnswerBytes = 4 << 20

// bodyTee keeps what a client reads of an answer, and hands it on once, when the
// client has read it to its end or closed it. It adds nothing to the time of a
// read but a copy in memory.
type bodyTee struct {
	body io.ReadCloser
	// whole reports that the answer is whole, although the body goes on: of what was
	// kept, added bytes are new. Nil never does.
	whole func(kept []byte, added int) bool

	mu   sync.Mutex // a client may close what another of its goroutines reads
	kept bytes.Buffer
	full bool              // there was more than it may keep
	done func(body []byte) // nil once it was called; it is given nil for a body that was too long
}

func encodingOf(resp *http.Response) string {
	return strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))
}

func compressed(encoding string) bool { return encoding != "" && encoding != "identity" }

// readable reports the encodings that a tap can take off. http.Transport takes
// gzip off by itself unless the client asked for it.
func readable(encoding string) bool {
	switch encoding {
	case "gzip", "x-gzip", "deflate":
		return true
	}
	return !compressed(encoding)
}

// decoded takes the encoding off a body, as far as it goes: of one that broke off,
// what came is returned. One that grows beyond all bounds is nothing.
func decoded(body []byte, encoding string) []byte {
	out := unpacked(body, encoding, maxAnswerBytes+1)
	if len(out) > maxAnswerBytes {
		return nil
	}
	return out
}

// beginning is decoded for as much of a body as says whose it is.
func beginning(body []byte, encoding string) []byte { return unpacked(body, encoding, 64<<10) }

// unpacked takes the encoding off as much of a body as makes limit bytes. One that
// has none is returned as it is.
func unpacked(body []byte, encoding string, limit int64) []byte {
	if !compressed(encoding) {
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
	out, _ := io.ReadAll(io.LimitReader(z, limit)) // an error: it broke off
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
	if t.done == nil {
		return
	}
	if t.kept.Len()+len(p) > maxAnswerBytes {
		t.full, t.kept = true, bytes.Buffer{}
	}
	if !t.full {
		t.kept.Write(p)
		last = last || t.whole != nil && t.whole(t.kept.Bytes(), len(p))
	}
	if !last {
		return
	}
	var body []byte
	if !t.full {
		body = t.kept.Bytes()
	}
	t.done(body)
	t.done, t.kept = nil, bytes.Buffer{}
}

// endDetector finds the end of a Responses answer before the response is over. A client
// may go on from an answer as soon as it knows it whole, while the connection is
// still to be closed, and what it goes on from must be known by then.
type endDetector struct {
	length int64 // of the body, below 0 when it is not known
	near   bool  // a last event has begun
	tries  int
}

// maxTries bounds how often a body without a length is looked at as a whole.
const maxTries = 4

// Last events of a stream, at the beginning of a line: where no text of a model's
// can stand.
var lastEvents = [][]byte{[]byte("\nevent: response.completed"), []byte("\nevent: response.incomplete")}

// reached reports whether what was kept is whole, added bytes of it for the first
// time.
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
	if !e.near {
		for _, event := range lastEvents {
			e.near = e.near || bytes.Contains(kept[max(0, len(kept)-added-len(event)):], event)
		}
	}
	return e.near && (bytes.HasSuffix(kept, []byte("\n\n")) || bytes.HasSuffix(kept, []byte("\r\n\r\n")))
}
