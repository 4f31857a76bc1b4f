package middleware

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// alternating matches the errors by which servers refuse two user messages in a row: the chat templates of
// Llama 2, Gemma and Mistral through vLLM, llama.cpp, LM Studio and TGI ("Conversation
// roles must alternate user/assistant/user/assistant/...", "After the optional system
// message, conversation roles must alternate user and assistant roles except for tool
// calls and results."), Anthropic once ("roles must alternate between "user" and
// "assistant""), Bedrock ("A conversation must alternate between user and assistant
// roles."), Perplexity ("user and assistant roles should be alternating", "user or tool
// message(s) should alternate with assistant message(s)") and DeepSeek ("does not support
// successive user or assistant messages").
var alternating = lazyregexp.New(`(?i)roles? (must|should) (alternate|be alternating)|(must|should) alternate (between user|with assistant)|successive user or assistant messages`)

// maxRefusal bounds the bytes of an error that is looked into.
const maxRefusal = 64 << 10

// maxMerging bounds the models that are remembered.
const maxMerging = 256

// mergers are the models whose server refused two user messages in a row. The zero value
// is ready. It does not outlive the process: the next one finds out with one request.
type mergers struct {
	mu sync.RWMutex // guards m
	m  map[string]bool
}

func (s *mergers) has(model string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.m[model]
}

// add reports whether the model is new.
func (s *mergers) add(model string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m[model] {
		return false
	}
	if s.m == nil {
		s.m = map[string]bool{}
	}
	makeRoom(s.m, maxMerging)
	s.m[model] = true
	return true
}

// merges reports whether a model's blocks go into messages of the user's.
func (l *Layer) merges(model string) bool {
	return l.cfg.Injection.As == config.AsMerge || l.mergers.has(model)
}

// Send sends a request, whose body is x.Body, over base. Where the server refuses it
// because there are two user messages in a row, it is sent once more with the blocks
// merged into the messages that they stand before, as injection.as: merge does; and when
// that is taken, so are the blocks of the model's requests from then on. The caller sees
// the last answer alone. Call it before Guard and Listen.
func (x *Exchange) Send(base http.RoundTripper, req *http.Request) (*http.Response, error) {
	resp, err := base.RoundTrip(req)
	if err != nil || len(x.inserted) == 0 || !refusesTwo(resp) {
		return resp, err
	}
	body := x.merged()
	if body == nil {
		return resp, nil
	}
	_ = resp.Body.Close()
	x.Body = body
	again := req.Clone(req.Context())
	again.ContentLength, again.TransferEncoding = int64(len(body)), nil
	if again.Header.Get("Content-Length") != "" {
		again.Header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	again.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	again.Body, _ = again.GetBody() // it can't fail
	resp, err = base.RoundTrip(again)
	if err == nil && resp.StatusCode < http.StatusBadRequest && x.layer.mergers.add(x.Turn.Model) {
		x.layer.o.Log.Info("this model takes no two user messages in a row: its blocks are merged into the user's messages", "model", headerToken(x.Turn.Model))
	}
	return resp, err
}

// merged is the body with the blocks merged; nil when that makes no difference.
func (x *Exchange) merged() []byte {
	ins := make([]wire.Insertion, len(x.inserted))
	for i, in := range x.inserted {
		in.Merge = true
		ins[i] = in
	}
	body, err := wire.Splice(x.client, x.request, ins)
	if err != nil || bytes.Equal(body, x.Body) {
		return nil
	}
	return body
}

// refusesTwo reports whether an answer is the refusal of two user messages in a row. Its
// body can be read as before.
func refusesTwo(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError:
	default:
		return false
	}
	encoding := encodingOf(resp)
	if resp.Body == nil || resp.ContentLength > maxRefusal || !readable(encoding) {
		return false
	}
	var b bytes.Buffer
	rest := resp.Body
	_, err := b.ReadFrom(io.LimitReader(rest, maxRefusal))
	found := alternating.MatchString(string(beginning(b.Bytes(), encoding)))
	var tail io.Reader = rest
	if err != nil {
		tail = broken{err}
	}
	resp.Body = rejoined{io.MultiReader(&b, tail), rest}
	return found
}
