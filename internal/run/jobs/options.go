package jobs

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"math"
	mathrand "math/rand/v2"
	"os"
	"time"
)

// Options configures a queue; the zero value works.
type Options struct {
	// Worker names whoever runs the jobs, for people: default host:pid:random.
	Worker string
	// Process tells the leases of this process from those that an earlier one
	// left behind. Default: random, the same for all queues of the process. Tests
	// set it to play several processes.
	Process string
	// Alive reports whether another process lives. The lease of one that does not is
	// over at once, so that a job which was cut off by a crash runs right after it.
	// It is asked within transactions, and must not take long. Nil: nobody knows, and
	// every lease holds until its time.
	Alive func(process string) bool
	Now   func() time.Time // the wall clock; default time.Now

	// Lease is how long a worker has a job without renewing it, which it does
	// three times as often. Queues over one shelf must agree on it. Default 5 minutes.
	Lease time.Duration
	// Attempts is after how many a job is dead. Default 8.
	Attempts int
	// Lost is after how many attempts in a row during which the worker's process ended,
	// as far as Alive knows, a job is dead: what it reads may be what ends the process.
	// Default 3.
	Lost int
	// Backoff is the pause after an attempt, counted from 1. The default starts
	// at 1 s, grows fourfold, stops at 1 h, and takes off up to a quarter by Jitter.
	Backoff func(attempt int) time.Duration
	Jitter  func() float64 // 0..1, for the default Backoff; default random
	// Keep is how long a done job is remembered, and with it that there is nothing
	// to be done again. Default 30 days; below 0 is forever.
	Keep time.Duration
	Log  *slog.Logger // default: nothing is logged
}

// process is this process to Options.Process. A process id would not do: in a
// container it is the same after every restart.
var process = rand.Text()

func (o Options) withDefaults() Options {
	if o.Worker == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown"
		}
		o.Worker = fmt.Sprintf("%s:%d:%s", host, os.Getpid(), rand.Text()[:6])
	}
	if o.Process == "" {
		o.Process = process
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Lease <= 0 {
		o.Lease = 5 * time.Minute
	}
	if o.Attempts <= 0 {
		o.Attempts = 8
	}
	if o.Lost <= 0 {
		o.Lost = 3
	}
	if o.Jitter == nil {
		o.Jitter = mathrand.Float64
	}
	if o.Backoff == nil {
		o.Backoff = func(attempt int) time.Duration { return backoff(attempt, o.Jitter()) }
	}
	if o.Keep == 0 {
		o.Keep = 30 * 24 * time.Hour
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

const (
	firstPause  = time.Second
	pauseGrowth = 4
	longest     = time.Hour
	jitterShare = 0.25
)

func backoff(attempt int, jitter float64) time.Duration {
	d := min(float64(firstPause)*math.Pow(pauseGrowth, float64(max(attempt, 1)-1)), float64(longest))
	return time.Duration(d * (1 - jitterShare*min(max(jitter, 0), 1)))
}
