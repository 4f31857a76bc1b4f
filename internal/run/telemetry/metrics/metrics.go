package metrics

import (
	"net/http"
	"runtime"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kenlayer/ken"
)

// Metrics counts events and serves them. It is safe for concurrent use. A nil Metrics
// counts nothing.
type Metrics struct {
	reg      *prometheus.Registry
	families []family // in the order of docs/metrics.md

	turns      *prometheus.CounterVec
	reused     prometheus.Counter
	injected   prometheus.Counter
	assemble   prometheus.Observer
	stages     *histograms
	items      [4]prometheus.Counter // by tier
	chars      [4]prometheus.Counter
	cuts       *counters
	degraded   *counters
	overflowed prometheus.Counter
	cached     prometheus.Counter
	fresh      prometheus.Counter
	taints     *counters

	requests  *prometheus.CounterVec
	duration  *histograms
	first     *histograms
	routes    bounded
	streams   prometheus.Gauge
	upstream  *counters
	untouched *counters
	policies  *counters

	tokens *prometheus.CounterVec
	models bounded

	build   *prometheus.GaugeVec
	sources *sources

	mu     sync.Mutex              // guards owners
	owners map[string]http.Handler // see HandlerOf
}

// family describes one metric for the documentation.
type family struct{ name, kind, labels, help string }

// New returns metrics that are all zero.
func New() *Metrics {
	m := &Metrics{reg: prometheus.NewRegistry()}
	m.declareTurns()
	m.declareTraffic()
	m.build = m.gaugeVec("ken_build_info", "Always 1; the labels say what runs.", "version", "revision", "goversion")
	m.sources = newSources(m)
	m.reg.MustRegister(m.sources, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Build sets the version and the source revision of the running program. A second call
// replaces the first.
func (m *Metrics) Build(version, revision string) {
	if m == nil {
		return
	}
	m.build.Reset()
	m.build.WithLabelValues(clip(version), clip(revision), runtime.Version()).Set(1)
}

// scrapeOptions allow four concurrent scrapes; further ones get a 503.
var scrapeOptions = promhttp.HandlerOpts{MaxRequestsInFlight: 4, ErrorHandling: promhttp.ContinueOnError}

// Handler serves the metrics. It answers within about [SourceTimeout], even if sources
// hang. A nil Metrics serves 404.
func (m *Metrics) Handler() http.Handler {
	if m == nil {
		return http.NotFoundHandler()
	}
	return promhttp.HandlerFor(m.reg, scrapeOptions)
}

// HandlerOf serves the metrics of one owner that Watch and WatchAttention read, and the
// build. Metrics counted over all owners are left out, because they reveal the use by
// other owners.
func (m *Metrics) HandlerOf(owner string) http.Handler {
	if m == nil {
		return http.NotFoundHandler()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.owners[owner]
	if h == nil {
		reg := prometheus.NewRegistry()
		reg.MustRegister(m.build)
		if owner != "" {
			reg.MustRegister(ownerCollector{m.sources, owner})
		}
		h = promhttp.HandlerFor(reg, scrapeOptions)
		if m.owners == nil {
			m.owners = map[string]http.Handler{}
		}
		if len(m.owners) < MaxValues {
			m.owners[owner] = h
		}
	}
	return h
}

// Taint counts a tool call that repeats an external claim, by the action taken: "flag"
// or "block".
func (m *Metrics) Taint(action string) {
	if m != nil {
		m.taints.with(action).Inc()
	}
}

func (m *Metrics) note(name, kind, help string, labels []string) {
	m.families = append(m.families, family{name, kind, strings.Join(labels, ", "), help})
}

func (m *Metrics) counterVec(name, help string, labels ...string) *prometheus.CounterVec {
	m.note(name, "counter", help, labels)
	return register(m, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
}

func (m *Metrics) gaugeVec(name, help string, labels ...string) *prometheus.GaugeVec {
	m.note(name, "gauge", help, labels)
	return register(m, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels))
}

func (m *Metrics) histogramVec(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	m.note(name, "histogram", help, labels)
	return register(m, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels))
}

func register[C prometheus.Collector](m *Metrics, c C) C {
	m.reg.MustRegister(c)
	return c
}

// tiers holds the label values, by tier.
var tiers = [4]string{ken.Guessed: ken.Guessed.String(), ken.Assumed: ken.Assumed.String(),
	ken.Inferred: ken.Inferred.String(), ken.Verified: ken.Verified.String()}
