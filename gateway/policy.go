package gateway

import (
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// decide says what a model call gets and leaves: by the first rule of the configuration
// that fits it; else nothing of either for a side call, unless its header X-Ken is on. Any
// other call gets and leaves what it asks for. A rule never takes back what a client asks
// for less.
func (c *call) decide(r *wire.Request, t *ken.Turn) {
	rules := c.terms.cfg.Policy
	for i := range rules {
		if !c.fits(&rules[i], r, t) {
			continue
		}
		t.Policy = "policy[" + strconv.Itoa(i) + "]"
		if no(rules[i].Knowledge) {
			t.Weight = ken.WeightNone
		}
		t.Incognito = t.Incognito || no(rules[i].Learn)
		return
	}
	if c.asked.on {
		return
	}
	if kind := sideCallOf(r, wire.NamesIn(c.r.Header).Agent); kind != "" {
		c.side = true
		t.Policy = "side:" + kind
		t.Weight, t.Incognito = ken.WeightNone, true
	}
}

// fits reports whether a call meets every condition of a rule.
func (c *call) fits(p *config.PolicyRule, r *wire.Request, t *ken.Turn) bool {
	return (p.Model == "" || matches(p.Model, r.Model)) &&
		(p.Path == "" || matches(p.Path, c.raw)) &&
		(p.Agent == "" || matches(p.Agent, t.Agent) || matches(p.Agent, wire.NamesIn(c.r.Header).Agent) || matches(p.Agent, c.r.UserAgent())) &&
		(p.Key == "" || p.Key == c.who.Name) &&
		(p.Tools == nil || *p.Tools == (r.Tools > 0))
}

func no(b *bool) bool { return b != nil && !*b }

// matches is access.Match without regard to case.
func matches(pattern, s string) bool {
	return access.Match(strings.ToLower(pattern), strings.ToLower(s))
}
