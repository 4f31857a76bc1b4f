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

// settings is the part of the configuration that Reload can change, with the current keys.
type settings struct {
	cfg config.Gateway
	authenticator
}

// Reload changes the keys and Prices, Hosts, Rate, Burst, BodyBytes, LookBytes, InFlight, Stall, Notice, Drain and
// Policy to those of next, for all later requests. It ignores other settings of next. It returns the settings that are
// now in effect. Requests in progress keep the previous ones. It returns ErrInvalid for an invalid key, and ErrRefused
// if there would be no keys although other machines can reach the address. After an error nothing has changed.
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

// fileKeys returns the keys of the key file. It returns a revoked key as expired, so that its bearer gets that reason.
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

// setKeys makes cfg effective, with its keys and those of the key file. If keyed is set and there are no keys, the
// gateway admits no request. The caller holds g.reload, or is New.
func (g *Gateway) setKeys(cfg config.Gateway, keyed bool) error {
	old, all := g.settings.Load(), cfg
	all.Keys = slices.Clone(cfg.Keys)
	for _, k := range g.fileKeys {
		if slices.ContainsFunc(cfg.Keys, func(c config.GatewayKey) bool { return c.Name == k.Name }) {
			g.o.Log.Warn("a configured key replaces an issued key of the same name", "key", k.Name)
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
	if g.o.beside.KeysChanged != nil {
		g.o.beside.KeysChanged(ring)
	}
	return nil
}

// refreshKeys reloads the key file if it has changed. If the file can't be read, the keys stay the same.
func (g *Gateway) refreshKeys() {
	if g.o.beside.Keys == nil || !g.o.beside.Keys.Changed() {
		return
	}
	g.reload.Lock()
	defer g.reload.Unlock()
	if !g.o.beside.Keys.Changed() { // another request has reloaded it
		return
	}
	had := g.fileKeys
	handed, err := fileKeys(g.o.beside.Keys)
	if err == nil {
		g.fileKeys = handed
		now := g.settings.Load()
		err = g.setKeys(now.cfg, now.ring != nil) // deleting the file must not open the gateway
	}
	if err != nil {
		g.fileKeys = had
		g.o.Log.Error("the issued keys could not be reloaded and stay unchanged", "cause", err, "try", ken.Hint(err))
		return
	}
	ended := func(k config.GatewayKey) bool { return !k.Expires.IsZero() && !g.o.Now().Before(k.Expires) }
	g.o.Log.Info("keys changed", "valid", len(slices.DeleteFunc(slices.Clone(handed), ended)))
}

func expired(who access.Principal) *fault {
	return &fault{status: http.StatusUnauthorized, code: "expired_key", msg: "this key ended at " + who.Expires.UTC().Format(time.RFC3339),
		try: "Ask who runs the gateway for another one."}
}
