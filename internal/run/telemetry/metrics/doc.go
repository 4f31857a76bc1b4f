// Package metrics counts what the layer and the gateway do, in Prometheus' text
// format. A [Metrics] has a registry of its own, so that a program with metrics of
// its own, or two layers in one process, never collide; [Metrics.Handler] serves it.
//
// Names start with ken_, and units are seconds, bytes and code points. No label
// ever takes a value from a request without bound: there is none for a session, a
// turn, a claim or a tool; models and routes are the first [MaxValues] that
// come up, and "other" after that; owners are those that somebody watches; keys are
// those of package usage, which bounds them. What
// each metric means is in docs/metrics.md, which the tests write.
//
// What is counted is counted where it happens, at some hundred nanoseconds a turn.
// What stands somewhere else (records, jobs, a breaker) is asked for when somebody
// scrapes, each source under a deadline: one that hangs is left out of that scrape
// and says so in ken_source_up, and the rest is served.
//
// A nil *Metrics counts nothing: every method may be called on it.
package metrics
