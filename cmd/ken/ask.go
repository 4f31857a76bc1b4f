package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"github.com/sashabaranov/go-openai"
	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/middleware/goopenai"
)

// askOptions are ask's flags.
type askOptions struct {
	noIndex, noModel, all bool
	model                 string
	weight                string
}

func (a *app) askCommand() *cobra.Command {
	var o askOptions
	cmd := &cobra.Command{
		Use:   "ask [QUESTION|-]",
		Short: "Show what an agent would be told for a question, and ask the model if there is one",
		Long: "Index the project, compose the block that an agent would get with this question, and print it with a table of " +
			"what was found, by which leg at which rank, and what was cut and why. With upstream.base_url configured, the model " +
			"is then asked with that block, and its answer is streamed.\n\n" +
			"--json prints the receipt as one object and asks no model.",
		Example: `  ken ask "how are payments retried?"
  git diff | ken ask --json -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			question, err := a.text(args)
			if err != nil {
				return err
			}
			return a.ask(cmd.Context(), question, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.noIndex, "no-index", false, "use what is indexed already")
	f.BoolVar(&o.noModel, "no-model", false, "print the block and the table only")
	f.BoolVar(&o.all, "all", false, "list everything that was cut")
	f.StringVar(&o.model, "model", "", "the `model` to ask; default from the configuration")
	f.StringVar(&o.weight, "weight", "", "the `depth` of the search: none, low, default or high; default from the configuration")
	return cmd
}

func (a *app) ask(ctx context.Context, question string, o askOptions) error {
	turn := ken.Turn{Owner: a.owner}
	if o.weight != "" {
		if err := turn.Weight.UnmarshalText([]byte(o.weight)); err != nil {
			return usage{err}
		}
	}
	if !o.noIndex {
		if err := a.mayRead(); err != nil {
			return err
		}
	}
	p := a.progress()
	defer p.done()
	// The receipt is shown as soon as it is there, while the model thinks.
	var l *middleware.Layer
	var u *upstream
	var shown error
	l, err := a.layer(ctx, p, func(lo *middleware.Options) {
		lo.CountTokens = true
		lo.OnReceipt = func(ctx context.Context, r ken.Receipt) {
			shown = a.showReceipt(ctx, l, r, o.all)
			if u != nil {
				fmt.Fprintln(a.out)
			}
		}
	})
	if err != nil {
		return err
	}
	if cfg := l.Config().Upstream; cfg.BaseURL != "" && !o.noModel && !a.json {
		u = newUpstream(cfg, o.model)
	}
	if !o.noIndex {
		err = a.refresh(ctx, l, p)
	}
	if err == nil {
		err = a.askLayer(ctx, l, u, turn, question)
	}
	return errors.Join(err, shown, l.Close())
}

// refresh brings the layer up to date. It fails only when ctx ends: a turn goes
// on with what there is.
func (a *app) refresh(ctx context.Context, l *middleware.Layer, p *progress) error {
	_, err := l.Refresh(ctx, a.owner)
	p.done()
	if err != nil && ctx.Err() == nil {
		a.fail(err)
	}
	return ctx.Err()
}

// askLayer assembles the question's turn, and asks the model if there is one.
func (a *app) askLayer(ctx context.Context, l *middleware.Layer, u *upstream, t ken.Turn, question string) error {
	if u == nil {
		t.Messages = []ken.Message{{Role: openai.ChatMessageRoleUser, Text: question}}
		l.Assemble(ctx, t)
		return ctx.Err()
	}
	messages := []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: question}}
	_, err := u.stream(ctx, goopenai.Wrap(l, u.client, t), messages, a.out)
	return err
}

// upstream is the chat model that the configuration names.
type upstream struct {
	cfg    config.Upstream
	model  string
	client *openai.Client
}

// newUpstream returns the configured model, or another one of the same endpoint.
func newUpstream(c config.Upstream, model string) *upstream {
	o := openai.DefaultConfig(c.APIKey())
	o.BaseURL = c.BaseURL
	o.HTTPClient = &http.Client{Timeout: c.Timeout}
	return &upstream{cfg: c, model: cmp.Or(model, c.Model), client: openai.NewClientWithConfig(o)}
}

// stream asks the model through c, which is u's client or something in front of
// it, and writes the answer to w as it comes. What came is returned with any
// error, and the line that it ends on is closed.
func (u *upstream) stream(ctx context.Context, c goopenai.Client, messages []openai.ChatCompletionMessage, w io.Writer) (string, error) {
	m, err := u.exchange(ctx, c, messages, nil, w)
	return m.Content, err
}

// printable takes out what a terminal would obey.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// explainEnd says why a stream ended; nil when the answer is whole.
func (u *upstream) explainEnd(ctx context.Context, err error, answered int) error {
	switch {
	case answered > 0 && errors.Is(err, io.EOF):
		return nil
	case answered > 0:
		return u.explain(ctx, "the answer broke off", err)
	case errors.Is(err, io.EOF), errors.Is(err, openai.ErrTooManyEmptyStreamMessages):
		return &ken.Error{Code: ken.CodeInvalid, Msg: "the answer of " + u.model + " is empty",
			Try: "Check that upstream.model is a chat model, and that upstream.base_url ends in the API's version, such as /v1."}
	}
	return u.explain(ctx, "ask "+u.cfg.BaseURL, err)
}

// explain says what to try when something went wrong while doing this.
func (u *upstream) explain(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	status, said := u.refusal(err)
	e := &ken.Error{Code: ken.CodeUnavailable}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.Code, e.Msg = ken.CodeRefused, u.cfg.BaseURL+" refused the key"
		e.Try = "Put a valid key into the environment variable " + u.cfg.APIKeyEnv + "."
		if u.cfg.APIKeyEnv == "" {
			e.Try = "Put the key into an environment variable, and its name into upstream.api_key_env."
		}
	case status == http.StatusNotFound:
		e.Code, e.Msg = ken.CodeInvalid, u.cfg.BaseURL+" has no such path or no model "+u.model
		e.Try = "Set upstream.model to a model that is served, and upstream.base_url to an address that ends in the API's version; ken doctor checks both."
	case status == http.StatusTooManyRequests:
		e.Msg = u.cfg.BaseURL + " has had too many requests"
		e.Try = "Wait a little, or ask for a higher limit or quota."
	case status >= http.StatusInternalServerError:
		e.Msg, e.Try = u.cfg.BaseURL+" failed", "Ask again, or see the endpoint's own log."
	case status > 0:
		e.Code, e.Msg = ken.CodeInvalid, u.cfg.BaseURL+" refused the request"
		e.Try = "See the message; where the conversation has become too long, /new begins another."
	case said != "":
		e.Msg, e.Try = doing+": "+said, "Ask again, or see the endpoint's own log."
		return e
	default:
		return u.unreachable(doing, err)
	}
	e.Msg += fmt.Sprintf(" (%d)", status)
	if said != "" {
		e.Msg += ": " + said
	}
	return e
}

// unreachable explains an error that is the network's.
func (u *upstream) unreachable(doing string, err error) error {
	e := &ken.Error{Code: ken.CodeUnavailable, Try: "See that the endpoint runs, and check upstream.base_url."}
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Msg = "nothing listens at " + u.cfg.BaseURL
	case errors.As(err, &timeout) && timeout.Timeout():
		e.Msg = fmt.Sprintf("no whole answer within %v", u.cfg.Timeout)
		e.Try = "Raise upstream.timeout, or see whether the endpoint is overloaded."
	default:
		e.Msg, e.Err = doing, err
	}
	return e
}

// refusal takes an answer that is an error apart: its HTTP status, 0 inside a
// stream, and what the endpoint said, in one line without the key.
func (u *upstream) refusal(err error) (status int, said string) {
	var api *openai.APIError
	var req *openai.RequestError
	switch {
	case errors.As(err, &api):
		status, said = api.HTTPStatusCode, api.Message
	case errors.As(err, &req):
		status, said = req.HTTPStatusCode, string(req.Body)
		if strings.HasPrefix(strings.TrimSpace(said), "<") {
			said = "a web page"
		}
	}
	if key := u.cfg.APIKey(); key != "" {
		said = strings.ReplaceAll(said, key, "***")
	}
	return status, fit(cell(said), 300)
}

// shownCuts is how many cut records are listed unless all are asked for.
const shownCuts = 10

// showReceipt prints a receipt that the layer made: as JSON, or the block and
// under it how it came about.
func (a *app) showReceipt(ctx context.Context, l *middleware.Layer, r ken.Receipt, all bool) error {
	if a.json {
		return a.printJSON(r)
	}
	name := func(string) string { return "" }
	if s, release, err := l.Store(ctx, r.Owner); err == nil { // without it, only names are missing
		defer release()
		name = func(id string) string {
			c, err := s.Get(ctx, id)
			if err != nil {
				return ""
			}
			return cmp.Or(c.Heading, c.Text)
		}
	}
	a.printReceipt(r, name, all)
	return nil
}

// printReceipt shows a receipt to a person. name says what a record is called.
func (a *app) printReceipt(r ken.Receipt, name func(id string) string, all bool) {
	cause := ""
	if r.Cause != "" {
		cause = " (" + r.Cause + ")"
	}
	switch {
	case r.Block != "":
		fmt.Fprintln(a.out, printable(r.Block))
	case r.Mode == ken.ModeNone && cause != "":
		fmt.Fprintf(a.out, "No block: %s.\n", r.Cause)
		cause = ""
	default:
		fmt.Fprintln(a.out, "No block: nothing that is known bears on this.")
	}
	fmt.Fprintf(a.out, "\nmode %s%s · %d characters", r.Mode, cause, r.Chars)
	if r.Tokens > 0 {
		fmt.Fprintf(a.out, " · %d tokens", r.Tokens)
	}
	fmt.Fprintf(a.out, " · %.1f ms\n", r.MS["total"])
	for _, d := range r.Degraded {
		if d != r.Cause {
			fmt.Fprintf(a.out, "degraded: %s\n", d)
		}
	}
	a.printItems(r.Items)
	a.printCuts(r.Cut, name, all)
}

func (a *app) printItems(items []ken.Item) {
	if len(items) == 0 {
		return
	}
	rows := make([][]string, len(items))
	for i, it := range items {
		rows[i] = []string{short(it.ID), it.Tier.String(), legs(it.Legs), fmt.Sprintf("%.3f", it.Fused), strconv.Itoa(it.Chars),
			cmp.Or(it.Source, it.Heading, it.Text)}
	}
	fmt.Fprintln(a.out)
	a.printColumns([]string{"ID", "TIER", "FOUND BY", "SCORE", "CHARS", "SOURCE"}, rows)
}

func (a *app) printCuts(cuts []ken.Cut, name func(string) string, all bool) {
	if len(cuts) == 0 {
		return
	}
	count := map[ken.CutReason]int{}
	for _, c := range cuts {
		count[c.Reason]++
	}
	var parts []string
	for _, reason := range sortedKeys(count) {
		parts = append(parts, fmt.Sprintf("%d %s", count[reason], reason))
	}
	fmt.Fprintf(a.out, "\ncut: %s\n", strings.Join(parts, ", "))
	shown := cuts
	if !all && len(shown) > shownCuts {
		shown = shown[:shownCuts]
	}
	rows := make([][]string, len(shown))
	for i, c := range shown {
		rows[i] = []string{short(c.ID), why(c), name(c.ID)}
	}
	a.printColumns([]string{"ID", "WHY", "WHAT"}, rows)
	if len(shown) < len(cuts) {
		fmt.Fprintf(a.out, "… and %d more: ken ask --all lists them\n", len(cuts)-len(shown))
	}
}

// why is the reason of a cut with its detail.
func why(c ken.Cut) string {
	switch {
	case c.Detail == "":
		return string(c.Reason)
	case c.Reason == ken.CutDuplicate:
		return "duplicate of " + short(c.Detail)
	}
	return string(c.Reason) + ": " + c.Detail
}

// printColumns writes a table that is read in place, under the block that it
// explains: always with heads and aligned, unlike printTable.
func (a *app) printColumns(head []string, rows [][]string) {
	for _, row := range rows {
		for i := range row {
			row[i] = cell(row[i])
		}
	}
	for _, line := range align(head, rows, a.edge()) {
		fmt.Fprintln(a.out, line)
	}
}

// legs writes "keyword #1, vector #7".
func legs(m map[string]ken.LegScore) string {
	var parts []string
	for _, name := range sortedKeys(m) {
		parts = append(parts, fmt.Sprintf("%s #%d", name, m[name].Rank))
	}
	return strings.Join(parts, ", ")
}

// short is an id in a table: its tail, or what a symbol of the code is called.
func short(id string) string {
	if _, name, ok := codegraph.Split(id); ok {
		return name[strings.LastIndexByte(name, '/')+1:]
	}
	return tail(id)
}

// tail is the short form of an id: its end, because its front is the time. A
// block shows a few letters less of it.
func tail(id string) string { return id[max(0, len(id)-8):] }

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
