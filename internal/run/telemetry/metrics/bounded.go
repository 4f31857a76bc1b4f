package metrics

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
)

// MaxValues bounds the values of a label that come from outside. What comes after
// the first so many is counted under [Other].
const MaxValues = 32

// Other is the label's value for what has none of its own.
const Other = "other"

// maxLabelBytes bounds a label's value; no model's or route's name is longer.
const maxLabelBytes = 96

// bounded lets the first MaxValues values of a label through.
type bounded struct {
	mu   sync.RWMutex // guards seen
	seen map[string]bool
}

// value returns v itself or Other. A value that is no proper name, such as one that
// is too long, takes no place.
func (b *bounded) value(v string) string {
	b.mu.RLock()
	known, full := b.seen[v], len(b.seen) >= MaxValues
	b.mu.RUnlock()
	switch {
	case known:
		return v
	case full || !named(v):
		return Other
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.seen[v] && len(b.seen) >= MaxValues { // others were faster
		return Other
	}
	if b.seen == nil {
		b.seen = map[string]bool{}
	}
	v = strings.Clone(v) // it may be a part of a whole request
	b.seen[v] = true
	return v
}

func named(v string) bool { return v != "" && len(v) <= maxLabelBytes && utf8.ValidString(v) }

// clip is for values that the program itself gives.
func clip(v string) string {
	v = strings.ToValidUTF8(v, "")
	if len(v) > maxLabelBytes {
		v = strings.ToValidUTF8(v[:maxLabelBytes], "")
	}
	return v
}

// counters are a counter with one bounded label. Those that were used before are
// found without a lock.
type counters struct {
	bounded
	vec *prometheus.CounterVec
	by  sync.Map // value → prometheus.Counter
}

func (c *counters) add(value string, n float64) {
	if have, ok := c.by.Load(value); ok {
		have.(prometheus.Counter).Add(n)
		return
	}
	value = c.value(value)
	one := c.vec.WithLabelValues(value)
	c.by.Store(value, one)
	one.Add(n)
}

// histograms are a histogram with one bounded label.
type histograms struct {
	bounded
	vec *prometheus.HistogramVec
	by  sync.Map // value → prometheus.Observer
}

func (h *histograms) observe(value string, x float64) {
	if have, ok := h.by.Load(value); ok {
		have.(prometheus.Observer).Observe(x)
		return
	}
	value = h.value(value)
	one := h.vec.WithLabelValues(value)
	h.by.Store(value, one)
	one.Observe(x)
}
