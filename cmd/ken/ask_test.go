package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
)

// BenchmarkAsk is a question to a project that is indexed already, start to end:
// what a person waits for.
func BenchmarkAsk(b *testing.B) {
	dir := b.TempDir()
	for name, text := range map[string]string{".ken/config.yaml": "", "lamp.md": "The lighthouse lamp restarts from a pilot flame.\n"} {
		if err := writePrivate(filepath.Join(dir, name), text); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if status := run(b.Context(), []string{"ask", "--dir", dir, "how does the lighthouse lamp restart?"}, streams{out: io.Discard, err: io.Discard}); status != exitOK {
			b.Fatalf("exit status %d", status)
		}
	}
}

// answering returns a model behind this handler.
func answering(t *testing.T, h http.HandlerFunc) *upstream {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return newUpstream(config.Upstream{BaseURL: srv.URL, Model: "m", APIKeyEnv: "KEN_TEST_KEY", Timeout: time.Minute}, "")
}

func ask(ctx context.Context, u *upstream) (answer, printed string, err error) {
	var out bytes.Buffer
	answer, err = u.stream(ctx, u.client, []openai.ChatCompletionMessage{{Role: "user", Content: "q"}}, &out)
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
	if want := u.cfg.BaseURL + " refused the key (401): Bearer *** is wrong, [2J and that is that"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if !errors.Is(err, ken.ErrRefused) || !strings.Contains(ken.Hint(err), "KEN_TEST_KEY") {
		t.Errorf("try %q", ken.Hint(err))
	}
	u.cfg.APIKeyEnv = ""
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
	answer, err := u.stream(ctx, u.client, nil, out)
	if answer != "some of it" || !errors.Is(err, context.Canceled) {
		t.Errorf("%q, %v", answer, err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestStreamTimeout(t *testing.T) {
	u := answering(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	u.cfg.Timeout = time.Nanosecond
	u = newUpstream(u.cfg, "")
	_, _, err := ask(t.Context(), u)
	if err == nil || err.Error() != "no whole answer within 1ns" || !strings.Contains(ken.Hint(err), "upstream.timeout") {
		t.Errorf("%v; try %q", err, ken.Hint(err))
	}
}

func shown(r ken.Receipt, all bool) string {
	var out bytes.Buffer
	a := &app{streams: streams{out: &out}}
	a.printReceipt(r, func(id string) string { return "the name of " + id }, all)
	return out.String()
}

func TestPrintReceipt(t *testing.T) {
	got := shown(ken.Receipt{Mode: ken.ModeLate, Cause: "vector: too late", Block: "[Pipeline Knowledge]\n\x1b[31mred\n", Chars: 29, Tokens: 7,
		MS:       map[string]float64{"total": 151.26},
		Degraded: []string{"vector: too late", "pinned: broken"},
		Items: []ken.Item{
			{ID: "0000-12345678", Tier: ken.Verified, Source: "a.go:1", Heading: "h", Chars: 20, Fused: 1,
				Legs: map[string]ken.LegScore{"vector": {Rank: 7}, "keyword": {Rank: 1}}},
			{ID: "short", Tier: ken.Guessed, Text: "two\nlines\x07", Chars: 9, Fused: 0.25, Legs: map[string]ken.LegScore{"pinned": {Rank: 2}}},
		},
		Cut: []ken.Cut{{ID: "c1", Reason: ken.CutFloor}, {ID: "c2", Reason: ken.CutDuplicate, Detail: "0000-12345678"},
			{ID: "c3", Reason: ken.CutBudget, Detail: "too long"}, {ID: "c4", Reason: ken.CutFloor}},
	}, false)
	want := `[Pipeline Knowledge]
[31mred


mode late (vector: too late) · 29 characters · 7 tokens · 151.3 ms
degraded: pinned: broken

ID        TIER      FOUND BY               SCORE  CHARS  SOURCE
12345678  Verified  keyword #1, vector #7  1.000  20     a.go:1
short     Guessed   pinned #2              0.250  9      two lines

cut: 1 budget, 1 duplicate, 2 floor
ID  WHY                    WHAT
c1  floor                  the name of c1
c2  duplicate of 12345678  the name of c2
c3  budget: too long       the name of c3
c4  floor                  the name of c4
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPrintReceiptWithoutABlock(t *testing.T) {
	for _, tt := range []struct {
		r    ken.Receipt
		want string
	}{
		{ken.Receipt{Mode: ken.ModeKeyword, Cause: "no embedder"},
			"No block: nothing that is known bears on this.\n\nmode keyword (no embedder) · 0 characters · 0.0 ms\n"},
		{ken.Receipt{Mode: ken.ModeNone, Cause: "the message asks for nothing"},
			"No block: the message asks for nothing.\n\nmode none · 0 characters · 0.0 ms\n"},
	} {
		if diff := cmp.Diff(tt.want, shown(tt.r, false)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestPrintReceiptListsSomeCuts(t *testing.T) {
	var r ken.Receipt
	for i := range shownCuts + 2 {
		r.Cut = append(r.Cut, ken.Cut{ID: fmt.Sprintf("id%d", i), Reason: ken.CutPool})
	}
	some, all := shown(r, false), shown(r, true)
	if want := "id9  pool  the name of id9\n… and 2 more: ken ask --all lists them\n"; !bytes.HasSuffix([]byte(some), []byte(want)) {
		t.Errorf("got %s", some)
	}
	if want := "id11  pool  the name of id11\n"; !bytes.HasSuffix([]byte(all), []byte(want)) {
		t.Errorf("got %s", all)
	}
}
