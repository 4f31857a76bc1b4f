package model

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	api "github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/embed/exchange"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/clean"
)

// bodyLimit is the maximum size of an answer, in bytes: a thousand times the usual size.
const bodyLimit = 8 << 20

// reply is the answer to one request.
type reply struct{ exchange.Exchange }

func (c *Client) reply() *reply {
	return &reply{exchange.Exchange{HTTP: c.http, Limit: bodyLimit}}
}

// Do sends the request. If the endpoint is a Ken, it must not learn from it.
func (x *reply) Do(req *http.Request) (*http.Response, error) {
	req.Header.Set("X-Ken", "off")
	return x.Exchange.Do(req)
}

// turn is one message of the conversation with the model after the rules.
type turn struct{ role, text string }

// formats are the ways to request JSON, the best first. Some endpoints refuse the first or
// the first two. With the last, only the prompt asks for JSON.
var formats = [...]api.ChatCompletionResponseFormatType{
	api.ChatCompletionResponseFormatTypeJSONSchema, api.ChatCompletionResponseFormatTypeJSONObject, "",
}

// minTemperature is used for a temperature of 0, which the library would omit.
const minTemperature = 1e-6

// ask sends a conversation and returns the model's text, and whether it was cut off. If the
// endpoint refuses a format or the temperature, ask repeats the request without it and
// remembers what worked.
func (c *Client) ask(ctx context.Context, t task, talk []turn) (text string, cut bool, err error) {
	size := estimate(t.system(true))
	for _, m := range talk {
		size += estimate(m.text)
	}
	if err := c.affordable(ctx, size); err != nil {
		return "", false, err
	}
	if c.alternative != nil {
		text, err = c.alternative(ctx, t, talk)
		if err == nil {
			c.charge(ctx, size+estimate(text))
		}
		return text, false, err
	}
	format, warm := c.format.Load(), c.noTemperature.Load()
	for {
		x, answer, err := c.send(ctx, t, talk, int(format), warm)
		if err == nil && len(answer.Choices) > 0 {
			c.format.Store(format)
			c.noTemperature.Store(warm)
			choice := answer.Choices[0]
			c.charge(ctx, cmp.Or(max(answer.Usage.TotalTokens, 0), size+estimate(choice.Message.Content)))
			return content(choice.Message), choice.FinishReason == api.FinishReasonLength, nil
		}
		switch {
		case ctx.Err() != nil:
		case !warm && (x.refuses("temperature") || errors.Is(err, api.ErrReasoningModelLimitationsOther) || errors.Is(err, api.ErrReasoningSamplingUnsupported)):
			warm = true
			continue
		case int(format) < len(formats)-1 && x.refusesFormat():
			format++
			c.opts.Log.LogAttrs(ctx, slog.LevelInfo, "the endpoint refuses a response format; asking without",
				slog.String("model", c.opts.Model), slog.String("refused", string(formats[format-1])))
			continue
		}
		return "", false, c.explain(ctx, x, err, talk)
	}
}

// send sends one request.
func (c *Client) send(ctx context.Context, t task, talk []turn, format int, warm bool) (*reply, api.ChatCompletionResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	req := api.ChatCompletionRequest{
		Model:    c.opts.Model,
		Messages: []api.ChatCompletionMessage{{Role: api.ChatMessageRoleSystem, Content: t.system(format > 0)}},
	}
	for _, m := range talk {
		req.Messages = append(req.Messages, api.ChatCompletionMessage{Role: m.role, Content: m.text})
	}
	if !warm {
		req.Temperature = float32(t.temperature)
	}
	if f := formats[format]; f != "" {
		req.ResponseFormat = &api.ChatCompletionResponseFormat{Type: f}
		if f == api.ChatCompletionResponseFormatTypeJSONSchema {
			req.ResponseFormat.JSONSchema = &api.ChatCompletionResponseFormatJSONSchema{Name: t.name, Schema: t.schema, Strict: true}
		}
	}
	x := c.reply()
	answer, err := c.client(x).CreateChatCompletion(ctx, req)
	return x, answer, err
}

func (c *Client) client(x *reply) *api.Client {
	config := api.DefaultConfig(c.opts.APIKey)
	config.BaseURL = strings.TrimSuffix(c.opts.BaseURL, "/")
	config.HTTPClient = x
	return api.NewClientWithConfig(config)
}

// content returns the text of a message, which may have several parts. A separate field for
// reasoning is ignored.
func content(m api.ChatCompletionMessage) string {
	if m.Content != "" {
		return m.Content
	}
	var b strings.Builder
	for _, p := range m.MultiContent {
		b.WriteString(p.Text)
	}
	return b.String()
}

// speaker is the author of a message, which decides what the message can prove.
type speaker uint8

const (
	tool speaker = iota // or an unknown author
	assistant
	user
)

func (s speaker) String() string { return [...]string{"tool", "assistant", "user"}[s] }

// message is an entry of the journal in the form that the model sees.
type message struct {
	seq     uint64
	who     speaker
	name    string // name of the person who speaks; may be empty
	day     string // such as 2026-05-15; "" if the journal does not know
	tool    string // name of the tool for a tool's message; may be empty
	text    string // cleaned text, in which quotes are searched for
	calls   []string
	folded  string // text in the form in which quotes are compared; "" until it is needed
	shown   int    // maximum number of characters that are shown of a tool's text
	consent int8   // whether the user's answer agreed to it: 0 until it is needed, then yes or no
}

// messages returns the messages of a transcript that the model reads. Messages of the
// program (system, developer) are left out, since they are no result of the session. Empty
// messages are left out, too.
//
// The texts in a journal are clean already. They are cleaned again because an unclean text
// must not be sent to an endpoint, and cleaning a clean text is cheap.
func messages(tr *session.Transcript) []message {
	var all []message
	tools := map[string]string{} // names by call
	for i := range tr.Entries {
		e := &tr.Entries[i]
		m := message{seq: e.Seq, shown: toolChars}
		if e.Message.Role == "user" { // users may write about tags of reasoning
			m.text = strings.TrimSpace(clean.PersonText(e.Message.Text))
		} else {
			m.text = cleaned(e.Message.Text)
		}
		switch e.Message.Role {
		case "system", "developer":
			continue
		case "user":
			m.who, m.name = user, e.Message.Name
		case "assistant":
			m.who, m.name = assistant, e.Message.Name
		default:
			m.tool = label(tools[e.Message.ToolCallID])
			if m.tool == "" {
				m.tool = label(e.Message.Name)
			}
		}
		for _, call := range e.Message.ToolCalls {
			tools[call.ID] = call.Name
			m.calls = append(m.calls, label(call.Name)+" "+middle(cleaned(call.Arguments), callChars))
		}
		if m.text == "" && len(m.calls) == 0 {
			continue
		}
		if !e.At.IsZero() {
			m.day = e.At.Format("2006-01-02")
		}
		all = append(all, m)
	}
	return all
}

// cleaned applies the same cleaning as every write.
func cleaned(text string) string { return strings.TrimSpace(clean.Text(text)) }

// label returns a name that can be part of a header: one short word, or "".
func label(name string) string {
	for i, r := range name {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		if !letter && !strings.ContainsRune("_.-/:", r) || i >= 64 {
			return ""
		}
	}
	return name
}

// Sampler asks the model of a client that is connected. most is how many tokens the answer may
// have. It returns the model's name beside its text.
type Sampler func(ctx context.Context, system, user string, most int) (text, model string, err error)

// Options configures a Client. One of these is required: BaseURL and Model, Command, or
// Sample. Other fields have defaults for the zero value.
type Options struct {
	// BaseURL is the API's address including its version, such as
	// "http://127.0.0.1:11434/v1". There is no default: a session must not be sent to a
	// service that nobody configured.
	BaseURL string
	// APIKey is sent as a bearer token; "" sends none.
	APIKey string
	// Model is the model's name at the endpoint.
	Model string
	// Command is a program with its arguments that is used instead of an address; see
	// command.go.
	Command []string
	// Sample asks the model of a connected client, instead of an address.
	Sample Sampler
	// Budget bounds the tokens of the requests; nil means no bound.
	Budget *Budget
	// Timeout is the timeout of one call; <= 0 means 2 minutes. A session may take several
	// calls.
	Timeout time.Duration
	// Window is the size of the model's context window in tokens, including its answer. 0
	// means 32,000. The minimum is 2,000, because the rules alone take about 800.
	Window int
	// MaxFacts is the maximum number of facts of a draft; 0 means 30, < 0 none.
	MaxFacts int
	// FactChars is the maximum length of a fact in characters; <= 0 means 300.
	FactChars int
	// Log receives messages about parts, repairs and refused formats, never the text of a
	// session. nil means slog.Default().
	Log *slog.Logger
}

// summaryChars is the maximum length of the summary in characters.
const summaryChars = 1500

// Client extracts drafts. It is safe for concurrent use.
type Client struct {
	opts    Options
	address string // the base URL without its password
	http    *http.Client

	// alternative sends one request if there is no address; otherwise it is nil.
	alternative func(ctx context.Context, t task, talk []turn) (string, error)

	// What the endpoint supports, as found out by earlier requests.
	format        atomic.Int32 // index into formats
	noTemperature atomic.Bool  // it refuses a temperature
}

// New returns a Client. It sends nothing; invalid options are reported by the first call.
func New(o Options) *Client {
	o.Timeout = orDefault(o.Timeout, 2*time.Minute)
	o.Window = max(orDefault(o.Window, 32_000), 2000)
	o.MaxFacts = cmp.Or(o.MaxFacts, 30)
	o.MaxFacts = max(o.MaxFacts, 0)
	o.FactChars = orDefault(o.FactChars, 300)
	o.Log = cmp.Or(o.Log, slog.Default())
	c := &Client{opts: o, address: withoutPassword(o.BaseURL), http: &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSHandshakeTimeout: 5 * time.Second,
		ForceAttemptHTTP2:   true,
		IdleConnTimeout:     90 * time.Second,
	}}}
	switch {
	case len(o.Command) > 0:
		c.opts.Model = cmp.Or(o.Model, programName(o.Command))
		c.alternative = c.runCommand
	case o.Sample != nil:
		c.opts.Model = cmp.Or(o.Model, "the client's model")
		c.alternative = c.sample
	}
	return c
}

// Model returns the name of the model that extracts.
func (c *Client) Model() string { return c.opts.Model }

// Close closes idle connections. Calls in progress are not affected.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

func orDefault[T int | time.Duration](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

// estimate estimates the number of tokens without a vocabulary. English has about four
// characters a token, code and JSON about three, and Han, kana and Hangul about one.
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
