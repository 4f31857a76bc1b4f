package metrics

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
)

// MaxValues is the largest number of values of a label that comes from outside. Further values
// are counted under [Other].
const MaxValues = 32

// Other is the label value for everything beyond the limit.
const Other = "other"

// maxLabelBytes limits a label value; no model's or route's name is longer.
const maxLabelBytes = 96

// bounded admits the first MaxValues values of a label.
type bounded struct {
	mu   sync.RWMutex // guards seen
	seen map[string]bool
}

// value returns v if it is admitted, else Other. An invalid value, such as one that is too
// long, returns Other and does not count towards MaxValues.
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
	if !b.seen[v] && len(b.seen) >= MaxValues { // another goroutine filled it meanwhile
		return Other
	}
	if b.seen == nil {
		b.seen = map[string]bool{}
	}
	v = strings.Clone(v) // v may be a substring of a large request
	b.seen[v] = true
	return v
}

func named(v string) bool { return v != "" && len(v) <= maxLabelBytes && utf8.ValidString(v) }

// clip shortens a value that the program itself provides.
func clip(v string) string {
	v = strings.ToValidUTF8(v, "")
	if len(v) > maxLabelBytes {
		v = strings.ToValidUTF8(v[:maxLabelBytes], "")
	}
	return v
}

// vector is a metric with one bounded label, of counters or of observers. Known values are
// found without a lock.
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
