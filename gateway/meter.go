package gateway

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/internal/run/telemetry/trace"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
	"github.com/kenlayer/ken/middleware"
)

// answerMeter reads what an answer says of itself: its model and its tokens. It gets the
// upstream's bytes while they pass, and changes none.
type answerMeter struct {
	answer *wire.Meter   // of a model call; nil for embeddings, and for what can't be read
	packed *bytes.Buffer // a compressed answer; nil for one that is not
	tail   []byte        // the end of an answer to embeddings, where its usage is
	bytes  int64
}

// Bounds of what a meter keeps: of a compressed answer, and of one to embeddings.
const (
	maxPacked = 4 << 20
	maxTail   = 1 << 10
)

// newMeter returns the meter of an answer; nil where there is nothing to be read.
func (c *gatewayCall) newMeter(resp *http.Response) *answerMeter {
	if resp.StatusCode/100 != 2 {
		return nil
	}
	m := &answerMeter{}
	switch {
	case c.route == model:
		m.answer = wire.NewMeter(c.dialect)
	case c.raw == compact:
		m.answer = wire.NewMeter(wire.Responses)
	case c.route != embeddings:
		return nil
	}
	switch encoding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		m.packed = &bytes.Buffer{}
	default: // it counts as one that does not say
		m.answer = nil
	}
	return m
}

func (m *answerMeter) take(p []byte) {
	m.bytes += int64(len(p))
	if m.packed != nil {
		if m.packed.Len()+len(p) <= maxPacked {
			m.packed.Write(p)
		}
		return
	}
	m.plain(p)
}

func (m *answerMeter) plain(p []byte) {
	if m.answer != nil {
		_, _ = m.answer.Write(p) // it never fails
		return
	}
	if m.tail = append(m.tail, p[max(0, len(p)-maxTail):]...); len(m.tail) > 2*maxTail {
		m.tail = append(m.tail[:0], m.tail[len(m.tail)-maxTail:]...)
	}
}

// Write is for what is unpacked.
func (m *answerMeter) Write(p []byte) (int, error) {
	m.plain(p)
	return len(p), nil
}

// read returns what the answer has said so far.
func (m *answerMeter) read() (name string, u wire.Usage, ok bool) {
	if m.packed != nil {
		if z, err := gzip.NewReader(m.packed); err == nil {
			_, _ = io.Copy(m, z) // what broke off says what it said
		}
		m.packed = nil
	}
	if m.answer != nil {
		return m.answer.Read()
	}
	const key = `"usage"`
	_, value, _ := bytes.Cut(m.tail[max(0, bytes.LastIndex(m.tail, []byte(key))):], []byte(key+":"))
	n := gjson.GetBytes(value, "prompt_tokens").Int()
	return "", wire.Usage{Input: int(n)}, n > 0
}

// account adds up what a request used, once it is over.
func (c *gatewayCall) account() {
	if m := c.meter; m != nil {
		c.answered, c.used, c.told = m.read()
	}
	if c.told {
		c.g.o.Metrics.Usage(c.answered, c.used.Input, c.used.Output, c.used.Cached)
	}
	if !c.counted {
		return
	}
	r := usage.Row{Key: c.who.Name, Owner: c.who.Owner, Requests: 1}
	if c.w.status/100 == 2 {
		r.Model = c.modelName()
	}
	switch {
	case c.told:
		r.Input, r.Output, r.Cached = int64(c.used.Input), int64(c.used.Output), int64(c.used.Cached)
		cost, priced := c.terms.cfg.Cost(c.modelName(), c.used.Input, c.used.Cached, c.used.Output)
		if r.Cost = cost; !priced {
			r.Unpriced = 1
		}
	case c.meter != nil:
		r.Unmetered, r.Estimated = 1, c.estimate()
	}
	c.g.o.Usage.Add(r)
}

// bytesPerToken is the average length of a token of English text.
const bytesPerToken = 4

// estimate returns the tokens that a budget counts for an answer without a token count:
// clients of OpenAI's chat completions decide whether a stream has one. A token is four bytes
// of the request, and an event of the answer's stream or four of its bytes.
func (c *gatewayCall) estimate() int64 {
	n := (max(c.r.ContentLength, 0) + bytesPerToken - 1) / bytesPerToken
	switch m := c.meter; {
	case c.route == embeddings: // vectors are no tokens
		return n
	case m.answer != nil && m.answer.Events() > 0:
		return n + int64(m.answer.Events())
	default:
		return n + m.bytes/bytesPerToken
	}
}

// modelName is the model of a call: as the answer names it, else as the request does.
func (c *gatewayCall) modelName() string {
	if c.answered != "" {
		return c.answered
	}
	if c.asks == "" {
		switch {
		case c.exchange != nil:
			c.asks = c.exchange.Turn.Model
		case c.route == embeddings:
			c.asks = c.wants.Model
		}
	}
	return c.asks
}

// look reads a call that may get what Ken knows; whole tells that there is all of it.
// Only headers that can't be read are a fault, because they may ask for less than what
// would be shown.
func (c *gatewayCall) look() *fault {
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
	c.roomForMessages()
	return nil
}

// turn returns the turn of a request: its owner, session and policy.
func (c *gatewayCall) turn(r *wire.Request) ken.Turn {
	t := c.asked.turn(c.who) // the owner is never of the body
	t.Session = wire.SessionOf(t.Owner, t.Session, r)
	t.Parent = wire.NameOf(t.Owner, t.Parent)
	c.decide(r, &t)
	return t
}

// preview puts into a request that counts tokens what the model call would carry.
func (c *gatewayCall) preview() *fault {
	if f := c.look(); f != nil || !c.isWhole || c.untouched != "" {
		return f
	}
	defer c.survive()
	if body, err := c.g.layer.Preview(c.r.Context(), c.dialect, c.whole, c.turn); err == nil {
		c.set(body)
	}
	return nil
}

// extend puts what Ken knows into a model call. Whatever goes wrong with knowledge,
// the call goes on without.
func (c *gatewayCall) extend() *fault {
	if f := c.look(); f != nil || !c.isWhole || c.untouched != "" {
		return f
	}
	c.know(nil)
	if c.exchange != nil { // else the upstream says what is wrong with it
		c.set(c.exchange.Body)
	}
	return nil
}

// roomForMessages takes room for what many short messages need beyond their bytes. Without it,
// the body is not looked into.
func (c *gatewayCall) roomForMessages() bool {
	if more := messageBytes*bytes.Count(c.whole, []byte(`"role"`)) - len(c.whole); more > 0 && !c.hold(more) {
		c.untouched = tooMany
		return false
	}
	return true
}

// know has the layer look into the body, and sets exchange unless the body is no request of
// its dialect. change, which may be nil, can change the request and its turn before.
func (c *gatewayCall) know(change func(*wire.Request, *ken.Turn)) {
	var model string
	var stream bool
	c.exchange = c.begin(func(r *wire.Request) ken.Turn {
		model, stream = r.Model, r.Stream
		t := c.turn(r)
		if change != nil {
			change(r, &t)
		}
		return t
	})
	if c.exchange != nil && c.exchange.Receipt.Policy != "" {
		c.g.o.Metrics.Policy(c.exchange.Receipt.Policy)
	}
	if c.exchange != nil && c.exchange.Busy {
		c.untouched = tooBusy
	}
	if c.exchange != nil && c.g.o.Tracer != nil && c.up != nil {
		port, _ := strconv.Atoi(c.up.base.Port())
		provider := "openai"
		switch c.dialect {
		case wire.Messages:
			provider = "anthropic"
		case wire.Ollama:
			provider = "ollama"
		}
		ctx, span := c.g.o.Tracer.Chat(c.r.Context(), trace.Call{Model: model, Provider: provider, Server: c.up.base.Hostname(), Port: port,
			Conversation: c.exchange.Turn.Session, Stream: stream})
		c.r, c.client = c.r.WithContext(ctx), span
	}
}

// begin is the layer's part; nil when the body is none of its dialect, and when
// the layer failed in a way that it should not.
func (c *gatewayCall) begin(who func(*wire.Request) ken.Turn) (x *middleware.Exchange) {
	defer c.survive()
	x, err := c.g.layer.Begin(c.r.Context(), c.dialect, c.whole, who)
	if err != nil {
		return nil
	}
	return x
}

// survive keeps a failure of the layer from the call, which goes on without knowledge.
func (c *gatewayCall) survive() {
	if p := recover(); p != nil {
		c.g.o.Log.Error("the request goes on without knowledge", "cause", fmt.Sprint(p))
	}
}

// modify adds to the upstream's answer what Ken has to say, and listens to it.
func (g *Gateway) modify(resp *http.Response) error {
	c := callOf(resp.Request.Context())
	c.up.note(g.o.Now(), resp.StatusCode, "")
	if resp.StatusCode == http.StatusSwitchingProtocols {
		c.w.status, c.w.first = resp.StatusCode, g.o.Now()
		if conn, ok := resp.Body.(io.ReadWriteCloser); ok && c.socket != nil {
			resp.Body = c.socket.open(conn)
		}
		return nil
	}
	if instead := c.instead(resp); instead != nil {
		return c.replace(resp, instead)
	}
	c.keepAbsent(resp.Header)
	g.countStatus(resp.StatusCode)
	resp.Body, c.meter = &answer{ReadCloser: resp.Body, c: c}, c.newMeter(resp)
	if c.untouched != "" {
		resp.Header.Set("X-Ken-Untouched", c.untouched)
	}
	if c.exchange != nil {
		c.annotate(resp.Header)
		c.exchange.Guard(resp, c.terms.cfg.Taint, g.tainted)
		var heard func(middleware.ObservedAnswer) // nil costs nothing
		if c.client != nil {
			heard = listener(c.client, resp.StatusCode)
		}
		c.exchange.Listen(resp, heard)
	}
	c.w.early = resp.ContentLength < 0
	return nil
}

// countStatus counts a status that says that the upstream failed.
func (g *Gateway) countStatus(status int) {
	switch {
	case status == http.StatusTooManyRequests:
		g.o.Metrics.UpstreamError("rate_limited")
	case status >= http.StatusInternalServerError:
		g.o.Metrics.UpstreamError("server")
	}
}

// tainted counts tool calls that repeat external claims.
func (g *Gateway) tainted(found []ken.Taint) {
	for range found {
		g.o.Metrics.Taint(string(g.terms.Load().cfg.Taint))
	}
}

// keepAbsent keeps net/http from adding headers that the upstream left out.
func (c *gatewayCall) keepAbsent(from http.Header) {
	for _, name := range []string{"Content-Type", "Date"} {
		if _, ok := from[name]; !ok {
			c.w.Header()[name] = nil
		}
	}
}

// annotate adds what Ken has to say to the answer's headers. Of the names that
// are Ken's alone the upstream's are replaced: a client looks up its turn by them. In
// Server-Timing the upstream's entries stay, first.
func (c *gatewayCall) annotate(h http.Header) {
	r := &c.exchange.Receipt
	h.Del("X-Ken-Policy")
	if r.Policy != "" {
		h.Set("X-Ken-Policy", r.Policy)
	}
	h.Del("X-Ken-Turn")
	if r.Turn != "" { // a call that leaves nothing has no turn that could be looked up
		h.Set("X-Ken-Turn", r.Turn)
	}
	if c.side {
		h.Set("X-Ken-Mode", "side")
		return
	}
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
func listener(span *trace.Span, status int) func(middleware.ObservedAnswer) {
	return func(h middleware.ObservedAnswer) {
		u := h.Answer.Usage
		a := trace.Answer{ID: h.Answer.ID, Model: h.Answer.Model, Input: u.Input, Output: u.Output, Cached: u.Cached}
		if h.Answer.Finish != "" {
			a.Finish = []string{h.Answer.Finish}
		}
		span.Answer(a)
		span.End(status, nil)
	}
}
