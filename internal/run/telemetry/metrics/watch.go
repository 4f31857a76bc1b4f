package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kenlayer/ken/internal/run/telemetry/usage"
)

// State holds one owner's figures. A nil field is unknown and left out.
type State struct {
	Records  *int           // claims and chunks of the repository
	Events   *uint64        // events in the log since its beginning
	Embedded *int           // records with a vector of the current embedder
	Jobs     map[string]int // by state

	Filed map[string]uint64 // exchanges filed in the background since the beginning, by outcome
}

// WatchAttention reads an owner's attention queue at every scrape, as Watch does: how
// many items wait for a person, by severity. It is a separate source because it reads
// claims, which is slower.
func (m *Metrics) WatchAttention(owner string, read func(context.Context) (map[string]int, error)) {
	m.watch("attention:"+clip(owner), owner, func(ctx context.Context, s *sources) ([]prometheus.Metric, error) {
		n, err := read(ctx)
		return counted(s.attention, clip(owner), n), err
	})
}

// watch adds a source. A nil Metrics has none.
func (m *Metrics) watch(name, owner string, read func(context.Context, *sources) ([]prometheus.Metric, error)) {
	if m != nil {
		m.sources.add(name, owner, func(ctx context.Context) ([]prometheus.Metric, error) { return read(ctx, m.sources) })
	}
}

// WatchUsage reads what keys used since the process started at every scrape. read limits
// how many keys, owners and models it tells apart.
func (m *Metrics) WatchUsage(read func() []usage.Row) {
	if m == nil {
		return
	}
	m.sources.mu.Lock()
	defer m.sources.mu.Unlock()
	m.sources.usage = read
}

// writeUsage writes usage as metrics; owner "" means all owners.
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
		if owner != "" && r.Owner != owner || seen[id] { // skip names that differ only beyond maxLabelBytes
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

// Work counts what a layer has done in the background since it was opened.
type Work struct {
	Written uint64 // records of turns and answers written to the journals and the receipts
	Lost    uint64 // records dropped because turns came too fast, or that could not be written
	Waiting int    // records not yet written

	Harvested uint64 // harvests done
	Retried   uint64 // harvests that failed and will be tried again
	Dead      uint64 // harvests that failed for good
}

// Watch reads an owner's figures at every scrape. read runs on a goroutine of the scrape.
// If it does not return within [SourceTimeout], or fails, the scrape continues without it
// and ken_source_up shows that. It is not called again before it has returned. At most
// [MaxValues] owners can be watched; a second Watch of an owner replaces the first. owner
// is the label's value.
func (m *Metrics) Watch(owner string, read func(context.Context) (State, error)) {
	m.watch("store:"+clip(owner), owner, func(ctx context.Context, s *sources) ([]prometheus.Metric, error) {
		st, err := read(ctx)
		return s.state(clip(owner), &st), err
	})
}

// WatchWork reads a layer's counts at every scrape.
func (m *Metrics) WatchWork(read func() Work) {
	m.watch("work", "", func(_ context.Context, s *sources) ([]prometheus.Metric, error) {
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

// breakerStates lists the values of ken_breaker_state's label.
var breakerStates = [...]string{"closed", "half-open", "open"}

// WatchBreaker reads a breaker's state at every scrape; read returns closed, half-open or
// open.
func (m *Metrics) WatchBreaker(name string, read func() string) {
	m.watch("breaker:"+clip(name), "", func(_ context.Context, s *sources) ([]prometheus.Metric, error) {
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

// state writes an owner's figures as metrics.
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

// counted writes one metric for each kind in n.
func counted(d *prometheus.Desc, owner string, n map[string]int) (out []prometheus.Metric) {
	for kind, n := range n {
		if len(out) < MaxValues && named(kind) {
			out = append(out, prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), owner, kind))
		}
	}
	return out
}
