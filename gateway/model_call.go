package gateway

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/internal/run/telemetry/trace"
	"github.com/kenlayer/ken/middleware"
)

// inspect reads the body of a call that may get knowledge. It sets isWhole if it read the complete
// body. It returns a fault only for invalid headers, because these may ask for less than would be
// shown.
func (c *call) inspect() *fault {
	if f := c.headers.parse(c.r.Header, c.g.scopes); f != nil {
		return f
	}
	if c.headers.off || c.body == nil {
		return nil
	}
	if c.untouched = c.skipReason(); c.untouched != "" {
		return nil
	}
	if f := c.readBody(); f != nil || !c.isWhole {
		return f
	}
	c.reserveForMessages()
	return nil
}

// turn returns the turn of a request: its owner, session and policy.
func (c *call) turn(r *wire.Request) ken.Turn {
	t := c.headers.turn(c.who) // the owner never comes from the body
	t.Session = wire.SessionOf(t.Owner, t.Session, r)
	t.Parent = wire.NameOf(t.Owner, t.Parent)
	c.applyPolicy(r, &t)
	return t
}

// previewCount adds to a token count request the blocks that the model call would have.
func (c *call) previewCount() *fault {
	if f := c.inspect(); f != nil || !c.isWhole || c.untouched != "" {
		return f
	}
	defer c.recoverLayer()
	if body, err := c.g.layer.Operator().Preview(c.r.Context(), c.dialect, c.whole, c.turn); err == nil {
		c.setBody(body)
	}
	return nil
}

// injectKnowledge adds knowledge to a model call. If that fails, the call is passed on without it.
func (c *call) injectKnowledge() *fault {
	if f := c.inspect(); f != nil || !c.isWhole || c.untouched != "" {
		return f
	}
	c.beginExchange(nil)
	if c.exchange != nil { // otherwise the upstream reports what is wrong with it
		c.setBody(c.exchange.Body)
	}
	return nil
}

// reserveForMessages reserves memory for the parsed form of many short messages. If there is not
// enough, it returns false and the body is not inspected.
func (c *call) reserveForMessages() bool {
	if more := messageBytes*bytes.Count(c.whole, []byte(`"role"`)) - len(c.whole); more > 0 && !c.reserve(more) {
		c.untouched = tooMany
		return false
	}
	return true
}

// beginExchange passes the body to the layer. It sets exchange, unless the body is not a request of
// its dialect. change, which may be nil, may modify the request and its turn first.
func (c *call) beginExchange(change func(*wire.Request, *ken.Turn)) {
	var model string
	var stream bool
	c.exchange = c.callLayer(func(r *wire.Request) ken.Turn {
		model, stream = r.Model, r.Stream
		t := c.turn(r)
		if change != nil {
			change(r, &t)
		}
		return t
	})
	if c.exchange != nil && c.exchange.Receipt.Policy != "" {
		c.g.o.beside.Metrics.Policy(c.exchange.Receipt.Policy)
	}
	if c.exchange != nil {
		c.untouched = c.exchange.Untouched
	}
	if c.exchange != nil && c.g.o.beside.Tracer != nil && c.up != nil {
		port, _ := strconv.Atoi(c.up.base.Port())
		provider := "openai"
		switch c.dialect {
		case wire.Messages:
			provider = "anthropic"
		case wire.Ollama:
			provider = "ollama"
		}
		ctx, span := c.g.o.beside.Tracer.Chat(c.r.Context(), trace.Call{Model: model, Provider: provider, Server: c.up.base.Hostname(), Port: port,
			Conversation: c.exchange.Turn.Session, Stream: stream})
		c.r, c.client = c.r.WithContext(ctx), span
	}
}

// callLayer begins the layer's exchange. It returns nil if the body is not a request of the dialect
// or the layer panics.
func (c *call) callLayer(who func(*wire.Request) ken.Turn) (x *middleware.Exchange) {
	defer c.recoverLayer()
	x, err := c.g.layer.Operator().Begin(c.r.Context(), c.dialect, c.whole, who)
	if err != nil {
		return nil
	}
	return x
}

// recoverLayer must be deferred. After a panic of the layer, the call continues without knowledge.
func (c *call) recoverLayer() {
	if p := recover(); p != nil {
		c.g.o.Log.Error("the request goes on without knowledge", "cause", fmt.Sprint(p))
	}
}

// modifyResponse adds Ken's headers to the upstream's answer and starts to observe its body.
func (g *Gateway) modifyResponse(resp *http.Response) error {
	c := callOf(resp.Request.Context())
	c.up.note(g.o.Now(), resp.StatusCode, "")
	if resp.StatusCode == http.StatusSwitchingProtocols {
		c.w.status, c.w.first = resp.StatusCode, g.o.Now()
		if conn, ok := resp.Body.(io.ReadWriteCloser); ok && c.socket != nil {
			resp.Body = c.socket.open(conn)
		}
		return nil
	}
	if instead := c.localAnswer(resp); instead != nil {
		return c.replace(resp, instead)
	}
	c.suppressDefaults(resp.Header)
	g.countStatus(resp.StatusCode)
	resp.Body, c.meter = &upstreamBody{ReadCloser: resp.Body, c: c}, c.newMeter(resp)
	if c.exchange != nil {
		c.untouched = c.exchange.Untouched
	}
	if c.untouched != "" {
		resp.Header.Set("X-Ken-Untouched", c.untouched)
	}
	if c.exchange != nil {
		c.setHeaders(resp.Header)
		c.exchange.Guard(resp, c.settings.cfg.Taint, g.countTaint)
		var onAnswer func(wire.Observed) // nil avoids needless work
		if c.client != nil {
			onAnswer = spanEnder(c.client, resp.StatusCode)
		}
		c.exchange.Listen(resp, onAnswer)
	}
	c.w.early = resp.ContentLength < 0
	return nil
}

// countStatus counts a status that means the upstream failed.
func (g *Gateway) countStatus(status int) {
	switch {
	case status == http.StatusTooManyRequests:
		g.o.beside.Metrics.UpstreamError("rate_limited")
	case status >= http.StatusInternalServerError:
		g.o.beside.Metrics.UpstreamError("server")
	}
}

// countTaint counts tool calls that repeat external claims.
func (g *Gateway) countTaint(found []ken.Taint) {
	for range found {
		g.o.beside.Metrics.Taint(string(g.settings.Load().cfg.Taint))
	}
}

// suppressDefaults prevents net/http from adding headers that the upstream did not send.
func (c *call) suppressDefaults(from http.Header) {
	for _, name := range []string{"Content-Type", "Date"} {
		if _, ok := from[name]; !ok {
			c.w.Header()[name] = nil
		}
	}
}

// setHeaders adds Ken's headers to the answer. They replace the upstream's headers of the same
// name, because clients look up their turn by them. In Server-Timing the upstream's entries stay,
// before Ken's.
func (c *call) setHeaders(h http.Header) {
	r := &c.exchange.Receipt
	h.Del("X-Ken-Policy")
	if r.Policy != "" {
		h.Set("X-Ken-Policy", r.Policy)
	}
	h.Del("X-Ken-Turn")
	if r.Turn != "" { // a turn that leaves no trace can't be looked up
		h.Set("X-Ken-Turn", r.Turn)
	}
	if c.side {
		h.Set("X-Ken-Mode", "side")
		return
	}
	h.Set("X-Ken-Mode", string(r.Mode))
	spent := r.MS
	if r.Reused { // a reused block has the stages of an earlier request
		spent = map[string]float64{"total": spent["total"]}
	}
	h.Add("Server-Timing", timing(spent))
}

// timing formats the durations of the layer for Server-Timing: ken is the total, and ken-STAGE a
// part of it.
func timing(spent map[string]float64) string {
	b := make([]byte, 0, 128)
	b = append(b, "ken;dur="...)
	b = strconv.AppendFloat(b, spent["total"], 'f', 3, 64)
	var stages []string
	for name := range spent {
		if name != "total" && headerSafe(name) {
			stages = append(stages, name)
		}
	}
	slices.Sort(stages)
	for _, name := range stages {
		b = append(b, ", ken-"...)
		b = append(b, name...)
		b = append(b, ";dur="...)
		b = strconv.AppendFloat(b, spent[name], 'f', 3, 64)
	}
	return string(b)
}

// headerSafe reports whether a name needs no quotes in a header.
func headerSafe(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}

// spanEnder returns a function that ends span with the model's answer.
func spanEnder(span *trace.Span, status int) func(wire.Observed) {
	return func(h wire.Observed) {
		u := h.Answer.Usage
		a := trace.Answer{ID: h.Answer.ID, Model: h.Answer.Model, Input: u.Input, Output: u.Output, Cached: u.Cached}
		if h.Answer.Finish != "" {
			a.Finish = []string{h.Answer.Finish}
		}
		span.Answer(a)
		span.End(status, nil)
	}
}

// applyPolicy decides whether a model call gets knowledge and is learned from. The first matching
// rule of the configuration decides. Without one, a side call gets nothing and is not recorded,
// unless it has the header X-Ken: on. A rule never overrides a client that asks for less.
func (c *call) applyPolicy(r *wire.Request, t *ken.Turn) {
	rules := c.settings.cfg.Policy
	for i := range rules {
		if !c.matchesRule(&rules[i], r, t) {
			continue
		}
		t.Policy = "policy[" + strconv.Itoa(i) + "]"
		if isFalse(rules[i].Knowledge) {
			t.Weight = ken.WeightNone
		}
		t.Incognito = t.Incognito || isFalse(rules[i].Learn)
		return
	}
	if c.headers.on {
		return
	}
	if kind := sideCallOf(r, wire.NamesIn(c.r.Header).Agent); kind != "" {
		c.side = true
		t.Policy = "side:" + kind
		t.Weight, t.Incognito = ken.WeightNone, true
	}
}

// matchesRule reports whether a call meets all conditions of a rule.
func (c *call) matchesRule(p *config.PolicyRule, r *wire.Request, t *ken.Turn) bool {
	return (p.Model == "" || matches(p.Model, r.Model)) &&
		(p.Path == "" || matches(p.Path, c.raw) || matches(p.Path, strings.TrimRight(c.raw, "/"))) &&
		(p.Agent == "" || matches(p.Agent, t.Agent) || matches(p.Agent, wire.NamesIn(c.r.Header).Agent) || matches(p.Agent, c.r.UserAgent())) &&
		(p.Key == "" || p.Key == c.who.Name) &&
		(p.Tools == nil || *p.Tools == (r.Tools > 0))
}

func isFalse(b *bool) bool { return b != nil && !*b }

// matches is access.Match, ignoring case.
func matches(pattern, s string) bool {
	return access.Match(strings.ToLower(pattern), strings.ToLower(s))
}
