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

// vector is a metric with one bounded label, of counters or of observers. Those that were used
// before are found without a lock.
type vector[M any] struct {
	bounded
	vec interface{ WithLabelValues(...string) M }
	by  sync.Map // value → M
}

func (v *vector[M]) with(value string) M {
	if have, ok := v.by.Load(value); ok {
		return have.(M)
	}
	value = v.value(value)
	one := v.vec.WithLabelValues(value)
	v.by.Store(value, one)
	return one
}

type (
	counters   = vector[prometheus.Counter]
	histograms = vector[prometheus.Observer]
)
