package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
)

// answering returns a model behind this handler.
func answering(t *testing.T, h http.HandlerFunc) *Model {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return NewModel(config.Upstream{BaseURL: srv.URL, Model: "m", APIKeyEnv: "KEN_TEST_KEY", Timeout: time.Minute}, "")
}

func ask(ctx context.Context, u *Model) (answer, printed string, err error) {
	var out bytes.Buffer
	answer, err = u.Stream(ctx, u.Client, []openai.ChatCompletionMessage{{Role: "user", Content: "q"}}, &out)
	return answer, out.String(), err
}

func TestStream(t *testing.T) {
	for _, tt := range []struct{ name, body, answer, printed, err string }{
		{"an answer", chunk("one ") + chunk("two") + end, "one two", "one two\n", ""},
		{"one that ends its line", chunk(`one\n`) + end, "one\n", "one\n", ""},
		{"one that would move the cursor", chunk(`a\u001b[2Jb\u0085\r\tc`) + end, "a\x1b[2Jb\u0085\r\tc", "a[2Jb\tc\n", ""},
		{"chunks without a choice", "data: {\"choices\":[]}\n\n" + chunk("x") + end, "x", "x\n", ""},
		{"a comment that keeps the line open", ": ping\n\n" + chunk("x") + end, "x", "x\n", ""},
		{"nothing", end, "", "", "the answer of m is empty"},
		{"no stream", `{"choices":[{"message":{"content":"x"}}]}`, "", "", "the answer of m is empty"},
		{"a web page", strings.Repeat("<p>\n", 1000), "", "", "the answer of m is empty"},
		{"not JSON", chunk("x") + "data: {\n\n", "x", "x\n", "the answer broke off: unexpected end of JSON input"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := answering(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, tt.body) })
			answer, printed, err := ask(t.Context(), u)
			if answer != tt.answer || printed != tt.printed {
				t.Errorf("answer %q, printed %q", answer, printed)
			}
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err) || ken.Hint(err) == "") {
				t.Errorf("%v; try %q", err, ken.Hint(err))
			}
		})
	}
}

const end = "data: [DONE]\n\n"

func chunk(json string) string {
	return `data: {"choices":[{"delta":{"content":"` + json + `"}}]}` + "\n\n"
}

// An error must not show the key, even if the endpoint does.
func TestErrorsHideTheKey(t *testing.T) {
	t.Setenv("KEN_TEST_KEY", "sesame")
	u := answering(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":"%s is wrong,\u001b[2J and\nthat is that"}}`, r.Header.Get("Authorization"))
	})
	_, _, err := ask(t.Context(), u)
	if want := u.Config.BaseURL + " refused the key (401): Bearer *** is wrong, [2J and that is that"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if !errors.Is(err, ken.ErrRefused) || !strings.Contains(ken.Hint(err), "KEN_TEST_KEY") {
		t.Errorf("try %q", ken.Hint(err))
	}
	u.Config.APIKeyEnv = ""
	if _, _, err := ask(t.Context(), u); !strings.Contains(ken.Hint(err), "upstream.api_key_env") {
		t.Errorf("without a key: try %q", ken.Hint(err))
	}
}

func TestStreamStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	u := answering(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, chunk("some of it"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	out := writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
	answer, err := u.Stream(ctx, u.Client, nil, out)
	if answer != "some of it" || !errors.Is(err, context.Canceled) {
		t.Errorf("%q, %v", answer, err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestStreamTimeout(t *testing.T) {
	u := answering(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	u.Config.Timeout = time.Nanosecond
	u = NewModel(u.Config, "")
	_, _, err := ask(t.Context(), u)
	if err == nil || err.Error() != "no whole answer within 1ns" || !strings.Contains(ken.Hint(err), "upstream.timeout") {
		t.Errorf("%v; try %q", err, ken.Hint(err))
	}
}

// Endpoints differ in how they cut a call up.
func TestGather(t *testing.T) {
	at := func(i int) *int { return &i }
	piece := func(index *int, id, name, args string) openai.ToolCall {
		return openai.ToolCall{Index: index, ID: id, Function: openai.FunctionCall{Name: name, Arguments: args}}
	}
	want := []openai.ToolCall{
		{ID: "a", Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: "one", Arguments: `{"x":1}`}},
		{ID: "b", Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: "two", Arguments: `{}`}},
	}
	for name, pieces := range map[string][]openai.ToolCall{
		"whole":                   {piece(at(0), "a", "one", `{"x":1}`), piece(at(1), "b", "two", `{}`)},
		"in pieces":               {piece(at(0), "a", "one", ""), piece(at(0), "", "", `{"x"`), piece(at(0), "", "", `:1}`), piece(at(1), "b", "two", `{}`)},
		"the id in each":          {piece(at(0), "a", "one", ""), piece(at(0), "a", "", `{"x":1}`), piece(at(1), "b", "two", `{}`)},
		"not counted":             {piece(nil, "a", "one", `{"x":1}`), piece(nil, "b", "two", `{}`)},
		"not counted, in pieces":  {piece(nil, "a", "one", ""), piece(nil, "", "", `{"x":1}`), piece(nil, "b", "two", `{}`)},
		"mixed up":                {piece(at(0), "a", "one", `{"x"`), piece(at(1), "b", "two", `{}`), piece(at(0), "", "", `:1}`)},
		"a number out of nowhere": {piece(at(7), "a", "one", `{"x":1}`), piece(at(-3), "b", "two", `{}`)},
	} {
		var got []openai.ToolCall
		for _, p := range pieces {
			got = addToolCallPart(got, p)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
