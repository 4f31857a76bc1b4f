package gateway

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"path"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
)

// meter reads the model and the token counts of an answer from the upstream's bytes as they pass.
// It changes none of them.
type meter struct {
	answer     *wire.Meter   // for model calls; nil for embeddings, and for encodings that can't be read
	compressed *bytes.Buffer // the compressed answer; nil if it is not compressed
	tail       []byte        // the end of an embeddings answer, which has the usage
	bytes      int64
}

// Bounds in bytes of what a meter keeps: of a compressed answer, and of the end of an embeddings
// answer.
const (
	maxCompressed = 4 << 20
	maxTail       = 1 << 10
)

// newMeter returns the meter of an answer; nil if it has no usage to read.
func (c *call) newMeter(resp *http.Response) *meter {
	if resp.StatusCode/100 != 2 {
		return nil
	}
	m := &meter{}
	switch {
	case c.route == model:
		m.answer = wire.NewMeter(c.dialect)
	case c.route == pass && c.r.Method == http.MethodPost:
		d, ok := passedDialect(c.r.URL.Path)
		if !ok {
			return nil
		}
		m.answer = wire.NewMeter(d)
	case c.route != embeddings:
		return nil
	}
	switch encoding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		m.compressed = &bytes.Buffer{}
	default: // treated as an answer without token counts
		m.answer = nil
	}
	return m
}

// passedDialect returns the dialect of the answer of a model call that is passed on without knowledge. The
// path is decoded: an upstream may accept another spelling of a path, and budgets must count it, too.
func passedDialect(raw string) (wire.Dialect, bool) {
	switch raw = path.Clean(raw); raw {
	case compact:
		return wire.Responses, true
	case "/v1/completions":
		return wire.Chat, true
	case "/api/generate":
		return wire.Ollama, true
	}
	return wire.DialectOf(raw)
}

func (m *meter) add(p []byte) {
	m.bytes += int64(len(p))
	if m.compressed != nil {
		if m.compressed.Len()+len(p) <= maxCompressed {
			m.compressed.Write(p)
		}
		return
	}
	m.addPlain(p)
}

func (m *meter) addPlain(p []byte) {
	if m.answer != nil {
		_, _ = m.answer.Write(p) // never fails
		return
	}
	if m.tail = append(m.tail, p[max(0, len(p)-maxTail):]...); len(m.tail) > 2*maxTail {
		m.tail = append(m.tail[:0], m.tail[len(m.tail)-maxTail:]...)
	}
}

// Write implements io.Writer. It receives decompressed bytes.
func (m *meter) Write(p []byte) (int, error) {
	m.addPlain(p)
	return len(p), nil
}

// read returns the model and the token counts read so far; ok is false if there are no counts.
func (m *meter) read() (name string, u wire.Usage, ok bool) {
	if m.compressed != nil {
		if z, err := gzip.NewReader(m.compressed); err == nil {
			_, _ = io.Copy(m, z) // of an answer that broke off, read what there is
		}
		m.compressed = nil
	}
	if m.answer != nil {
		return m.answer.Read()
	}
	const key = `"usage"`
	_, value, _ := bytes.Cut(m.tail[max(0, bytes.LastIndex(m.tail, []byte(key))):], []byte(key+":"))
	n := gjson.GetBytes(value, "prompt_tokens").Int()
	return "", wire.Usage{Input: int(n)}, n > 0
}

// recordUsage records the usage of a request after it has ended.
func (c *call) recordUsage() {
	if m := c.meter; m != nil {
		c.answeringModel, c.used, c.usageKnown = m.read()
	}
	if c.usageKnown {
		c.g.o.beside.Metrics.Usage(c.answeringModel, c.used.Input, c.used.Output, c.used.Cached)
	}
	if !c.countUsage {
		return
	}
	r := usage.Row{Key: c.who.Name, Owner: c.who.Owner, Requests: 1}
	if c.w.status/100 == 2 {
		r.Model = c.modelName()
	}
	switch {
	case c.usageKnown:
		r.Input, r.Output, r.Cached = int64(c.used.Input), int64(c.used.Output), int64(c.used.Cached)
		cost, priced := c.settings.cfg.Cost(c.modelName(), c.used.Input, c.used.Cached, c.used.Output)
		if r.Cost = cost; !priced {
			r.Unpriced = 1
		}
		if a := c.meter.answer; a != nil && a.Partial() {
			r.Unmetered, r.Estimated = 1, int64(a.Events())
		}
	case c.meter != nil:
		r.Unmetered, r.Estimated = 1, c.estimate()
	}
	c.g.o.beside.Usage.Add(r)
}

// bytesPerToken is the average length of a token of English text.
const bytesPerToken = 4

// estimate returns the tokens that a budget counts for an answer without a token count. (In
// OpenAI's chat completions the client decides whether a stream has one.) It counts a token for
// every four bytes of the request, and for every event of the answer's stream or every four of its
// bytes.
func (c *call) estimate() int64 {
	n := (max(c.r.ContentLength, 0) + bytesPerToken - 1) / bytesPerToken
	switch m := c.meter; {
	case c.route == embeddings: // vectors have no tokens
		return n
	case m.answer != nil && m.answer.Events() > 0:
		return n + int64(m.answer.Events())
	default:
		return n + m.bytes/bytesPerToken
	}
}

// modelName returns the model of a call: the one in the answer or, if there is none, the one in the
// request.
func (c *call) modelName() string {
	if c.answeringModel != "" {
		return c.answeringModel
	}
	if c.requestedModel == "" {
		switch {
		case c.exchange != nil:
			c.requestedModel = c.exchange.Turn.Model
		case c.route == embeddings:
			c.requestedModel = c.embeddings.Model
		}
	}
	return c.requestedModel
}
