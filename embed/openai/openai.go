package openai

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	api "github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/embed/exchange"
)

var _ embed.Embedder = (*Embedder)(nil)

// Options configures an Embedder. Model is required, zero is the default of the
// rest.
type Options struct {
	// BaseURL is the API's address up to and with its version, such as
	// "http://127.0.0.1:11434/v1"; "" means https://api.openai.com/v1.
	BaseURL string
	// Key is sent as a bearer token; "" sends none.
	Key string
	// Model is the embedding model's name at the gateway.
	Model string
	// Dimensions is requested from the gateway, and vectors of other dimensions are
	// refused; <= 0 uses the model's default.
	Dimensions int
	// Batch is the maximum number of texts in a request; <= 0 means 64.
	Batch int
	// BatchBytes is the maximum size of the texts in a request; <= 0 means 256 KiB.
	BatchBytes int
	// TextBytes is the length at which a text is cut; <= 0 means 16 KiB: about 4,000 tokens of
	// English, and seldom more than OpenAI's limit of 8,192 in other scripts.
	// Lower it for models with a shorter context.
	TextBytes int
	// Timeout of one request; <= 0 means 30 s.
	Timeout time.Duration
}

// Embedder is an embed.Embedder over HTTP. Close it when done.
type Embedder struct {
	opts    Options
	address string // the base URL without parts that must not be shown
	http    *http.Client
	dim     atomic.Int64 // 0 until known
}

// New checks the options. It sends nothing.
func New(o Options) (*Embedder, error) {
	if o.Model == "" {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: fieldModel, Msg: "no embedding model is named",
			Try: "Set " + fieldModel + " to one that GET /v1/models of your gateway lists."}
	}
	o.BaseURL = cmp.Or(o.BaseURL, "https://api.openai.com/v1")
	u, err := url.Parse(o.BaseURL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: fieldURL, Msg: "not an http or https address",
			Try: "Write it as in http://127.0.0.1:11434/v1."}
	}
	o.Dimensions = max(o.Dimensions, 0)
	o.Batch = cmp.Or(max(o.Batch, 0), 64)
	o.BatchBytes = cmp.Or(max(o.BatchBytes, 0), 256<<10)
	o.TextBytes = cmp.Or(max(o.TextBytes, 0), 16<<10)
	o.Timeout = cmp.Or(max(o.Timeout, 0), 30*time.Second)
	e := &Embedder{opts: o, address: u.Redacted(), http: &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSHandshakeTimeout: 5 * time.Second,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 4,
		IdleConnTimeout:     90 * time.Second,
	}}}
	e.dim.Store(int64(o.Dimensions))
	return e, nil
}

// Model implements embed.Embedder: "openai:" and the model's name, with "@" and the
// dimensions when they are set. It doesn't contain the address: a model keeps its
// vectors when its address changes.
func (e *Embedder) Model() string {
	name := "openai:" + e.opts.Model
	if e.opts.Dimensions > 0 {
		name += fmt.Sprintf("@%d", e.opts.Dimensions)
	}
	return name
}

// Dim implements embed.Embedder: the configured number, or that of the first response.
func (e *Embedder) Dim() int { return int(e.dim.Load()) }

// Close closes idle connections. Running calls are not affected.
func (e *Embedder) Close() error {
	e.http.CloseIdleConnections()
	return nil
}

// Embed implements embed.Embedder.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(texts))
	var send []string
	var at []int
	for i, t := range texts {
		if t = cut(t, e.opts.TextBytes); strings.TrimSpace(t) != "" {
			send, at = append(send, t), append(at, i)
		}
	}
	for len(send) > 0 {
		n := e.batchSize(send)
		some, err := e.request(ctx, send[:n])
		if err != nil {
			return nil, err
		}
		for i, v := range some {
			vectors[at[i]] = v
		}
		send, at = send[n:], at[n:]
	}
	return vectors, nil
}

// batchSize returns how many of texts go into one request, at least one.
func (e *Embedder) batchSize(texts []string) int {
	n, bytes := 1, len(texts[0])
	for n < len(texts) && n < e.opts.Batch && bytes+len(texts[n]) <= e.opts.BatchBytes {
		bytes += len(texts[n])
		n++
	}
	return n
}

// cut returns at most limit bytes of text, ending at a rune boundary.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// request sends one batch and returns its vectors in order.
func (e *Embedder) request(ctx context.Context, texts []string) ([][]float32, error) {
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, e.opts.Timeout)
	defer cancel()
	x := &exchange.Exchange{HTTP: e.http, Limit: bodyLimit}
	answer, err := e.client(x).CreateEmbeddings(ctx, api.EmbeddingRequestStrings{
		Input:      texts,
		Model:      api.EmbeddingModel(e.opts.Model),
		Dimensions: e.opts.Dimensions,
	})
	if err != nil && x.OK() {
		answer, err = decodeBase64(x.Body, err)
	}
	if err != nil {
		return nil, e.explain(caller, x, err)
	}
	vectors, err := inOrder(answer.Data, len(texts))
	if err != nil {
		return nil, e.wrong(x, err.Error())
	}
	return vectors, e.accept(x, vectors)
}

// accept checks the vectors of a response and scales them to unit length.
func (e *Embedder) accept(x *exchange.Exchange, vectors [][]float32) error {
	for i, v := range vectors {
		if err := embed.Unit(v); err != nil {
			return e.wrong(x, fmt.Sprintf("vector %d: %v", i, err))
		}
		e.dim.CompareAndSwap(0, int64(len(v)))
		if dim := e.Dim(); len(v) != dim {
			return e.otherDimension(len(v), dim)
		}
	}
	return nil
}

// Models lists the models that the gateway serves, sorted.
func (e *Embedder) Models(ctx context.Context) ([]string, error) {
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, e.opts.Timeout)
	defer cancel()
	x := &exchange.Exchange{HTTP: e.http, Limit: bodyLimit}
	list, err := e.client(x).ListModels(ctx)
	if err != nil {
		return nil, e.explainList(caller, x, err)
	}
	names := make([]string, len(list.Models))
	for i, m := range list.Models {
		names[i] = m.ID
	}
	slices.Sort(names)
	return names, nil
}

func (e *Embedder) client(x *exchange.Exchange) *api.Client {
	config := api.DefaultConfig(e.opts.Key)
	config.BaseURL = e.opts.BaseURL
	config.HTTPClient = x
	return api.NewClientWithConfig(config)
}
