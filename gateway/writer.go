package gateway

import (
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// writer is a response on its way to the client. It gives each write its own time limit: a
// client that reads nothing is dropped, and a stream may run as long as it flows. It also
// records facts for the log.
type writer struct {
	http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
	now     func() time.Time

	early  bool        // the headers are sent at once, because it is not known when the body comes
	unread func() bool // whether some of the request may be unread; nil: it is none of the writer's concern
	status int
	first  time.Time // when the answer began
	conn   net.Conn  // once it was taken over

	written int64 // bytes of the answer's body
}

func newWriter(w http.ResponseWriter, stall time.Duration, now func() time.Time) *writer {
	rw := &writer{ResponseWriter: w, control: http.NewResponseController(w), stall: stall, now: now}
	// The connection may have the last request's limit.
	_ = rw.control.SetWriteDeadline(time.Time{}) // a writer that has no such limit doesn't need it lifted
	return rw
}

// limitRead gives a body that may never be read a time limit, because net/http reads the
// rest of it.
func (w *writer) limitRead(r *http.Request) {
	if r.ContentLength != 0 {
		_ = w.control.SetReadDeadline(time.Now().Add(w.stall))
	}
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *writer) limit() {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.stall))
}

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(status int) {
	if status >= 200 && w.status == 0 {
		w.status, w.first = status, w.now()
	}
	w.limit()
	if status >= 200 && w.unread != nil && w.unread() {
		// net/http throws away what is left of a request that is read in full duplex, and
		// then fails to read the next one: it has to know that there is none.
		w.Header().Set("Connection", "close")
	}
	w.ResponseWriter.WriteHeader(status)
	if w.early && status >= 200 {
		_ = w.control.Flush() // the next write finds out what is wrong
	}
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status, w.first = http.StatusOK, w.now()
	}
	w.limit()
	n, err := w.ResponseWriter.Write(p)
	w.written += int64(n)
	return n, err
}

// FlushError is for http.ResponseController. It sends the header, if nothing has before.
func (w *writer) FlushError() error {
	if w.status == 0 {
		w.status, w.first = http.StatusOK, w.now()
	}
	return w.control.Flush()
}

// requestBody is a request's body on its way in. It gives each read a time limit, records
// the error that ended it, and refuses to grow beyond its limit. http.Transport may still
// read it after the upstream has answered or failed.
type requestBody struct {
	io.ReadCloser
	control *http.ResponseController
	stall   time.Duration
	left    int64
	broken  atomic.Pointer[error] // what ended it, other than io.EOF
	ended   atomic.Bool
}

// err returns the error that ended the body early, nil for none.
func (b *requestBody) err() error {
	if err := b.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// errTooLong ends the reading of a body that is beyond gateway.body_bytes.
var errTooLong = errors.New("the request's body is too long")

// Read implements io.Reader.
func (b *requestBody) Read(p []byte) (int, error) {
	if err := b.err(); err != nil {
		return 0, err
	}
	_ = b.control.SetReadDeadline(time.Now().Add(b.stall))
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		err = errTooLong
	}
	switch {
	case err == io.EOF:
		// What net/http reads from here on is waiting for the client to go away, which
		// may take as long as it likes.
		_ = b.control.SetReadDeadline(time.Time{})
		b.ended.Store(true)
	case err != nil: // what net/http reads from here on is the rest, to throw it away
		broken := err // the pointer to err would cost every read an allocation
		b.broken.Store(&broken)
	}
	return n, err
}

// upstreamBody is the upstream's body on its way to the client. It records how it ended.
type upstreamBody struct {
	io.ReadCloser
	c      *call
	stream func() // ends the count of streams; nil before the first byte
	ended  sync.Once
}

// Read implements io.Reader.
func (a *upstreamBody) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if n > 0 && a.stream == nil {
		a.stream = a.c.g.o.Metrics.Stream()
		a.c.client.FirstByte()
	}
	if a.c.meter != nil {
		a.c.meter.add(p[:n])
	}
	if err != nil {
		a.end(err)
	}
	return n, err
}

// Close implements io.Closer.
func (a *upstreamBody) Close() error {
	a.end(io.EOF)
	return a.ReadCloser.Close()
}

func (a *upstreamBody) end(err error) {
	a.ended.Do(func() {
		if a.stream != nil {
			a.stream()
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		if err != nil {
			a.c.err = err
			if a.c.r.Context().Err() == nil {
				a.c.g.o.Metrics.UpstreamError("cut")
			}
		}
	})
}
