package model

import (
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken/internal/analysis"
)

// Options configures a Client. BaseURL and Model are required, zero is the default
// of the rest.
type Options struct {
	// BaseURL is the API's address up to and with its version, such as
	// "http://127.0.0.1:11434/v1". There is no default: a session must not leave
	// for a service that nobody named.
	BaseURL string
	// APIKey is sent as a bearer token; "" sends none.
	APIKey string
	// Model is the model's name at the endpoint.
	Model string
	// Timeout of one call; <= 0 means 2 minutes. A session may take several.
	Timeout time.Duration
	// Window is how many tokens the model reads at once, its answer included; 0
	// means 16,000, and less than 2,000 counts as 2,000: the rules alone are some 800.
	Window int
	// MaxFacts is the most facts of a draft; 0 means 12, < 0 none.
	MaxFacts int
	// FactChars is the most characters of a fact; <= 0 means 300.
	FactChars int
	// SummaryChars is the most characters of the summary; <= 0 means 1,500.
	SummaryChars int
	// HTTPClient sends the requests; nil means one of the Client's own, whose idle
	// connections Close drops. Its Timeout applies beside the one above.
	HTTPClient *http.Client
	// Count counts a text's tokens and must be safe for concurrent use; nil means
	// an estimate on the safe side for English: a third of the characters, each
	// character of a script without spaces counting as one.
	Count func(text string) int
	// Log hears of parts, repairs and formats that were refused, never of a text;
	// nil means slog.Default().
	Log *slog.Logger
}

// Client extracts drafts. It is safe for concurrent use.
type Client struct {
	opts    Options
	address string // the base URL as it may be shown
	own     bool   // the HTTP client is this Client's

	// What the endpoint was found to read, for the life of the Client.
	format atomic.Int32 // an index into formats
	warm   atomic.Bool  // it refuses a temperature
}

// New returns a Client. Nothing is sent yet, and faulty options are reported by
// the first Draft.
func New(o Options) *Client {
	o.Timeout = orDefault(o.Timeout, 2*time.Minute)
	o.Window = max(orDefault(o.Window, 16_000), 2000)
	if o.MaxFacts == 0 {
		o.MaxFacts = 12
	}
	o.MaxFacts = max(o.MaxFacts, 0)
	o.FactChars = orDefault(o.FactChars, 300)
	o.SummaryChars = orDefault(o.SummaryChars, 1500)
	if o.Count == nil {
		o.Count = estimate
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	c := &Client{opts: o, address: withoutPassword(o.BaseURL)}
	if o.HTTPClient == nil {
		c.own = true
		c.opts.HTTPClient = &http.Client{Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			TLSHandshakeTimeout: 5 * time.Second,
			ForceAttemptHTTP2:   true,
			IdleConnTimeout:     90 * time.Second,
		}}
	}
	return c
}

// Model is the name of the model that extracts.
func (c *Client) Model() string { return c.opts.Model }

// Close drops idle connections, unless the HTTP client was given. Calls in
// flight are not touched.
func (c *Client) Close() error {
	if c.own {
		c.opts.HTTPClient.CloseIdleConnections()
	}
	return nil
}

func orDefault[T int | time.Duration](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

// estimate counts tokens without a vocabulary. English has about four characters
// a token, code and JSON about three; Han, kana and Hangul have about one.
func estimate(text string) int {
	single, other := 0, 0
	for _, r := range text {
		if analysis.Unspaced(r) {
			single++
		} else {
			other++
		}
	}
	return single + (other+2)/3
}
