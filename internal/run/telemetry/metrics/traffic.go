package metrics

import (
	"strconv"
	"time"
)

// requestBuckets range from a request that is passed on at once to a model that writes
// for minutes. In seconds.
var requestBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}

func (m *Metrics) declareTraffic() {
	m.requests = m.counterVec("ken_http_requests_total", "HTTP requests that were answered, by route pattern and class of the status; 0xx means that the client disconnected first.", "route", "status")
	m.duration = &histograms{vec: m.histogramVec("ken_http_request_duration_seconds", "Time from an HTTP request to the end of its answer.", requestBuckets, "route")}
	m.first = &histograms{vec: m.histogramVec("ken_http_first_byte_seconds", "Time from an HTTP request to the first byte of its answer.", requestBuckets, "route")}
	m.streams = m.gaugeVec("ken_http_streams", "Answers that are streamed at the moment.").WithLabelValues()
	m.upstream = &counters{vec: m.counterVec("ken_upstream_errors_total", "Calls of the upstream that went wrong, by kind.", "kind")}
	m.untouched = &counters{vec: m.counterVec("ken_untouched_total", "Model calls that were passed on without new knowledge, by reason: memory (gateway.look_bytes were taken), turns (retrieval.at_once were composed), length, encoding or refused (the upstream took the call only without the blocks).", "reason")}
	m.policies = &counters{vec: m.counterVec("ken_policy_total", "Model calls about which something else than the default decided, by what: policy[0] and so on, or side:title and the like.", "rule")}
	m.tokens = m.counterVec("ken_gen_ai_tokens_total", "Tokens as the upstream counted them, by the model that it named and by type: input, of these cached, and output.", "model", "type")
}

// Request counts a finished HTTP request. route is the pattern that it matched, never
// its path. total and firstByte are measured from its arrival; a firstByte of 0 means
// that no byte was sent.
func (m *Metrics) Request(route string, status int, total, firstByte time.Duration) {
	if m == nil {
		return
	}
	route = m.routes.value(route)
	m.requests.WithLabelValues(route, class(status)).Inc()
	m.duration.with(route).Observe(total.Seconds())
	if firstByte > 0 {
		m.first.with(route).Observe(firstByte.Seconds())
	}
}

// class returns the class of a status, such as 2xx, and 0xx for an invalid status.
func class(status int) string {
	if status < 100 || status > 599 {
		return "0xx"
	}
	return strconv.Itoa(status/100) + "xx"
}

// Stream counts a streamed answer as running until the returned function is called.
// Call it once.
func (m *Metrics) Stream() (done func()) {
	if m == nil {
		return func() {}
	}
	m.streams.Inc()
	return m.streams.Dec
}

// UpstreamError counts a failed call of the upstream. kind is one of a few words, such
// as connect, timeout, cut, rate_limited or server.
func (m *Metrics) UpstreamError(kind string) {
	if m != nil {
		m.upstream.with(kind).Inc()
	}
}

// Untouched counts a model call that was passed on without new knowledge, by reason.
// There are few reasons.
func (m *Metrics) Untouched(reason string) {
	if m != nil {
		m.untouched.with(reason).Inc()
	}
}

// Policy counts a model call that a policy rule decided, by the rule's name.
func (m *Metrics) Policy(rule string) {
	if m != nil {
		m.policies.with(rule).Inc()
	}
}

// Usage counts the tokens that the upstream reports for an answer. model should be the
// name in the answer, not in the request: only the first [MaxValues] names get a label
// of their own, and a client must not fill them with invented names. cached is a part
// of input.
func (m *Metrics) Usage(model string, input, output, cached int) {
	if m == nil {
		return
	}
	model = m.models.value(model)
	for _, c := range [...]struct {
		kind string
		n    int
	}{{"input", input}, {"output", output}, {"cached", cached}} {
		if c.n > 0 {
			m.tokens.WithLabelValues(model, c.kind).Add(float64(c.n))
		}
	}
}
