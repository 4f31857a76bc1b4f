package model

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	api "github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/embed/exchange"
)

// Keys of the configuration that errors refer to.
const (
	fieldModel   = "harvest.model"
	fieldURL     = "harvest.base_url"
	fieldKey     = "harvest.api_key_env"
	fieldTimeout = "harvest.timeout"
	fieldWindow  = "harvest.window"
)

const (
	tryURL  = "Check " + fieldURL + ", or upstream.base_url when that is empty: it usually ends in /v1."
	tryRun  = "See that the endpoint runs, and check " + fieldURL + ", or upstream.base_url when that is empty."
	tryKey  = "Put a valid key into the environment variable that " + fieldKey + " names, or upstream.api_key_env when that is empty."
	tryName = "Set " + fieldModel + " to one that the endpoint serves, or leave it empty to extract by rules."
)

// check returns an error for options that can't work.
func (c *Client) check() error {
	if c.alternative != nil {
		return nil
	}
	if c.opts.Model == "" {
		return &ken.Error{Code: ken.CodeInvalid, Field: fieldModel, Msg: "no model is named", Try: tryName}
	}
	if c.opts.BaseURL == "" {
		return &ken.Error{Code: ken.CodeInvalid, Field: fieldURL, Msg: "empty, and so is upstream.base_url",
			Try: "Set one of them to where " + fieldModel + " is served, as in http://127.0.0.1:11434/v1."}
	}
	u, err := url.Parse(c.opts.BaseURL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return &ken.Error{Code: ken.CodeInvalid, Field: fieldURL, Msg: "not an http or https address", Try: "Write it as in http://127.0.0.1:11434/v1, here or in upstream.base_url."}
	}
	return nil
}

// withoutPassword returns an address without its password, for errors and logs.
func withoutPassword(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the address"
	}
	return u.Redacted()
}

// explain converts the result of a request to an error for the user. ctx is the
// caller's. talk is what was sent; the error must not contain any of it.
func (c *Client) explain(ctx context.Context, x *reply, err error, talk []turn) error {
	said := func(did string) string { return c.endpointMessage(x, did, talk) }
	switch {
	case ctx.Err() != nil:
		return &ken.Error{Code: ken.CodeUnavailable, Msg: "extraction with " + c.opts.Model + " was stopped",
			Try: "Run it again: the session's messages are kept. If it takes too long, choose a faster " + fieldModel + ".", Err: ctx.Err()}
	case errors.Is(err, api.ErrChatCompletionInvalidModel):
		return &ken.Error{Code: ken.CodeInvalid, Field: fieldModel, Msg: c.opts.Model + " is no chat model", Try: tryName, Err: err}
	case x.Status == 0:
		return c.unreachable(err)
	case x.OK():
		return c.unreadable(x, talk)
	case x.Status == http.StatusUnauthorized || x.Status == http.StatusForbidden:
		return &ken.Error{Code: ken.CodeInvalid, Field: fieldKey, Msg: said("refused the key"), Try: tryKey}
	case x.Status == http.StatusTooManyRequests:
		return &ken.Error{Code: ken.CodeUnavailable, Msg: said("has had too many requests"),
			Try: "Wait, ask for a higher limit or quota, or set another " + fieldModel + ".", Err: x.Throttled()}
	case x.Status >= 500 || x.Status == http.StatusRequestTimeout:
		return &ken.Error{Code: ken.CodeUnavailable, Msg: said("failed"), Try: "See the endpoint's own log, or set another " + fieldModel + ".", Err: x.Throttled()}
	case x.Status == http.StatusNotFound || x.aboutModel():
		return c.notServed(ctx, x, talk)
	case x.aboutLength() || x.Status == http.StatusRequestEntityTooLarge:
		return &ken.Error{Code: ken.CodeInvalid, Field: fieldWindow, Msg: said("accepts only shorter requests"),
			Try: "Set " + fieldWindow + " to the tokens that " + c.opts.Model + " reads at once, or choose another " + fieldModel + "."}
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: fieldModel, Msg: said("refused the request"),
		Try: "See that " + fieldModel + " is a chat model, and what the endpoint's own log says."}
}

// unreachable explains why there was no answer.
func (c *Client) unreachable(err error) error {
	if errors.Is(err, exchange.ErrTooLong) {
		return &ken.Error{Code: ken.CodeInvalid, Field: fieldURL, Msg: c.address + " does not answer like a chat API", Try: tryURL, Err: err}
	}
	msg, late := exchange.Unreachable(c.address, err)
	try := tryRun
	if late {
		try = "Raise " + fieldTimeout + ", or set " + fieldModel + " to a faster model."
	}
	return &ken.Error{Code: ken.CodeUnavailable, Msg: msg, Try: try, Err: err}
}

// unreadable explains a successful response that can't be parsed.
func (c *Client) unreadable(x *reply, talk []turn) error {
	if x.IsPage() {
		return &ken.Error{Code: ken.CodeInvalid, Field: fieldURL, Msg: c.address + " answered with a web page instead of JSON", Try: tryURL}
	}
	did := "answered with something that is not the API's JSON"
	if x.ErrorField() != "" { // 200 with an error inside
		did = "answered with an error"
	}
	return &ken.Error{Code: ken.CodeUnavailable, Msg: c.endpointMessage(x, did, talk), Try: "See the endpoint's own log, and check " + fieldModel + "."}
}

// notServed explains that the endpoint does not know the model, and lists those
// that it serves.
func (c *Client) notServed(ctx context.Context, x *reply, talk []turn) error {
	out := &ken.Error{Code: ken.CodeInvalid, Field: fieldModel, Msg: c.endpointMessage(x, "does not know "+c.opts.Model, talk),
		Try: "Check " + fieldModel + ". If it is right: " + strings.ToLower(tryURL[:1]) + tryURL[1:]}
	ctx, cancel := context.WithTimeout(ctx, min(c.opts.Timeout, 2*time.Second))
	defer cancel()
	list, err := c.client(c.reply()).ListModels(ctx)
	if err != nil || len(list.Models) == 0 {
		return out
	}
	const most = 12
	var names []string
	for _, m := range list.Models {
		names = append(names, m.ID)
	}
	if slices.Contains(names, c.opts.Model) {
		out.Msg = c.endpointMessage(x, "serves "+c.opts.Model+", which is no chat model", talk)
		out.Try = "Set " + fieldModel + " to a chat model."
		return out
	}
	slices.Sort(names)
	more := ""
	if n := len(names) - most; n > 0 {
		names, more = names[:most], fmt.Sprintf(" and %d more", n)
	}
	out.Msg = fmt.Sprintf("%s is not served at %s: it serves %s%s", c.opts.Model, c.address, exchange.Clip(strings.Join(names, ", "), 600), more)
	out.Try = tryName
	return out
}

// The frame of what is sent. Every line of content starts with linePrefix, so
// that no content can be taken for a line of the frame. This needs no secret
// delimiter.
const (
	transcriptOpen  = "----- transcript -----"
	transcriptClose = "----- end of transcript -----"
	partsOpen       = "----- parts -----"
	partsClose      = "----- end of parts -----"
	linePrefix      = "| "
)

// Limits of what is shown of a message. The output of tools is mostly noise for
// this task, and findings are extracted from it without a model. toolChars and
// callChars are in characters.
const (
	toolChars = 1500
	callChars = 300
	mostCalls = 8
)

// quoted writes text as lines of content, without blank lines. Markers of the
// layer and control tokens of chat templates are neutralised first.
func quoted(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(guardrail.Neutralize(guardrail.Sanitize(text)), "\n") {
		if strings.TrimSpace(line) != "" {
			b.WriteString(linePrefix + line + "\n")
		}
	}
	return b.String()
}

// header returns the first line of a message. It has the day if that differs from
// the day of the message before.
func (m *message) header(day string) string {
	who := m.who.String()
	if m.tool != "" {
		who += " " + m.tool
	}
	if m.day != "" && m.day != day {
		who += ", " + m.day
	}
	return fmt.Sprintf("=== message %d: %s ===\n", m.seq, who)
}

// content returns a message's text and calls, as they are shown if there is room.
func (m *message) content() string {
	var b strings.Builder
	if m.who == tool {
		b.WriteString(middle(m.text, m.shown))
	} else {
		b.WriteString(m.text)
	}
	for i, call := range m.calls {
		if i == mostCalls {
			fmt.Fprintf(&b, "\n(and %d more calls)", len(m.calls)-i)
			break
		}
		b.WriteString("\n(calls " + call + ")")
	}
	return b.String()
}

// body returns the content as it is sent, shortened in its middle to room tokens,
// and the number of its tokens.
func (c *Client) body(m *message, room int) (string, int) {
	text := m.content()
	body := quoted(text)
	n := estimate(body)
	for keep := utf8.RuneCountInString(text); n > room && keep > 0; {
		keep = min(keep*9/10, int(float64(keep)*0.95*float64(room)/float64(n)))
		body = quoted(middle(text, keep))
		n = estimate(body)
	}
	return body, n
}

// middle returns the first and the last characters of text, keep in total, with a
// note on what is missing between them.
func middle(text string, keep int) string {
	n := utf8.RuneCountInString(text)
	if n <= keep {
		return text
	}
	head := offset(text, (keep+1)/2)
	tail := head + offset(text[head:], n-keep)
	return fmt.Sprintf("%s\n[… %d characters left out …]\n%s", text[:head], n-keep, text[tail:])
}

// offset returns the position in bytes after the first n characters of text.
func offset(text string, n int) int {
	for i := range text {
		if n == 0 {
			return i
		}
		n--
	}
	return len(text)
}
