package gateway

import (
	"bytes"
	"errors"
	"io"
	"runtime/debug"
	"strings"
	"sync/atomic"
)

// memoryBudget limits the memory of all bodies that are being inspected. left is below zero
// after the limit was lowered while they held more.
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

// Why a model call is passed on without being looked into; "" when it is not, or when
// the client wants it so.
const (
	tooMany    = "memory"   // gateway.look_bytes are taken
	tooLarge   = "length"   // it has more than maxLook
	compressed = "encoding" // it is compressed
	tooBusy    = "turns"    // retrieval.at_once turns are composed
)

// maxInspected bounds the bodies that are looked into: 32 MiB, well above what any model
// reads.
const maxInspected = 32 << 20

// initialRead is the most memory to reserve before anything has arrived: a client may
// announce a body that it never sends.
const initialRead = 1 << 20

// messageBytes is about the memory that a parsed message takes, however short it is.
const messageBytes = 1 << 10

// skipReason returns the reason not to read the body at all, "" for none.
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

// reserve reserves n more bytes until the call is done.
func (c *call) reserve(n int) bool {
	if !c.g.bodyMemory.take(int64(n)) {
		return false
	}
	c.reserved += int64(n)
	return true
}

// largeBody is a body, in bytes, after which it is worth to give memory back at once.
const largeBody = 8 << 20

// release returns reserved memory. After a large body it also returns memory to the system,
// which otherwise would take minutes.
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

// readBody reads the body into whole. A body that is longer than maxInspected, or for which
// there is no memory, is passed on as it comes.
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

// passBody has the body passed on as it comes, after the part that was read.
func (c *call) passBody(begun []byte, why string) {
	c.untouched = why
	c.r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(begun), c.body), c.body}
}
