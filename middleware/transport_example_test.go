package middleware_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/middleware"
)

// printer takes the place of the network: it prints what would be sent.
type printer struct{}

func (printer) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	before, rest, _ := strings.Cut(string(body), `{"role":"user","content":"[Pipeline Knowledge]`)
	_, after, _ := strings.Cut(rest, `[/Pipeline Knowledge]"}`)
	fmt.Println(before + "BLOCK" + after)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: req}, nil
}

// ledger opens a layer with one claim.
func ledger() (*middleware.Layer, func()) {
	root, _ := os.MkdirTemp("", "ken")
	layer, err := middleware.Open(context.Background(), middleware.Options{Root: root, Foreground: true})
	if err != nil {
		panic(err)
	}
	store, release, err := layer.Store(context.Background(), "")
	if err != nil {
		panic(err)
	}
	defer release()
	claim, _ := ken.NewClaim("The ledger database runs PostgreSQL 15.", ken.FromFile("compose.yaml", "", ""))
	if _, err := store.WriteClaim(context.Background(), claim); err != nil {
		panic(err)
	}
	return layer, func() { layer.Close(); os.RemoveAll(root) }
}

func ExampleLayer_Transport() {
	layer, done := ledger()
	defer done()
	client := &http.Client{Transport: layer.Transport(printer{}, ken.Turn{Session: "s1"})}
	resp, err := client.Post("https://api.example.com/v1/chat/completions", "application/json", strings.NewReader(
		`{"model":"m","temperature":0,"messages":[{"role":"user","content":"Which database does the ledger run?"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	// Output:
	// {"model":"m","temperature":0,"messages":[BLOCK,{"role":"user","content":"Which database does the ledger run?"}]}
}

// OpenAI's Responses: an input that is a string becomes a list of two messages.
func ExampleLayer_Transport_responses() {
	layer, done := ledger()
	defer done()
	client := &http.Client{Transport: layer.Transport(printer{}, ken.Turn{Session: "s1"})}
	resp, err := client.Post("https://api.example.com/v1/responses", "application/json", strings.NewReader(
		`{"model":"m","instructions":"Be brief.","input":"Which database does the ledger run?"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	// Output:
	// {"model":"m","instructions":"Be brief.","input":[BLOCK,{"role":"user","content":"Which database does the ledger run?"}]}
}

// Anthropic's Messages: marks for the provider's cache stay where they are.
func ExampleLayer_Transport_messages() {
	layer, done := ledger()
	defer done()
	client := &http.Client{Transport: layer.Transport(printer{}, ken.Turn{Session: "s1"})}
	resp, err := client.Post("https://api.example.com/v1/messages", "application/json", strings.NewReader(
		`{"model":"m","max_tokens":99,"system":"Be brief.","messages":[{"role":"user","content":[{"type":"text","text":"Which database does the ledger run?","cache_control":{"type":"ephemeral"}}]}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	// Output:
	// {"model":"m","max_tokens":99,"system":"Be brief.","messages":[BLOCK,{"role":"user","content":[{"type":"text","text":"Which database does the ledger run?","cache_control":{"type":"ephemeral"}}]}]}
}

// A proxy puts a request and its answer through the layer by itself.
func ExampleExchange() {
	layer, done := ledger()
	defer done()
	body := []byte(`{"model":"m","prompt_cache_key":"0b7f9e2a-64a1-4a3e-8c57-d1f2e3a4b5c6","input":"Which database does the ledger run?"}`)
	x, err := layer.Operator().Begin(context.Background(), wire.Responses, body, func(r *wire.Request) ken.Turn {
		return ken.Turn{Owner: "ada", Session: wire.SessionOf("ada", "", r)}
	})
	if err != nil {
		fmt.Println(err) // pass it on as it is
		return
	}
	fmt.Println(x.Turn.Owner, x.Turn.Session, len(x.Body) > len(body))

	resp := &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader( // what the server says to x.Body
		`{"id":"resp_1","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"PostgreSQL 15."}]}]}`))}
	heard := make(chan wire.Observed)
	x.Listen(resp, func(h wire.Observed) { heard <- h })
	_, _ = io.Copy(io.Discard, resp.Body) // to the client
	h := <-heard
	fmt.Println(h.OK, h.Answer.ID, h.Answer.Finish, h.Answer.Message.Text)
	// Output:
	// ada 0b7f9e2a-64a1-4a3e-8c57-d1f2e3a4b5c6 false
	// true resp_1 completed PostgreSQL 15.
}
