package gateway

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/middleware/wire"
	"github.com/kenlayer/ken/telemetry/trace"
)

// extend puts what Ken knows into a model call. Whatever goes wrong with knowledge,
// the call goes on without; only headers that can't be read are a fault, because
// they may ask for less than what would be shown.
func (c *call) extend() *fault {
	if f := c.asked.read(c.r.Header, c.g.scopes); f != nil {
		return f
	}
	if c.asked.off || c.body == nil {
		return nil
	}
	if c.untouched = c.unlookable(); c.untouched != "" {
		return nil
	}
	if f := c.read(); f != nil || !c.isWhole {
		return f
	}
	// Many short messages take more than their bytes.
	if more := messageBytes*bytes.Count(c.whole, []byte(`"role"`)) - len(c.whole); more > 0 && !c.hold(more) {
		c.untouched = tooMany
		return nil
	}
	var model string
	var stream bool
	c.exchange = c.begin(func(r *wire.Request) ken.Turn {
		model, stream = r.Model, r.Stream
		t := c.asked.turn(c.who) // the owner is never of the body
		t.Session = wire.SessionOf(t.Owner, t.Session, r)
		t.Parent = wire.NameOf(t.Owner, t.Parent)
		return t
	})
	if c.exchange == nil { // the upstream says what is wrong with it
		return nil
	}
	c.set(c.exchange.Body)
	if c.g.o.Tracer != nil && c.up != nil {
		port, _ := strconv.Atoi(c.up.base.Port())
		provider := "openai"
		if c.dialect == wire.Messages {
			provider = "anthropic"
		}
		ctx, span := c.g.o.Tracer.Chat(c.r.Context(), trace.Call{Model: model, Provider: provider, Server: c.up.base.Hostname(), Port: port,
			Conversation: c.exchange.Turn.Session, Stream: stream})
		c.r, c.client = c.r.WithContext(ctx), span
	}
	return nil
}

// begin is the layer's part; nil when the body is none of its dialect, and when
// the layer failed in a way that it should not.
func (c *call) begin(who func(*wire.Request) ken.Turn) (x *middleware.Exchange) {
	defer func() {
		if p := recover(); p != nil {
			c.g.o.Log.Error("the request goes on without knowledge", "cause", fmt.Sprint(p))
			x = nil
		}
	}()
	x, err := c.g.layer.Begin(c.r.Context(), c.dialect, c.whole, who)
	if err != nil {
		return nil
	}
	return x
}

// modify adds to the upstream's answer what Ken has to say, and listens to it.
func (g *Gateway) modify(resp *http.Response) error {
	c := callOf(resp.Request.Context())
	c.up.note(g.o.Now(), resp.StatusCode, "")
	if resp.StatusCode == http.StatusSwitchingProtocols {
		c.w.status, c.w.first = resp.StatusCode, g.o.Now()
		return nil
	}
	if instead := c.instead(resp); instead != nil {
		return c.replace(resp, instead)
	}
	c.keepAbsent(resp.Header)
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		g.o.Metrics.UpstreamError("rate_limited")
	case resp.StatusCode >= http.StatusInternalServerError:
		g.o.Metrics.UpstreamError("server")
	}
	resp.Body, c.meter = &answer{ReadCloser: resp.Body, c: c}, c.newMeter(resp)
	if c.untouched != "" {
		resp.Header.Set("X-Ken-Untouched", c.untouched)
	}
	if c.exchange != nil {
		c.annotate(resp.Header)
		c.exchange.Guard(resp, c.terms.cfg.Taint, g.tainted)
		var heard func(middleware.Heard) // nil costs nothing
		if c.client != nil {
			heard = listener(c.client, resp.StatusCode)
		}
		c.exchange.Listen(resp, heard)
	}
	c.w.early = resp.ContentLength < 0
	return nil
}

// tainted counts tool calls that repeat external claims.
func (g *Gateway) tainted(found []ken.Taint) {
	for range found {
		g.o.Metrics.Taint(string(g.terms.Load().cfg.Taint))
	}
}

// keepAbsent keeps net/http from adding headers that the upstream left out.
func (c *call) keepAbsent(from http.Header) {
	for _, name := range []string{"Content-Type", "Date"} {
		if _, ok := from[name]; !ok {
			c.w.Header()[name] = nil
		}
	}
}

// annotate adds what Ken has to say to the answer's headers. Of the two names that
// are Ken's alone the upstream's are replaced: a client looks up its turn by them. In
// Server-Timing the upstream's entries stay, first.
func (c *call) annotate(h http.Header) {
	r := &c.exchange.Receipt
	h.Set("X-Ken-Turn", r.Turn)
	h.Set("X-Ken-Mode", string(r.Mode))
	spent := r.MS
	if r.Reused { // the stages are those of the request that composed the block
		spent = map[string]float64{"total": spent["total"]}
	}
	h.Add("Server-Timing", timing(spent))
}

// timing writes what the layer spent as Server-Timing does: ken is all of it, and
// ken-STAGE a part.
func timing(spent map[string]float64) string {
	b := make([]byte, 0, 128)
	b = append(b, "ken;dur="...)
	b = strconv.AppendFloat(b, spent["total"], 'f', 3, 64)
	var stages []string
	for name := range spent {
		if name != "total" && token(name) {
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

// token reports a name that can stand in a header as it is.
func token(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}

// listener ends the call's span with what the model answered, once the client has it.
func listener(span *trace.Span, status int) func(middleware.Heard) {
	return func(h middleware.Heard) {
		u := h.Answer.Usage
		a := trace.Answer{ID: h.Answer.ID, Model: h.Answer.Model, Input: u.Input, Output: u.Output, Cached: u.Cached}
		if h.Answer.Finish != "" {
			a.Finish = []string{h.Answer.Finish}
		}
		span.Answer(a)
		span.End(status, nil)
	}
}
