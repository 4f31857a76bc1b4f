package gateway

import (
	"math"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/kenlayer/ken/config"
)

// limits enforces the number of concurrent requests and the rate of each key.
type limits struct {
	inFlight atomic.Int64
	most     atomic.Int64
	now      func() time.Time

	mu        sync.Mutex // guards the fields below
	perSecond rate.Limit
	burst     int
	keys      map[string]*rate.Limiter // by key name; never more than there are keys
}

func newLimits(cfg config.Gateway, now func() time.Time) *limits {
	l := &limits{now: now, keys: map[string]*rate.Limiter{}}
	l.set(cfg)
	return l
}

// set changes the limits. Requests that a key has made still count.
func (l *limits) set(cfg config.Gateway) {
	l.most.Store(int64(cfg.InFlight))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.perSecond, l.burst = rate.Limit(cfg.Rate), cfg.Burst
	now := l.now()
	for name, k := range l.keys {
		if !slices.ContainsFunc(cfg.Keys, func(g config.GatewayKey) bool { return g.Name == name }) {
			delete(l.keys, name)
			continue
		}
		k.SetLimitAt(now, l.perSecond)
		k.SetBurstAt(now, l.burst)
	}
}

// enter counts a request, or returns a fault if there are too many. After success the caller must
// call leave.
func (l *limits) enter() *fault {
	if l.inFlight.Add(1) > l.most.Load() {
		return &fault{status: http.StatusServiceUnavailable, code: "too_many_requests", msg: "too many requests at once",
			try: "Try again soon, or raise gateway.in_flight.", retry: 1}
	}
	return nil
}

func (l *limits) leave() { l.inFlight.Add(-1) }

// spend counts a request against the rate of the key with this name.
func (l *limits) spend(name string) *fault {
	k := l.of(name)
	if k == nil {
		return nil
	}
	now := l.now()
	r := k.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	r.CancelAt(now)
	return &fault{status: http.StatusTooManyRequests, code: "rate_limited", msg: "this key has made too many requests",
		try: "Wait a little, or have gateway.rate raised.", retry: max(1, int(math.Ceil(wait.Seconds())))}
}

// of returns the rate limiter of a key; nil if the rate is unlimited.
func (l *limits) of(name string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.perSecond <= 0 {
		return nil
	}
	k := l.keys[name]
	if k == nil {
		k = rate.NewLimiter(l.perSecond, l.burst)
		l.keys[name] = k
	}
	return k
}
