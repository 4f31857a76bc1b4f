package gateway

import (
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// limits decides whether a request may come in now.
type limits struct {
	inFlight atomic.Int64
	most     int64

	perSecond rate.Limit
	burst     int
	now       func() time.Time
	mu        sync.Mutex
	keys      map[string]*rate.Limiter // by name; there are as many as keys
}

func newLimits(most int, perSecond float64, burst int, now func() time.Time) *limits {
	return &limits{most: int64(most), perSecond: rate.Limit(perSecond), burst: burst, now: now, keys: map[string]*rate.Limiter{}}
}

// enter counts a request in, unless there are too many. The caller calls leave.
func (l *limits) enter() *fault {
	if l.inFlight.Add(1) > l.most {
		return &fault{status: http.StatusServiceUnavailable, code: "too_many_requests", msg: "too many requests at once",
			try: "Try again soon, or raise gateway.in_flight.", retry: 1}
	}
	return nil
}

func (l *limits) leave() { l.inFlight.Add(-1) }

// spend takes one request off what a key may make.
func (l *limits) spend(name string) *fault {
	if l.perSecond <= 0 {
		return nil
	}
	now := l.now()
	r := l.of(name).ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	r.CancelAt(now)
	return &fault{status: http.StatusTooManyRequests, code: "rate_limited", msg: "this key has made too many requests",
		try: "Wait a little, or have gateway.rate raised.", retry: max(1, int(math.Ceil(wait.Seconds())))}
}

func (l *limits) of(name string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.keys[name]
	if k == nil {
		k = rate.NewLimiter(l.perSecond, l.burst)
		l.keys[name] = k
	}
	return k
}
