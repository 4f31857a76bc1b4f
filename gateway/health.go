package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/store/remote"
	"github.com/kenlayer/ken/store"
)

// upstreamState is the last that was seen of an upstream.
type upstreamState struct {
	at     time.Time
	status int
	fault  string
}

// note remembers how the upstream answered: a status, or what went wrong.
func (u *upstream) note(at time.Time, status int, fault string) {
	u.seen.Store(&upstreamState{at, status, fault})
}

// health says that the process lives.
func (c *gatewayCall) health() *fault {
	return c.reply(http.StatusOK, map[string]string{"status": "ok"})
}

// readiness is what /readyz answers.
type readiness struct {
	Status   string                `json:"status"` // ok, degraded or stopping
	Reasons  []string              `json:"reasons,omitempty"`
	Store    string                `json:"store"` // open, or why not
	Upstream map[string]*unreadLog `json:"upstream"`
}

type unreadLog struct {
	Seen   time.Time `json:"seen,omitzero"`
	Status int       `json:"status,omitempty"`
	Fault  string    `json:"fault,omitempty"`
}

// storeWait bounds what the question whether the store is open may take.
const storeWait = time.Second

// ready says whether requests should come here. Without knowledge they still
// should: they are passed on. No upstream is asked for it.
func (c *gatewayCall) ready() *fault {
	out := readiness{Status: "ok", Store: "open", Upstream: map[string]*unreadLog{}}
	ctx, cancel := context.WithTimeout(c.r.Context(), storeWait)
	defer cancel()
	for i, owner := range c.terms.owners() {
		faults, err := c.g.faults(ctx, owner)
		if err != nil && i == 0 {
			out.Store = reason(err)
		}
		for _, f := range told(faults, err) {
			if !slices.Contains(out.Reasons, f) {
				out.Reasons = append(out.Reasons, f)
			}
		}
	}
	if c.g.losses.lately(c.g.layer.Counts().Lost, c.g.o.Now()) {
		out.Reasons = append(out.Reasons, "journal: records were lost, because turns came too fast")
	}
	for name, up := range map[string]*upstream{"openai": c.g.upstream, "anthropic": c.g.anthropic} {
		if up == nil {
			continue
		}
		out.Upstream[name] = &unreadLog{}
		if s := up.seen.Load(); s != nil {
			*out.Upstream[name] = unreadLog{s.at.UTC(), s.status, s.fault}
			if s.fault != "" || s.status >= http.StatusInternalServerError {
				out.Reasons = append(out.Reasons, "upstream "+name+" failed when it was asked last")
			}
		}
	}
	if len(out.Reasons) > 0 {
		out.Status = "degraded"
	}
	status := http.StatusOK
	if c.g.stop.Err() != nil {
		status, out.Status = http.StatusServiceUnavailable, "stopping"
	}
	return c.reply(status, out)
}

// owners are those whose stores are looked at: the configured one, and those of keys.
func (t *servingConfig) owners() []string {
	out := []string{t.owner}
	for _, k := range t.cfg.Keys {
		if k.Owner != "" && !slices.Contains(out, k.Owner) {
			out = append(out, k.Owner)
		}
	}
	return out
}

func (g *Gateway) faults(ctx context.Context, owner string) ([]store.Fault, error) {
	s, release, err := g.layer.Store(ctx, owner)
	if err != nil {
		return nil, err
	}
	defer release()
	return s.Faults(ctx)
}

// faultWords say what is wrong to whoever asks: never a path. The log has the cause.
var faultWords = map[store.FaultName]string{
	store.FaultDamaged:  "something that was written can't be read",
	store.FaultReadOnly: "its folder can't be written",
	store.FaultIndex:    "the index lags behind; what is new is found later",
	store.FaultDisk:     "the last write failed: the disk is full, or fails",
}

// told says what is wrong with a store, whose owner is not named.
func told(faults []store.Fault, err error) (out []string) {
	if err != nil {
		return []string{"store: " + reason(err)}
	}
	for _, f := range faults {
		out = append(out, "store: "+cmp.Or(faultWords[f.Name], string(f.Name)))
	}
	return out
}

// lossLog remember when records of turns were seen to be lost.
type lossLog struct {
	mu   sync.Mutex
	seen uint64
	at   time.Time
}

// losingFor is how long a loss is told of.
const losingFor = 5 * time.Minute

// lately reports whether some of the records that were ever lost were lost lately.
func (l *lossLog) lately(lost uint64, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lost > l.seen {
		l.seen, l.at = lost, now
	}
	return l.seen > 0 && now.Sub(l.at) < losingFor
}

// reason is what may be told of an error to whoever asks: never a path.
func reason(err error) string {
	switch {
	case errors.Is(err, ken.ErrHeld):
		return "held by another process"
	case errors.Is(err, ken.ErrCorrupt):
		return "can't be read"
	case remote.IsHung(err):
		return "the process that holds it does not answer"
	case errors.Is(err, context.DeadlineExceeded):
		return "still opening"
	}
	return "can't be opened; the log has the cause"
}

func (c *gatewayCall) reply(status int, v any) *fault {
	b, err := json.Marshal(v)
	if err != nil {
		return faultOf(err)
	}
	h := c.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	c.w.WriteHeader(status)
	_, _ = c.w.Write(append(b, '\n')) // a client that is gone is no concern of ours
	return nil
}

// limits decides whether a request may come in now.
type limits struct {
	inFlight atomic.Int64
	most     atomic.Int64
	now      func() time.Time

	mu        sync.Mutex // guards what follows
	perSecond rate.Limit
	burst     int
	keys      map[string]*rate.Limiter // by name; there are as many as keys
}

func newLimits(cfg config.Gateway, now func() time.Time) *limits {
	l := &limits{now: now, keys: map[string]*rate.Limiter{}}
	l.set(cfg)
	return l
}

// set changes the limits. What a key has spent stays spent.
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

// enter counts a request in, unless there are too many. The caller calls leave.
func (l *limits) enter() *fault {
	if l.inFlight.Add(1) > l.most.Load() {
		return &fault{status: http.StatusServiceUnavailable, code: "too_many_requests", msg: "too many requests at once",
			try: "Try again soon, or raise gateway.in_flight.", retry: 1}
	}
	return nil
}

func (l *limits) leave() { l.inFlight.Add(-1) }

// spend takes one request off what a key may make.
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

// of is what a key may make; nil when that has no limit.
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
