// Package metrics counts what the layer and the gateway do, in Prometheus' text
// format. A [Metrics] has a registry of its own, so that a program with metrics of
// its own, or two layers in one process, never collide; [Metrics.Handler] serves
// it.
//
// Names start with ken_, and units are seconds, bytes and code points. The number
// of label values is limited. There are no labels for sessions, turns, claims or
// tools. Models and routes are the first [MaxValues] that occur, and "other" after
// that; owners are those passed to Watch; keys are those of package usage, which
// limits them. docs/metrics.md describes each metric; the tests generate it.
//
// Events are counted where they happen, which costs some hundred nanoseconds a
// turn. State that is kept elsewhere (records, jobs, a breaker) is read at every
// scrape, each source with a deadline. A source that hangs is left out of that
// scrape, ken_source_up shows it, and the rest is served.
//
// All methods may be called on a nil *Metrics; it counts nothing.
package metrics
