package life

import (
	"sync/atomic"
	"time"
)

// clock is a settable clock. It is atomic because the layer's journal reads it in the
// background.
type clock struct{ ns atomic.Int64 }

func (c *clock) now() time.Time { return time.Unix(0, c.ns.Load()).UTC() }

func (c *clock) set(at time.Time) { c.ns.Store(at.UnixNano()) }

func (c *clock) pass(d time.Duration) { c.ns.Add(int64(d)) }
