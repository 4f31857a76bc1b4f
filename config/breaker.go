package config

import "time"

// Breaker guards the embedding service.
type Breaker struct {
	Failures int           // in a row, until calls stop
	Open     time.Duration // until the next attempt
}

func (b *Breaker) keys() []key {
	return []key{
		bind("failures", &b.Failures, 5, whole(1, 1000), "Failures in a row that stop the calls."),
		bind("open", &b.Open, 30*time.Second, span(100*time.Millisecond, time.Hour),
			"How long calls stay stopped before one is tried."),
	}
}
