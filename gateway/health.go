package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/remote"
	"github.com/kenlayer/ken/store"
)

// lastResponse records the last response of an upstream.
type lastResponse struct {
	at     time.Time
	status int
	fault  string
}

// note records the upstream's last response: a status, or a fault.
func (u *upstream) note(at time.Time, status int, fault string) {
	u.last.Store(&lastResponse{at, status, fault})
}

// health answers that the process lives.
func (c *call) health() *fault {
	return c.reply(http.StatusOK, map[string]string{"status": "ok"})
}

// readiness is the answer of /readyz.
type readiness struct {
	Status   string                    `json:"status"` // ok, degraded or stopping
	Reasons  []string                  `json:"reasons,omitempty"`
	Store    string                    `json:"store"` // open, or why not
	Upstream map[string]*upstreamState `json:"upstream"`
}

type upstreamState struct {
	Seen   time.Time `json:"seen,omitzero"`
	Status int       `json:"status,omitempty"`
	Fault  string    `json:"fault,omitempty"`
}

// storeWait bounds what the question whether the store is open may take.
const storeWait = time.Second

// ready answers whether requests should be sent here. Without knowledge they should: they
// are passed on. It asks no upstream.
func (c *call) ready() *fault {
	out := readiness{Status: "ok", Store: "open", Upstream: map[string]*upstreamState{}}
	ctx, cancel := context.WithTimeout(c.r.Context(), storeWait)
	defer cancel()
	for i, owner := range c.settings.owners() {
		faults, err := c.g.storeFaults(ctx, owner)
		if err != nil && i == 0 {
			out.Store = publicReason(err)
		}
		for _, f := range faultTexts(faults, err) {
			if !slices.Contains(out.Reasons, f) {
				out.Reasons = append(out.Reasons, f)
			}
		}
	}
	if c.g.losses.recent(c.g.layer.Operator().Counts().Lost, c.g.o.Now()) {
		out.Reasons = append(out.Reasons, "journal: records were lost, because turns came too fast")
	}
	for name, up := range map[string]*upstream{"openai": c.g.upstream, "anthropic": c.g.anthropic} {
		if up == nil {
			continue
		}
		out.Upstream[name] = &upstreamState{}
		if s := up.last.Load(); s != nil {
			*out.Upstream[name] = upstreamState{s.at.UTC(), s.status, s.fault}
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

// owners returns the owners whose stores are checked: the configured one and those of keys.
func (t *settings) owners() []string {
	out := []string{t.owner}
	for _, k := range t.cfg.Keys {
		if k.Owner != "" && !slices.Contains(out, k.Owner) {
			out = append(out, k.Owner)
		}
	}
	return out
}

func (g *Gateway) storeFaults(ctx context.Context, owner string) ([]store.Fault, error) {
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

// faultTexts returns the faults of a store as texts for anybody. It does not name the owner.
func faultTexts(faults []store.Fault, err error) (out []string) {
	if err != nil {
		return []string{"store: " + publicReason(err)}
	}
	for _, f := range faults {
		out = append(out, "store: "+cmp.Or(faultWords[f.Name], string(f.Name)))
	}
	return out
}

// losses remembers the last time at which records of turns were lost.
type losses struct {
	mu   sync.Mutex
	seen uint64
	at   time.Time
}

// lossWindow is how long a loss is told of.
const lossWindow = 5 * time.Minute

// recent reports whether records were lost within lossWindow. lost counts all that were ever
// lost.
func (l *losses) recent(lost uint64, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lost > l.seen {
		l.seen, l.at = lost, now
	}
	return l.seen > 0 && now.Sub(l.at) < lossWindow
}

// publicReason returns the part of an error that anybody may read: never a path.
func publicReason(err error) string {
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

func (c *call) reply(status int, v any) *fault {
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
