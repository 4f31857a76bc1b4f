package gateway

import (
	"net/http"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/knowledge/operator"
)

// settings are the parts of the configuration that Reload can change, with the keys in
// force.
type settings struct {
	cfg config.Gateway
	authenticator
}

// Reload has the requests that come from now on served with the keys of next, and with
// its Prices, Hosts, Rate, Burst, BodyBytes, LookBytes, InFlight, Stall, Notice, Drain and Policy; the rest of
// next is left alone. It returns what is in force now. Requests under way keep what
// they came with. Errors: ErrInvalid for a key that can't be read, and ErrRefused for no
// keys where others can reach the address. Then nothing has changed.
func (g *Gateway) Reload(next config.Gateway) (config.Gateway, error) {
	g.reload.Lock()
	defer g.reload.Unlock()
	old := g.settings.Load()
	if at := g.at.Load(); at != nil {
		if err := reachable(*at, len(next.Keys)+len(g.fileKeys) > 0); err != nil {
			return old.cfg, err
		}
	}
	cfg := old.cfg
	cfg.Keys, cfg.Hosts, cfg.Rate, cfg.Burst = next.Keys, next.Hosts, next.Rate, next.Burst
	cfg.BodyBytes, cfg.InFlight, cfg.Stall, cfg.Notice, cfg.Drain = next.BodyBytes, next.InFlight, next.Stall, next.Notice, next.Drain
	cfg.LookBytes, cfg.Policy, cfg.Prices = next.LookBytes, next.Policy, next.Prices
	if err := g.setKeys(cfg, false); err != nil {
		return old.cfg, err
	}
	g.bodyMemory.left.Add(int64(cfg.LookBytes - old.cfg.LookBytes))
	return cfg, nil
}

// fileKeys returns the keys of the key file. A revoked key is returned as expired, so that
// its bearer is told so.
func fileKeys(keys *operator.Keys) ([]config.GatewayKey, error) {
	if keys == nil {
		return nil, nil
	}
	list, err := keys.List()
	out := make([]config.GatewayKey, len(list))
	for i, k := range list {
		out[i] = k.GatewayKey
		if !k.Revoked.IsZero() {
			out[i].Expires = k.Revoked
		}
	}
	return out, err
}

// setKeys puts cfg in force with its own keys and those of the key file. With keyed, a
// gateway without keys admits no request. The caller holds g.reload, or is New.
func (g *Gateway) setKeys(cfg config.Gateway, keyed bool) error {
	old, all := g.settings.Load(), cfg
	all.Keys = slices.Clone(cfg.Keys)
	for _, k := range g.fileKeys {
		if slices.ContainsFunc(cfg.Keys, func(c config.GatewayKey) bool { return c.Name == k.Name }) {
			g.o.Log.Warn("a key of the configuration stands in the place of one that was handed out", "key", k.Name)
			continue
		}
		all.Keys = append(all.Keys, k)
	}
	ring, err := newRing(all.Keys, old.owner)
	if err != nil {
		return err
	}
	if ring == nil && keyed {
		ring = access.NewRing()
	}
	g.settings.Store(&settings{cfg, authenticator{ring: ring, owner: old.owner, local: old.local}})
	g.limits.set(all)
	if g.o.KeysChanged != nil {
		g.o.KeysChanged(ring)
	}
	return nil
}

// refreshKeys reads the key file again if it has changed. A file that can't be read changes
// nothing.
func (g *Gateway) refreshKeys() {
	if g.o.Keys == nil || !g.o.Keys.Changed() {
		return
	}
	g.reload.Lock()
	defer g.reload.Unlock()
	if !g.o.Keys.Changed() { // another request was faster
		return
	}
	had := g.fileKeys
	handed, err := fileKeys(g.o.Keys)
	if err == nil {
		g.fileKeys = handed
		now := g.settings.Load()
		err = g.setKeys(now.cfg, now.ring != nil) // a file that is gone opens nothing
	}
	if err != nil {
		g.fileKeys = had
		g.o.Log.Error("the keys that were handed out were not read again, and stay as they were", "cause", err, "try", ken.Hint(err))
		return
	}
	g.o.Log.Info("keys changed", "keys", len(handed))
}

func expired(who access.Principal) *fault {
	return &fault{status: http.StatusUnauthorized, code: "expired_key", msg: "this key ended at " + who.Expires.UTC().Format(time.RFC3339),
		try: "Ask who runs the gateway for another one."}
}
