package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

const (
	marker   = "[Pipeline Knowledge]"
	question = "How often does the payments service retry a failed transfer?"
	claim    = "The payments service retries a failed transfer three times, ten seconds apart."
	plain    = "The payments service retries a failed transfer three times, “ten seconds” apart ✓"
	after    = "`retry.go` says so: three attempts, with ten seconds between them."
)

// heard keeps the bytes of every answer.
type heard struct{ bodies []*bytes.Buffer }

func (h *heard) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	b := new(bytes.Buffer)
	h.bodies = append(h.bodies, b)
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(resp.Body, b), resp.Body}
	return resp, nil
}

type calls func(ctx context.Context, c openai.Client) (any, error)

// TestOpenAI makes the same calls to the provider and through the gateway, and
// compares what the client was given, what came back, and what arrived.
func TestOpenAI(t *testing.T) {
	up := startUpstream(t)
	gate := startGateway(t, up, claim)
	for name, tt := range map[string]struct {
		queue  string // recordings for either side
		calls  calls
		want   any
		blocks []int
	}{
		"chat":                     {calls: chat, want: []string{plain, plain}, blocks: []int{1, 1}},
		"chat, streamed":           {calls: chatStream, want: plain, blocks: []int{1}},
		"a tool loop, streamed":    {calls: toolLoop, want: []string{`{"path":"payments/retry.go","lines":40}`, after}, blocks: []int{1, 1}},
		"responses":                {calls: respond, want: plain, blocks: []int{1}},
		"responses, streamed":      {calls: respondStream, want: plain, blocks: []int{1}},
		"embeddings and models":    {calls: rest, want: []any{0.5, 3}, blocks: []int{0, 0}},
		"too many requests":        {queue: `[{"recording":"error_429"}]`, calls: refused, want: []any{429, "rate_limit_exceeded", "20"}, blocks: []int{1}},
		"a web page":               {queue: `[{"recording":"error_502_html"}]`, calls: refused, want: []any{502, "", ""}, blocks: []int{1}},
		"a stream that breaks off": {queue: `[{"recording":"chat_stream","fault":"cut","n":2000}]`, calls: broken, want: "The payments service retries a", blocks: []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			side := func(url string, more ...option.RequestOption) (any, []*bytes.Buffer, []arrival) {
				t.Helper()
				if tt.queue != "" {
					up.next(t, tt.queue)
				}
				up.take(t)
				h := new(heard)
				c := openai.NewClient(append(more, option.WithBaseURL(url+"/v1"), option.WithAPIKey("sk-test"),
					option.WithMaxRetries(0), option.WithHTTPClient(&http.Client{Transport: h}))...)
				got, err := tt.calls(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				return got, h.bodies, up.take(t)
			}
			want, wantBodies, sent := side(up.url)
			got, bodies, arrived := side(gate, option.WithHeader("X-Ken-Session", name))
			if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, directly %v, want %v", got, want, tt.want)
			}
			if len(arrived) != len(tt.blocks) || len(sent) != len(arrived) || len(bodies) != len(wantBodies) {
				t.Fatalf("%d requests arrived, directly %d, want %d", len(arrived), len(sent), len(tt.blocks))
			}
			for i := range bodies {
				if !bytes.Equal(bodies[i].Bytes(), wantBodies[i].Bytes()) {
					t.Errorf("answer %d: got\n%s\nwant\n%s", i, bodies[i], wantBodies[i])
				}
			}
			for i, r := range arrived {
				compare(t, sent[i], r, tt.blocks[i])
				if i > 0 && tt.blocks[i] > 0 {
					continues(t, arrived[i-1].Body, r.Body)
				}
			}
		})
	}
}

// compare checks that a request arrived as it was sent, but for its blocks, of
// which the first stands right before the question.
func compare(t *testing.T, sent, got arrival, blocks int) {
	t.Helper()
	if got.Target != sent.Target || strings.Count(string(got.Body), marker) != blocks {
		t.Fatalf("%s: %d blocks, want %d: %s", got.Target, strings.Count(string(got.Body), marker), blocks, got.Body)
	}
	for _, h := range got.Header {
		if strings.HasPrefix(strings.ToLower(h.Name), "x-ken") {
			t.Errorf("header %s went on", h.Name)
		}
	}
	if blocks == 0 {
		if !bytes.Equal(got.Body, sent.Body) {
			t.Errorf("got %s, sent %s", got.Body, sent.Body)
		}
		return
	}
	n := 0
	for sent.Body[n] == got.Body[n] {
		n++
	}
	if !bytes.HasSuffix(got.Body, sent.Body[n:]) {
		t.Errorf("changed behind byte %d: sent\n%s\ngot\n%s", n, sent.Body, got.Body)
	}
	var body struct {
		Messages, Input []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(got.Body, &body); err != nil {
		t.Fatal(err)
	}
	all := append(body.Messages, body.Input...)
	for i, m := range all {
		if strings.Contains(string(m.Content), marker) {
			if m.Role != "user" || i+1 == len(all) || all[i+1].Role != "user" || !strings.Contains(string(all[i+1].Content), question) {
				t.Errorf("the block is message %d of %s", i, got.Body)
			}
			return
		}
	}
	t.Errorf("no message has the block: %s", got.Body)
}

// continues checks that a request begins with all that the one before said.
func continues(t *testing.T, before, now []byte) {
	t.Helper()
	said := before[:bytes.LastIndex(before, []byte(question))+len(question)]
	if !bytes.HasPrefix(now, said) {
		t.Errorf("%s\ndoes not begin with\n%s", now, said)
	}
}

func ask(messages ...openai.ChatCompletionMessageParamUnion) openai.ChatCompletionNewParams {
	start := []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("Be brief."), openai.UserMessage(question)}
	return openai.ChatCompletionNewParams{Model: "gpt-4.1-mini", Messages: append(start, messages...)}
}

func chat(ctx context.Context, c openai.Client) (any, error) {
	first, err := c.Chat.Completions.New(ctx, ask())
	if err != nil {
		return nil, err
	}
	second, err := c.Chat.Completions.New(ctx, ask(first.Choices[0].Message.ToParam(), openai.UserMessage("thanks!")))
	if err != nil {
		return nil, err
	}
	return []string{first.Choices[0].Message.Content, second.Choices[0].Message.Content}, nil
}

func chatStream(ctx context.Context, c openai.Client) (any, error) {
	s := c.Chat.Completions.NewStreaming(ctx, ask())
	defer s.Close()
	var acc openai.ChatCompletionAccumulator
	for s.Next() {
		acc.AddChunk(s.Current())
	}
	if s.Err() != nil {
		return nil, s.Err()
	}
	return acc.Choices[0].Message.Content, nil
}

func toolLoop(ctx context.Context, c openai.Client) (any, error) {
	p := ask()
	p.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
		Name: "read_file", Parameters: openai.FunctionParameters{"type": "object", "properties": map[string]any{"path": map[string]string{"type": "string"}}}})}
	var out []string
	for {
		s := c.Chat.Completions.NewStreaming(ctx, p)
		var acc openai.ChatCompletionAccumulator
		for s.Next() {
			acc.AddChunk(s.Current())
		}
		s.Close()
		if s.Err() != nil {
			return nil, s.Err()
		}
		m := acc.Choices[0].Message
		if len(m.ToolCalls) == 0 {
			return append(out, m.Content), nil
		}
		p.Messages = append(p.Messages, m.ToParam())
		for _, call := range m.ToolCalls {
			out = append(out, call.Function.Arguments)
			p.Messages = append(p.Messages, openai.ToolMessage("attempts = 3", call.ID))
		}
	}
}

func params() responses.ResponseNewParams {
	return responses.ResponseNewParams{Model: "gpt-5-mini", Input: responses.ResponseNewParamsInputUnion{
		OfInputItemList: responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage(question, responses.EasyInputMessageRoleUser)}}}
}

func respond(ctx context.Context, c openai.Client) (any, error) {
	r, err := c.Responses.New(ctx, params())
	if err != nil {
		return nil, err
	}
	return r.OutputText(), nil
}

func respondStream(ctx context.Context, c openai.Client) (any, error) {
	s := c.Responses.NewStreaming(ctx, params())
	defer s.Close()
	var text strings.Builder
	for s.Next() {
		if e := s.Current(); e.Type == "response.output_text.delta" {
			text.WriteString(e.Delta)
		}
	}
	return text.String(), s.Err()
}

func rest(ctx context.Context, c openai.Client) (any, error) {
	e, err := c.Embeddings.New(ctx, openai.EmbeddingNewParams{Model: "text-embedding-3-small", Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String(question)}})
	if err != nil {
		return nil, err
	}
	models, err := c.Models.List(ctx)
	if err != nil {
		return nil, err
	}
	return []any{e.Data[0].Embedding[4], len(models.Data)}, nil
}

// refused wants an error, and returns what the client makes of it.
func refused(ctx context.Context, c openai.Client) (any, error) {
	_, err := c.Chat.Completions.New(ctx, ask())
	var e *openai.Error
	if !errors.As(err, &e) {
		return nil, errors.Join(errors.New("no error of the API"), err)
	}
	return []any{e.StatusCode, e.Code, e.Response.Header.Get("Retry-After")}, nil
}

// broken wants a stream that breaks off, and returns what came.
func broken(ctx context.Context, c openai.Client) (any, error) {
	s := c.Chat.Completions.NewStreaming(ctx, ask())
	defer s.Close()
	var text strings.Builder
	for s.Next() {
		text.WriteString(s.Current().Choices[0].Delta.Content)
	}
	if s.Err() == nil {
		return nil, errors.New("the stream ended well")
	}
	return text.String(), nil
}
