package gateway

import (
	"errors"
	"io"
	"sync"
)

// answer is the upstream's body on its way to the client. It notes how it ended.
type answer struct {
	io.ReadCloser
	c      *call
	stream func() // ends the count of streams; nil before the first byte
	ended  sync.Once
}

// Read implements io.Reader.
func (a *answer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if n > 0 && a.stream == nil {
		a.stream = a.c.g.o.Metrics.Stream()
		a.c.client.FirstByte()
	}
	if a.c.meter != nil {
		a.c.meter.take(p[:n])
	}
	if err != nil {
		a.end(err)
	}
	return n, err
}

// Close implements io.Closer.
func (a *answer) Close() error {
	a.end(io.EOF)
	return a.ReadCloser.Close()
}

func (a *answer) end(err error) {
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
