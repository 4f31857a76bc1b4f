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

// note records the upstream's last response: a status, or an error text.
func (u *upstream) note(at time.Time, status int, fault string) {
	u.last.Store(&lastResponse{at, status, fault})
}

// health answers GET /healthz: the process is alive.
func (c *call) health() *fault {
	return c.reply(http.StatusOK, map[string]string{"status": "ok"})
}

// readiness is the JSON answer of /readyz.
type readiness struct {
	Status   string                    `json:"status"` // ok, degraded or stopping
	Reasons  []string                  `json:"reasons,omitempty"`
	Store    string                    `json:"store"` // open, or the reason why it is not
	Upstream map[string]*upstreamState `json:"upstream"`
}

type upstreamState struct {
	Seen   time.Time `json:"seen,omitzero"`
	Status int       `json:"status,omitempty"`
	Fault  string    `json:"fault,omitempty"`
}

// storeWait is the time limit for the check whether the store is open. It is shorter than the second after
// which Kubernetes gives up by default.
const storeWait = 500 * time.Millisecond

// ready answers GET /readyz: whether requests should be sent here. Without a store they should,
// because they are passed on. It sends nothing to the upstream.
func (c *call) ready() *fault {
	out := readiness{Status: "ok", Store: "open", Upstream: map[string]*upstreamState{}}
	ctx, cancel := context.WithTimeout(c.r.Context(), storeWait)
	defer cancel()
	for i, owner := range c.g.checkedOwners() {
		faults, err := c.g.storeFaults(ctx, owner)
		c.g.logUnready(owner, err)
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
		out.Reasons = append(out.Reasons, "journal: records were lost, because turns came too fast or the store could not be written")
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

// checkedOwners returns the owners whose stores are checked: the configured one, and those whose store is open.
// To open one for each key would take too long.
func (g *Gateway) checkedOwners() []string {
	out := []string{g.settings.Load().owner}
	for _, owner := range g.layer.Operator().Opened() {
		if owner != out[0] {
			out = append(out, owner)
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

// logUnready logs why an owner's store can't be opened, once until the reason changes.
func (g *Gateway) logUnready(owner string, err error) {
	text := ""
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		text = err.Error()
	}
	if before, _ := g.unready.Swap(owner, text); text != "" && before != text {
		g.o.Log.Warn("an owner's store can't be opened", "owner", owner, "cause", err, "try", ken.Hint(err))
	}
}

// faultWords describe faults to any caller, without paths. The log has the cause.
var faultWords = map[store.FaultName]string{
	store.FaultDamaged:  "something that was written can't be read",
	store.FaultReadOnly: "its folder can't be written",
	store.FaultIndex:    "the index lags behind; what is new is found later",
	store.FaultDisk:     "the last write failed: the disk is full, or fails",
}

// faultTexts describes a store's faults to any caller. It does not name the owner.
func faultTexts(faults []store.Fault, err error) (out []string) {
	if err != nil {
		return []string{"store: " + publicReason(err)}
	}
	for _, f := range faults {
		out = append(out, "store: "+cmp.Or(faultWords[f.Name], string(f.Name)))
	}
	return out
}

// losses records when turn records were last lost.
type losses struct {
	mu   sync.Mutex
	seen uint64
	at   time.Time
}

// lossWindow is how long /readyz reports a loss.
const lossWindow = 5 * time.Minute

// recent reports whether records were lost within lossWindow. lost is the total number so far.
func (l *losses) recent(lost uint64, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lost > l.seen {
		l.seen, l.at = lost, now
	}
	return l.seen > 0 && now.Sub(l.at) < lossWindow
}

// publicReason returns a description of an error that any caller may read. It has no path.
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
	_, _ = c.w.Write(append(b, '\n')) // the client may be gone
	return nil
}
