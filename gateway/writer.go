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

// writer is a response to the client. It gives each write its own time limit: a client that does
// not read is dropped, but a stream may last as long as the client reads. It also records facts for
// the log.
type writer struct {
	http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
	now     func() time.Time

	early  bool        // send the headers at once, because it is unknown when the body begins
	unread func() bool // reports whether a part of the request may be unread; nil means that this does not matter
	status int
	first  time.Time // when the answer began; zero before
	conn   net.Conn  // set after Hijack

	written int64 // bytes of the answer's body
}

func newWriter(w http.ResponseWriter, stall time.Duration, now func() time.Time) *writer {
	rw := &writer{ResponseWriter: w, control: http.NewResponseController(w), stall: stall, now: now}
	// The connection may still have the previous request's limit.
	_ = rw.control.SetWriteDeadline(time.Time{}) // not every writer supports deadlines
	return rw
}

// limitRead sets a time limit for reading the body, because net/http reads an unread body to its
// end.
func (w *writer) limitRead(r *http.Request) {
	if r.ContentLength != 0 {
		_ = w.control.SetReadDeadline(time.Now().Add(w.stall))
	}
}

// Unwrap supports http.ResponseController.
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
		// After full duplex, net/http discards the unread part of the request and then fails to
		// read the next one. With this header it expects no next one.
		w.Header().Set("Connection", "close")
	}
	w.ResponseWriter.WriteHeader(status)
	if w.early && status >= 200 {
		_ = w.control.Flush() // the next write returns the error
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

// FlushError supports http.ResponseController. It sends the header if that was not sent yet.
func (w *writer) FlushError() error {
	if w.status == 0 {
		w.status, w.first = http.StatusOK, w.now()
	}
	return w.control.Flush()
}

// requestBody is the body of a client's request. It gives each read a time limit, records the error
// that ended it, and fails beyond its size limit. http.Transport may still read it after the
// upstream has answered or failed.
type requestBody struct {
	io.ReadCloser
	control *http.ResponseController
	stall   time.Duration
	left    int64
	broken  atomic.Pointer[error] // the error that ended it; nil for io.EOF
	ended   atomic.Bool
}

// err returns the error that ended the body early; nil if there is none.
func (b *requestBody) err() error {
	if err := b.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// errTooLong is the read error of a body that is longer than gateway.body_bytes.
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
		// From here on, net/http reads to notice that the client leaves, which may take any time.
		_ = b.control.SetReadDeadline(time.Time{})
		b.ended.Store(true)
	case err != nil: // from here on, net/http reads the rest in order to discard it
		broken := err // a pointer to err itself would cost an allocation in every read
		b.broken.Store(&broken)
	}
	return n, err
}

// upstreamBody is the body of the upstream's answer. It records how the body ended.
type upstreamBody struct {
	io.ReadCloser
	c      *call
	stream func() // ends the count of open streams; nil before the first byte
	ended  sync.Once
}

// Read implements io.Reader.
func (a *upstreamBody) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if n > 0 && a.stream == nil {
		a.stream = a.c.g.o.beside.Metrics.Stream()
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
				a.c.g.o.beside.Metrics.UpstreamError("cut")
			}
		}
	})
}
