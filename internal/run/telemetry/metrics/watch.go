package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kenlayer/ken/internal/run/telemetry/usage"
)

// State is what one owner's store says of itself. What is nil is not known, and
// left out.
type State struct {
	Records  *int           // claims and chunks of the repository
	Events   *uint64        // of the log, ever
	Embedded *int           // records that have a vector of the embedder in use
	Jobs     map[string]int // by state

	Filed map[string]uint64 // what was filed in the background, ever, by outcome
}

// WatchAttention has an owner's attention queue asked at every scrape, as Watch does:
// how many items wait for a person, by severity. It is a source of its own because it
// reads claims.
func (m *Metrics) WatchAttention(owner string, read func(context.Context) (map[string]int, error)) {
	if m == nil {
		return
	}
	s := m.sources
	s.add("attention:"+clip(owner), owner, func(ctx context.Context) ([]prometheus.Metric, error) {
		n, err := read(ctx)
		if err != nil {
			return nil, err
		}
		return counted(s.attention, clip(owner), n), nil
	})
}

// WatchUsage has what keys used since the process started asked for at every scrape. read
// bounds how many keys, owners and models it tells apart.
func (m *Metrics) WatchUsage(read func() []usage.Row) {
	if m == nil {
		return
	}
	m.sources.mu.Lock()
	defer m.sources.mu.Unlock()
	m.sources.usage = read
}

// writeUsage writes usage as metrics; owner "" is all of it.
func (s *sources) writeUsage(ch chan<- prometheus.Metric, owner string) {
	s.mu.Lock()
	read := s.usage
	s.mu.Unlock()
	if read == nil {
		return
	}
	seen := map[[3]string]bool{}
	for _, r := range read() {
		id := [3]string{clip(r.Key), clip(r.Owner), clip(r.Model)}
		if owner != "" && r.Owner != owner || seen[id] { // names that differ beyond what a label holds
			continue
		}
		seen[id] = true
		add := func(d *prometheus.Desc, n float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, n, append(id[:], labels...)...)
		}
		add(s.keyRequests, float64(r.Requests))
		for _, c := range [...]struct {
			kind string
			n    int64
		}{{"input", r.Input}, {"output", r.Output}, {"cached", r.Cached}} {
			if c.n > 0 {
				add(s.keyTokens, float64(c.n), c.kind)
			}
		}
		if r.Cost > 0 {
			add(s.keyCost, r.Cost)
		}
	}
}

// Work is what a layer says of what it does behind the turns' backs, since it was
// opened.
type Work struct {
	Written uint64 // records of turns and answers that reached the journals and the receipts
	Lost    uint64 // records that were left out, because turns came too fast
	Waiting int    // records that are still to be written

	Harvested uint64 // harvests that were done
	Retried   uint64 // that failed and are due again
	Dead      uint64 // that were given up on
}

// Watch has an owner's store asked at every scrape. read runs on a goroutine of the
// scrape; when it has not returned within [SourceTimeout], or errs, the scrape goes
// on without, and ken_source_up says so. It is not called again before it has
// returned. At most [MaxValues] owners can be watched; a second Watch of one
// replaces the first. Its owner is the label's value.
func (m *Metrics) Watch(owner string, read func(context.Context) (State, error)) {
	if m == nil {
		return
	}
	s := m.sources
	s.add("store:"+clip(owner), owner, func(ctx context.Context) ([]prometheus.Metric, error) {
		st, err := read(ctx)
		if err != nil {
			return nil, err
		}
		return s.state(clip(owner), &st), nil
	})
}

// WatchWork has a layer asked at every scrape for what it did.
func (m *Metrics) WatchWork(read func() Work) {
	if m == nil {
		return
	}
	s := m.sources
	s.add("work", "", func(context.Context) ([]prometheus.Metric, error) {
		w := read()
		counter := func(d *prometheus.Desc, n uint64, label string) prometheus.Metric {
			return prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), label)
		}
		return []prometheus.Metric{
			counter(s.journal, w.Written, "written"), counter(s.journal, w.Lost, "lost"),
			counter(s.harvests, w.Harvested, "done"), counter(s.harvests, w.Retried, "retried"), counter(s.harvests, w.Dead, "dead"),
			prometheus.MustNewConstMetric(s.waiting, prometheus.GaugeValue, float64(max(w.Waiting, 0))),
		}, nil
	})
}

// breakerStates are the values of ken_breaker_state's label.
var breakerStates = [...]string{"closed", "half-open", "open"}

// WatchBreaker has a breaker asked at every scrape; read returns closed, half-open
// or open.
func (m *Metrics) WatchBreaker(name string, read func() string) {
	if m == nil {
		return
	}
	s := m.sources
	s.add("breaker:"+clip(name), "", func(context.Context) ([]prometheus.Metric, error) {
		now := read()
		out := make([]prometheus.Metric, 0, len(breakerStates))
		for _, state := range breakerStates {
			is := 0.0
			if state == now {
				is = 1
			}
			out = append(out, prometheus.MustNewConstMetric(s.breaker, prometheus.GaugeValue, is, clip(name), state))
		}
		return out, nil
	})
}

// state writes a store's numbers as metrics.
func (s *sources) state(owner string, st *State) (out []prometheus.Metric) {
	add := func(d *prometheus.Desc, kind prometheus.ValueType, v float64) {
		out = append(out, prometheus.MustNewConstMetric(d, kind, v, owner))
	}
	if st.Records != nil {
		add(s.records, prometheus.GaugeValue, float64(*st.Records))
	}
	if st.Events != nil {
		add(s.events, prometheus.CounterValue, float64(*st.Events))
	}
	if st.Embedded != nil {
		add(s.embedded, prometheus.GaugeValue, float64(*st.Embedded))
	}
	for outcome, n := range st.Filed {
		if named(outcome) {
			out = append(out, prometheus.MustNewConstMetric(s.filed, prometheus.CounterValue, float64(n), owner, outcome))
		}
	}
	return append(out, counted(s.jobs, owner, st.Jobs)...)
}

// counted writes how many there are of each kind.
func counted(d *prometheus.Desc, owner string, n map[string]int) (out []prometheus.Metric) {
	for kind, n := range n {
		if len(out) < MaxValues && named(kind) {
			out = append(out, prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), owner, kind))
		}
	}
	return out
}
