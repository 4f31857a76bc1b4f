package gateway

import (
	"github.com/kenlayer/ken/config"
)

// terms are what a request is served on, and what Reload changes: the configuration,
// and who may come in.
type terms struct {
	cfg config.Gateway
	doors
}

// Reload has the requests that come from now on served with the keys of next, and with
// its Prices, Hosts, Rate, Burst, BodyBytes, LookBytes, InFlight, Stall, Notice, Drain and Policy; the rest of
// next is left alone. It returns what is in force now. Requests under way keep what
// they came with. Errors: ErrInvalid for a key that can't be read, and ErrRefused for no
// keys where others can reach the address. Then nothing has changed.
func (g *Gateway) Reload(next config.Gateway) (config.Gateway, error) {
	g.reload.Lock()
	defer g.reload.Unlock()
	old := g.terms.Load()
	if at := g.at.Load(); at != nil {
		if err := reachable(*at, len(next.Keys)+len(g.handed) > 0); err != nil {
			return old.cfg, err
		}
	}
	cfg := old.cfg
	cfg.Keys, cfg.Hosts, cfg.Rate, cfg.Burst = next.Keys, next.Hosts, next.Rate, next.Burst
	cfg.BodyBytes, cfg.InFlight, cfg.Stall, cfg.Notice, cfg.Drain = next.BodyBytes, next.InFlight, next.Stall, next.Notice, next.Drain
	cfg.LookBytes, cfg.Policy, cfg.Prices = next.LookBytes, next.Policy, next.Prices
	if err := g.admitKeys(cfg, false); err != nil {
		return old.cfg, err
	}
	g.room.left.Add(int64(cfg.LookBytes - old.cfg.LookBytes))
	return cfg, nil
}
