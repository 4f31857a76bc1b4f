package gateway

import (
	"bytes"
	"errors"
	"io"
	"runtime/debug"
	"strings"
	"sync/atomic"
)

// memoryBudget limits the memory of all bodies that are being inspected. left becomes negative if
// the limit is lowered while more is in use.
type memoryBudget struct {
	left    atomic.Int64
	freeing atomic.Bool
}

func (r *memoryBudget) take(n int64) bool {
	for {
		left := r.left.Load()
		if left < n {
			return false
		}
		if r.left.CompareAndSwap(left, left-n) {
			return true
		}
	}
}

// Reasons why a model call is passed on without inspection. "" means that it is inspected, or that
// the client asked for this. See also middleware.Exchange.Untouched.
const (
	tooMany    = "memory"   // gateway.look_bytes are in use
	tooLarge   = "length"   // the body is longer than maxInspected
	compressed = "encoding" // the body is compressed
)

// maxInspected is the maximum size of a body that is inspected: 32 MiB, well above what any model
// accepts.
const maxInspected = 32 << 20

// initialRead is the maximum memory that is reserved before any bytes arrive, because a client may
// announce a body that it never sends.
const initialRead = 1 << 20

// messageBytes is the approximate memory of a parsed message, even a short one.
const messageBytes = 1 << 10

// skipReason returns the reason for not reading the body at all; "" if it may be read.
func (c *call) skipReason() string {
	switch encoding := c.r.Header.Get("Content-Encoding"); {
	case c.body == nil:
		return ""
	case encoding != "" && !strings.EqualFold(encoding, "identity"):
		return compressed
	case c.r.ContentLength > maxInspected:
		return tooLarge
	}
	return ""
}

// reserve reserves n more bytes until the call ends. It returns false if there is not enough
// memory.
func (c *call) reserve(n int) bool {
	if !c.g.bodyMemory.take(int64(n)) {
		return false
	}
	c.reserved += int64(n)
	return true
}

// largeBody is the size in bytes from which memory is returned to the system at once.
const largeBody = 8 << 20

// release returns reserved memory to the budget. After a large body it also returns memory to the
// system, which would otherwise take minutes.
func (g *Gateway) release(held int64) {
	g.bodyMemory.left.Add(held)
	if held < largeBody || !g.bodyMemory.freeing.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer g.bodyMemory.freeing.Store(false)
		debug.FreeOSMemory()
	}()
}

// readBody reads the body into whole. If the body is longer than maxInspected, or there is no
// memory for it, the body is passed on as it arrives.
func (c *call) readBody() *fault {
	if c.isWhole {
		return nil
	}
	size := bytes.MinRead
	if n := c.r.ContentLength; n > 0 {
		size += int(min(n, initialRead))
	}
	var b []byte
	for len(b) <= maxInspected {
		if len(b) == cap(b) {
			if !c.reserve(size - cap(b)) {
				c.passBody(b, tooMany)
				return nil
			}
			b = append(make([]byte, 0, size), b...)
			if size = 2 * size; c.r.ContentLength > 0 {
				size = int(c.r.ContentLength) + bytes.MinRead
			}
			size = max(min(size, maxInspected+bytes.MinRead), cap(b)+bytes.MinRead)
		}
		n, err := c.body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if errors.Is(err, io.EOF) {
			c.setBody(b)
			return nil
		}
		if err != nil {
			return c.bodyFault(err)
		}
	}
	c.passBody(b, tooLarge)
	return nil
}

// passBody passes the body on as it arrives, after the part that was read. why is the reason.
func (c *call) passBody(begun []byte, why string) {
	c.untouched = why
	c.r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(begun), c.body), c.body}
}
