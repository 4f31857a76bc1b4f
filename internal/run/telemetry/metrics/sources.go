package metrics

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
)

// SourceTimeout is how long a scrape waits for its sources, which run in parallel.
const SourceTimeout = time.Second

// sources is a collector that reads other components at every scrape.
type sources struct {
	descs                                                                                                                       []*prometheus.Desc // these:
	records, events, embedded, jobs, filed, attention, journal, waiting, harvests, breaker, up, keyRequests, keyTokens, keyCost *prometheus.Desc

	mu    sync.Mutex // guards the fields below
	list  []*source
	usage func() []usage.Row // nil until WatchUsage
}

// maxSources limits the sources: two for each of MaxValues owners, and a few more.
const maxSources = 2*MaxValues + 8

type source struct {
	name  string
	owner string // owner of the source's figures; "" for the whole process
	read  func(context.Context) ([]prometheus.Metric, error)

	busy atomic.Bool // a scrape is reading it
}

func newSources(m *Metrics) *sources {
	var all []*prometheus.Desc
	desc := func(kind, name, help string, labels ...string) *prometheus.Desc {
		m.note(name, kind, help, labels)
		all = append(all, prometheus.NewDesc(name, help, labels, nil))
		return all[len(all)-1]
	}
	s := &sources{
		records:  desc("gauge", "ken_records", "Claims and chunks of the repository in a store.", "owner"),
		events:   desc("counter", "ken_log_events_total", "Events of a store's log.", "owner"),
		embedded: desc("gauge", "ken_embedded_records", "Records that have a vector of the embedder in use.", "owner"),
		jobs:     desc("gauge", "ken_jobs", "Jobs in the queue, by state.", "owner", "state"),
		filed: desc("counter", "ken_structure_total", "Claims that were filed under their entities in the background, and the dependencies found, ever, by outcome: "+
			"rules, model, left (to the rules), unsure, unread, ties_rules, ties_model, retracted, or refused.", "owner", "outcome"),
		attention:   desc("gauge", "ken_attention_items", "Items that wait for a person, by severity.", "owner", "severity"),
		journal:     desc("counter", "ken_journal_records_total", "Records of turns and answers, by what became of them: written, or lost because turns came too fast or the store could not be written.", "outcome"),
		waiting:     desc("gauge", "ken_journal_waiting", "Records that are still to be written."),
		harvests:    desc("counter", "ken_harvests_total", "Harvests of sessions, by outcome: done, retried later, or dead.", "outcome"),
		breaker:     desc("gauge", "ken_breaker_state", "1 for the state that a circuit breaker is in, 0 for the others.", "breaker", "state"),
		up:          desc("gauge", "ken_source_up", "1 when a source of gauges answered this scrape in time, 0 when it is left out.", "source"),
		keyRequests: desc("counter", "ken_key_requests_total", "Requests that keys made of the upstream, by the model that answered; none for those that failed.", "key", "owner", "model"),
		keyTokens:   desc("counter", "ken_key_tokens_total", "Tokens that keys used, as the upstream counted them, by type: input, of these cached, and output.", "key", "owner", "model", "type"),
		keyCost:     desc("counter", "ken_key_cost_total", "The cost of that, by gateway.prices; models without a price are left out.", "key", "owner", "model"),
	}
	s.descs = all
	return s
}

func (s *sources) add(name, owner string, read func(context.Context) ([]prometheus.Metric, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	src := &source{name: name, owner: owner, read: read}
	if i := slices.IndexFunc(s.list, func(have *source) bool { return have.name == name }); i >= 0 {
		s.list[i] = src
	} else if len(s.list) < maxSources {
		s.list = append(s.list, src)
	}
}

// Describe implements prometheus.Collector.
func (s *sources) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range s.descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (s *sources) Collect(ch chan<- prometheus.Metric) {
	s.collect(ch, func(*source) bool { return true })
	s.writeUsage(ch, "")
}

// ownerCollector collects one owner's sources.
type ownerCollector struct {
	*sources
	owner string
}

// Collect implements prometheus.Collector.
func (o ownerCollector) Collect(ch chan<- prometheus.Metric) {
	o.collect(ch, func(src *source) bool { return src.owner == o.owner })
	o.writeUsage(ch, o.owner)
}

// collect reads the sources for which may returns true.
func (s *sources) collect(ch chan<- prometheus.Metric, may func(*source) bool) {
	s.mu.Lock()
	list := slices.DeleteFunc(slices.Clone(s.list), func(src *source) bool { return !may(src) })
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), SourceTimeout)
	defer cancel()
	answers := make([]<-chan []prometheus.Metric, len(list))
	for i, src := range list {
		answers[i] = src.ask(ctx)
	}
	for i, src := range list {
		up := 0.0
		got, ok := within(ctx, answers[i])
		if ok {
			up = 1
		}
		for _, m := range got {
			ch <- m
		}
		ch <- prometheus.MustNewConstMetric(s.up, prometheus.GaugeValue, up, src.name)
	}
}

// within waits for an answer until ctx ends. An answer that is ready counts, even if
// ctx has ended.
func within(ctx context.Context, answer <-chan []prometheus.Metric) (got []prometheus.Metric, ok bool) {
	select {
	case got, ok = <-answer:
		return got, ok
	case <-ctx.Done():
	}
	select {
	case got, ok = <-answer:
	default:
	}
	return got, ok
}

// ask starts reading the source and returns the channel for the result. The channel is
// closed without a result if the source is still busy with an earlier scrape, fails or
// panics.
func (src *source) ask(ctx context.Context) <-chan []prometheus.Metric {
	out := make(chan []prometheus.Metric, 1)
	if !src.busy.CompareAndSwap(false, true) {
		close(out)
		return out
	}
	go func() {
		defer src.busy.Store(false)
		defer close(out)
		var got []prometheus.Metric
		if caught.Run(func() (err error) { got, err = src.read(ctx); return err }) == nil {
			out <- got
		}
	}()
	return out
}
