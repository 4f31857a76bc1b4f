package goopenai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/middleware/goopenai"
)

const question = "How often does the payments service retry a failed transfer?"

// open opens a layer that knows one fact.
func open(t testing.TB, change ...func(*middleware.Options)) *middleware.Layer {
	t.Helper()
	c := config.Default()
	c.Retrieval.Deadline = 30 * time.Second // a busy machine must not change what is found
	c.Repository.Index = false
	o := middleware.Options{Root: t.TempDir(), Config: &c, Foreground: true, Strict: true, Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&o)
	}
	l, err := middleware.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s, release, err := l.Store(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	claim, err := ken.NewClaim("The payments service retries a failed transfer three times.", ken.FromUserStatement("s", "m"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.WriteClaim(context.Background(), claim); err != nil {
		t.Fatal(err)
	}
	return l
}

// client is a go-openai client of a server that keeps what it is asked.
func client(t testing.TB, asked *[]openai.ChatCompletionMessage) *openai.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req openai.ChatCompletionRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Error(err)
		}
		*asked = req.Messages
		switch {
		case req.Model == "broke":
			w.WriteHeader(http.StatusPaymentRequired)
			io.WriteString(w, `{"error":{"message":"no credit","code":"insufficient_quota"}}`)
		case req.Model == "small" && len(req.Messages) > 1:
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"error":{"message":"This model's maximum context length is 40 tokens."}}`)
		case req.Model == "small, behind a proxy" && len(req.Messages) > 1:
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			io.WriteString(w, `<html>`)
		case req.Stream:
			w.Header().Set("Content-Type", "text/event-stream")
			for _, word := range []string{"three ", "times"} {
				fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\n", word)
			}
			io.WriteString(w, "data: [DONE]\n\n")
		default:
			io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"three times"}}]}`)
		}
	}))
	t.Cleanup(server.Close)
	c := openai.DefaultConfig("key")
	c.BaseURL = server.URL + "/v1"
	c.HTTPClient = server.Client()
	return openai.NewClientWithConfig(c)
}

func user(text string) openai.ChatCompletionMessage {
	return openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: text}
}

// A request that only its block makes too long for the model is answered all the same.
func TestABlockThatDoesNotFitLosesNoTurn(t *testing.T) {
	for _, model := range []string{"small", "small, behind a proxy"} {
		var asked []openai.ChatCompletionMessage
		w := goopenai.Wrap(open(t), client(t, &asked), ken.Turn{Session: "s"})
		r := openai.ChatCompletionRequest{Model: model, Messages: []openai.ChatCompletionMessage{user(question)}}
		resp, err := w.CreateChatCompletion(context.Background(), r)
		if err != nil || resp.Choices[0].Message.Content != "three times" || len(asked) != 1 {
			t.Errorf("%s: got %+v, %v", model, resp, err)
		}
		stream, err := w.CreateChatCompletionStream(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		if first, err := stream.Recv(); err != nil || first.Choices[0].Delta.Content != "three " {
			t.Errorf("%s: streamed %+v, %v", model, first, err)
		}
		stream.Close()
	}
}

func TestWrapCompletes(t *testing.T) {
	var asked []openai.ChatCompletionMessage
	w := goopenai.Wrap(open(t), client(t, &asked), ken.Turn{Session: "s"})
	// Room behind the messages shows whether the caller's slice is written to.
	msgs := append(make([]openai.ChatCompletionMessage, 0, 8), openai.ChatCompletionMessage{Role: "system", Content: "Be brief."}, user(question))
	before := slices.Clone(msgs[:cap(msgs)])
	resp, err := w.CreateChatCompletion(context.Background(), openai.ChatCompletionRequest{Model: "m", Messages: msgs})
	if err != nil || resp.Choices[0].Message.Content != "three times" {
		t.Fatalf("got %+v, %v", resp, err)
	}
	if len(asked) != 3 || !strings.HasPrefix(asked[1].Content, "[Pipeline Knowledge]") || asked[1].Role != "user" {
		t.Fatalf("asked %+v", asked)
	}
	if own := slices.Delete(asked, 1, 2); !cmp.Equal(own, msgs) {
		t.Error(cmp.Diff(msgs, own))
	}
	if diff := cmp.Diff(before, msgs[:cap(msgs)]); diff != "" {
		t.Errorf("the caller's messages changed: %s", diff)
	}
}

func TestWrapStreams(t *testing.T) {
	var asked []openai.ChatCompletionMessage
	w := goopenai.Wrap(open(t), client(t, &asked), ken.Turn{})
	stream, err := w.CreateChatCompletionStream(context.Background(), openai.ChatCompletionRequest{Model: "m", Messages: []openai.ChatCompletionMessage{user(question)}})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var words []string
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		words = append(words, r.Choices[0].Delta.Content)
	}
	if len(asked) != 2 || !cmp.Equal(words, []string{"three ", "times"}) {
		t.Errorf("asked %+v, got %q", asked, words)
	}
}

func TestWrapMerges(t *testing.T) {
	var asked []openai.ChatCompletionMessage
	w := goopenai.Wrap(open(t, func(o *middleware.Options) { o.Config.Injection.As = config.AsMerge }), client(t, &asked), ken.Turn{})
	parts := []openai.ChatMessagePart{{Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{URL: "https://x/y.png"}},
		{Type: openai.ChatMessagePartTypeText, Text: question}}
	before := slices.Clone(parts)
	for _, m := range []openai.ChatCompletionMessage{user(question), {Role: "user", MultiContent: parts}} {
		if _, err := w.CreateChatCompletion(context.Background(), openai.ChatCompletionRequest{Model: "m", Messages: []openai.ChatCompletionMessage{m}}); err != nil {
			t.Fatal(err)
		}
		got := asked[0].Content
		if m.MultiContent != nil {
			got = asked[0].MultiContent[0].Text + asked[0].MultiContent[2].Text
			if !cmp.Equal(before, asked[0].MultiContent[1:]) || !cmp.Equal(before, parts) {
				t.Errorf("asked %+v, and the caller's parts are %+v", asked, parts)
			}
		}
		if len(asked) != 1 || !strings.HasPrefix(got, "[Pipeline Knowledge]") || !strings.HasSuffix(got, "\n\n"+question) {
			t.Errorf("asked %+v", asked)
		}
	}
}

func TestWrapReadsMessages(t *testing.T) {
	var turn ken.Turn
	see := func(next middleware.Handler) middleware.Handler {
		return func(ctx context.Context, st *middleware.State) error { turn = st.Turn; return next(ctx, st) }
	}
	var asked []openai.ChatCompletionMessage
	w := goopenai.Wrap(open(t, func(o *middleware.Options) { o.Use = []middleware.Middleware{see} }), client(t, &asked),
		ken.Turn{ID: "not used", Agent: "a", Tools: 9})
	_, err := w.CreateChatCompletion(context.Background(), openai.ChatCompletionRequest{Model: "m",
		Tools: []openai.Tool{{Type: "function"}, {Type: "function"}},
		Messages: []openai.ChatCompletionMessage{
			{Role: "user", Name: "ada", MultiContent: []openai.ChatMessagePart{{Type: "text", Text: "a"},
				{Type: "image_url", ImageURL: &openai.ChatMessageImageURL{URL: "u", Detail: "low"}}, {Type: "text", Text: "b"}}},
			{Role: "assistant", ToolCalls: []openai.ToolCall{{ID: "1", Type: "function", Function: openai.FunctionCall{Name: "f", Arguments: "{}"}}}},
			{Role: "tool", ToolCallID: "1", Content: "r"},
			{Role: "assistant", FunctionCall: &openai.FunctionCall{Name: "g", Arguments: "[]"}},
		}})
	if err != nil {
		t.Fatal(err)
	}
	want := []ken.Message{
		{Role: "user", Name: "ada", Text: "a\nb", Parts: []ken.Part{{Type: "text", Text: "a"}, {Type: "image_url", Ref: "low u"}, {Type: "text", Text: "b"}}},
		{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: "1", Name: "f", Arguments: "{}"}}},
		{Role: "tool", ToolCallID: "1", Text: "r"},
		{Role: "assistant", ToolCalls: []ken.ToolCall{{Name: "g", Arguments: "[]"}}},
	}
	if diff := cmp.Diff(want, turn.Messages); diff != "" {
		t.Error(diff)
	}
	if turn.Model != "m" || turn.Tools != 2 || turn.Agent != "a" || turn.ID == "not used" {
		t.Errorf("got %+v", turn)
	}
}

func TestWrapErrorsAreTheClients(t *testing.T) {
	var asked []openai.ChatCompletionMessage
	w := goopenai.Wrap(open(t), client(t, &asked), ken.Turn{})
	r := openai.ChatCompletionRequest{Model: "broke", Messages: []openai.ChatCompletionMessage{user(question)}}
	_, err := w.CreateChatCompletion(context.Background(), r)
	var api *openai.APIError
	if !errors.As(err, &api) || api.HTTPStatusCode != 402 {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err = w.CreateChatCompletionStream(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// The receipt of a turn comes with the context of its call.
func TestWrapReceipt(t *testing.T) {
	type key struct{}
	var got ken.Receipt
	var from any
	l := open(t, func(o *middleware.Options) {
		o.OnReceipt = func(ctx context.Context, r ken.Receipt) { got, from = r, ctx.Value(key{}) }
	})
	var asked []openai.ChatCompletionMessage
	_, err := goopenai.Wrap(l, client(t, &asked), ken.Turn{Session: "s"}).CreateChatCompletion(
		context.WithValue(context.Background(), key{}, "request 7"), openai.ChatCompletionRequest{Model: "m", Messages: []openai.ChatCompletionMessage{user(question)}})
	if err != nil {
		t.Fatal(err)
	}
	if from != "request 7" || got.Session != "s" || len(got.Items) != 1 || got.Block != asked[0].Content {
		t.Errorf("from %v: %+v", from, got)
	}
}

// A turn in the context takes the place of the one that the client was wrapped with.
func TestTurnOfTheContext(t *testing.T) {
	var asked []openai.ChatCompletionMessage
	w := goopenai.Wrap(open(t), client(t, &asked), ken.Turn{Owner: "bob"})
	for _, tt := range []struct {
		ctx  context.Context
		want int
	}{{t.Context(), 1}, {ken.WithTurn(t.Context(), ken.Turn{Owner: ken.DefaultOwner}), 2}} {
		req := openai.ChatCompletionRequest{Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: question}}}
		if _, err := w.CreateChatCompletion(tt.ctx, req); err != nil || len(asked) != tt.want {
			t.Errorf("sent %d messages, want %d: %+v, %v", len(asked), tt.want, asked, err)
		}
	}
}

// A turn in the context that names no owner has the owner that the client was wrapped with.
func TestOwnerOfTheWrapped(t *testing.T) {
	var owner string
	l := open(t, func(o *middleware.Options) { o.OnReceipt = func(_ context.Context, r ken.Receipt) { owner = r.Owner } })
	var asked []openai.ChatCompletionMessage
	w := goopenai.Wrap(l, client(t, &asked), ken.Turn{Owner: "bob"})
	if _, err := w.CreateChatCompletion(ken.WithTurn(t.Context(), ken.Turn{Session: "later"}), openai.ChatCompletionRequest{Messages: []openai.ChatCompletionMessage{user(question)}}); err != nil || owner != "bob" {
		t.Errorf("the turn is of %q, %v", owner, err)
	}
}

// Conversations without a session are told apart by their beginnings and answers, and learned from.
func TestConversationsWithoutASession(t *testing.T) {
	l := open(t)
	var asked []openai.ChatCompletionMessage
	w := goopenai.Wrap(l, client(t, &asked), ken.Turn{})
	first := []openai.ChatCompletionMessage{user("My editor is Helix. Which one is yours?")}
	for _, messages := range [][]openai.ChatCompletionMessage{first,
		append(slices.Clone(first), openai.ChatCompletionMessage{Role: "assistant", Content: "three times"}, user("Our staging host is called Kestrel.")),
		{user("The mailer listens on port 8025.")}} {
		if _, err := w.CreateChatCompletion(t.Context(), openai.ChatCompletionRequest{Messages: messages}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.End(t.Context(), "", "no such session"); err != nil { // waits for the journal
		t.Fatal(err)
	}
	sessions, err := l.Operator().Journal("").List(t.Context())
	if err != nil || len(sessions) != 2 {
		t.Fatalf("sessions %+v, %v", sessions, err)
	}
	for _, s := range sessions {
		if err := l.End(t.Context(), "", s.ID); err != nil {
			t.Fatal(err)
		}
	}
	if report, err := l.Harvest(t.Context(), ""); err != nil || report.Done != 2 {
		t.Fatalf("%+v, %v", report, err)
	}
	for question, want := range map[string]string{"Which editor do I use?": "Helix", "What is our staging host called?": "Kestrel", "On which port does the mailer listen?": "8025"} {
		found, err := l.Recall(t.Context(), question)
		if err != nil || len(found.Claims) == 0 || !strings.Contains(found.Claims[0].Text, want) {
			t.Errorf("%s: %+v, %v", question, found.Claims, err)
		}
	}
}
