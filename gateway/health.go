package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/kenlayer/ken"
)

// sighting is the last that was seen of an upstream.
type sighting struct {
	at     time.Time
	status int
	fault  string
}

// note remembers how the upstream answered: a status, or what went wrong.
func (u *upstream) note(at time.Time, status int, fault string) {
	u.seen.Store(&sighting{at, status, fault})
}

// health says that the process lives.
func (c *call) health() *fault {
	return c.reply(http.StatusOK, map[string]string{"status": "ok"})
}

// readiness is what /readyz answers.
type readiness struct {
	Status   string             `json:"status"` // ok, degraded or stopping
	Reasons  []string           `json:"reasons,omitempty"`
	Store    string             `json:"store"` // open, or why not
	Upstream map[string]*sawLog `json:"upstream"`
}

type sawLog struct {
	Seen   time.Time `json:"seen,omitzero"`
	Status int       `json:"status,omitempty"`
	Fault  string    `json:"fault,omitempty"`
}

// storeWait bounds what the question whether the store is open may take.
const storeWait = time.Second

// ready says whether requests should come here. Without knowledge they still
// should: they are passed on. No upstream is asked for it.
func (c *call) ready() *fault {
	out := readiness{Status: "ok", Store: "open", Upstream: map[string]*sawLog{}}
	ctx, cancel := context.WithTimeout(c.r.Context(), storeWait)
	defer cancel()
	_, release, err := c.g.layer.Store(ctx, "")
	if err == nil {
		release()
	} else {
		out.Store = reason(err)
		out.Reasons = append(out.Reasons, "store: "+out.Store)
	}
	for name, up := range map[string]*upstream{"openai": c.g.upstream, "anthropic": c.g.anthropic} {
		if up == nil {
			continue
		}
		out.Upstream[name] = &sawLog{}
		if s := up.seen.Load(); s != nil {
			*out.Upstream[name] = sawLog{s.at.UTC(), s.status, s.fault}
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

// reason is what may be told of an error to whoever asks: never a path.
func reason(err error) string {
	switch {
	case errors.Is(err, ken.ErrHeld):
		return "held by another process"
	case errors.Is(err, ken.ErrCorrupt):
		return "can't be read"
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
