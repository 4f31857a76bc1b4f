package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/evals/dataset"
)

// planted is a credential of the project's, put together so that no scanner takes
// this file for one that leaks.
const planted = "AKIA" + "Z7QK3M5XW2RT9PLB"

// questioner is an OpenAI-compatible endpoint that asks one question about each
// note that it gets, after refusing the first request, and keeps what it was sent.
func questioner(t *testing.T, sent *bytes.Buffer) *httptest.Server {
	t.Helper()
	var n atomic.Int64
	lock := make(chan struct{}, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lock <- struct{}{}
		defer func() { <-lock }()
		var req openai.ChatCompletionRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || req.Stream || len(req.Messages) != 2 || req.Seed == nil || r.URL.Path != "/v1/chat/completions" {
			http.Error(w, "not the request that was expected", http.StatusBadRequest)
			return
		}
		for _, m := range req.Messages {
			fmt.Fprintln(sent, m.Content)
		}
		if req.Model == "broken" {
			refuse(w, http.StatusUnauthorized, "no such key")
			return
		}
		i := n.Add(1)
		content := fmt.Sprintf(`{"question": "What is said under number %d?"}`, i)
		if i == 1 {
			content = "As a language model I would rather not."
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(openai.ChatCompletionResponse{Choices: []openai.ChatCompletionChoice{{Message: openai.ChatCompletionMessage{Role: "assistant", Content: content}}}})
	}))
	t.Cleanup(srv.Close)
	return srv
}

// kenIn runs a command in a project and returns its exit status and streams.
func kenIn(t *testing.T, dir string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	status = run(context.Background(), append([]string{"-C", dir}, args...), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &err})
	return status, out.String(), err.String()
}

// A model asks about what was picked, knows what it takes before, and sees no
// secret.
func TestGenerateWithAModel(t *testing.T) {
	dir := t.TempDir()
	var sent bytes.Buffer
	srv := questioner(t, &sent)
	var notes strings.Builder
	for _, n := range [][2]string{
		{"Heron", "The heron service keeps telemetry frames for nine days, then a nightly job discards them all."},
		{"Walnut", "Walnut signs parcels with a rotating certificate, because couriers rejected static passwords."},
		{"Cobalt", "The cobalt importer splits spreadsheets into shards before accountants reconcile any balance."},
		{"Thimble", "Thimble throttles subscribers whose quota overflowed, and mails their administrator a warning."},
		{"Glacier", "Glacier archives contracts on magnetic tape in Tromsø, where auditors inspect seals each spring."},
		{"Lantern", "Lantern renders maps at dusk so that fishermen receive fresh charts before sailing."},
		{"Saffron", "The saffron kitchen planner orders vegetables whenever inventory sensors report empty drawers."},
		{"Anvil", "Anvil compiles firmware for hydraulic presses and refuses binaries without a metallurgist's approval."},
	} {
		fmt.Fprintf(&notes, "# The %s service\n\n%s\n\n", n[0], n[1])
	}
	for name, text := range map[string]string{
		"notes.md":         notes.String(),
		"deploy.sh":        "export AWS_ACCESS_KEY_ID=" + planted + "\naws s3 sync build s3://heron\n",
		".ken/config.yaml": "knowledge:\n  embeddings: false\nupstream:\n  base_url: " + srv.URL + "/v1\n  model: asker\n",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := trustFolder(dir); err != nil {
		t.Fatal(err)
	}

	status, out, errOut := kenIn(t, dir, "eval", "generate", "--model", "--estimate", "--json", "--n", "12")
	if status != cli.ExitOK || sent.Len() > 0 || !strings.Contains(errOut, "requests to asker at "+srv.URL) || !strings.Contains(out, `"tokens_in"`) {
		t.Fatalf("estimate: status %d, sent %d bytes\n%s\n%s", status, sent.Len(), out, errOut)
	}
	if _, err := os.Stat(filepath.Join(dir, ".ken", "eval")); err == nil {
		t.Error("an estimate writes a set")
	}

	status, out, errOut = kenIn(t, dir, "eval", "generate", "--model", "--n", "12")
	if status != cli.ExitOK || !strings.Contains(out, "model\n") || !strings.Contains(out, "Next: ken eval sweep --data ") || !strings.Contains(errOut, "ask: ") {
		t.Fatalf("status %d\n%s\n%s", status, out, errOut)
	}
	if strings.Contains(sent.String(), planted) || !strings.Contains(sent.String(), "heron service keeps telemetry") || !strings.Contains(sent.String(), "could not be used: it is not of the form") {
		t.Errorf("sent:\n%s", sent.String())
	}
	set, err := dataset.Open(context.Background(), filepath.Join(dir, ".ken", "eval"), dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	byModel := 0
	for _, q := range set.Queries {
		if q.Category == "model" {
			byModel++
			if !q.Answerable() || !strings.HasPrefix(q.Text, "What is said under number ") {
				t.Errorf("%+v", q)
			}
		}
	}
	if byModel < 4 {
		t.Errorf("only %d questions of the model's among %d", byModel, len(set.Queries))
	}

	status, _, errOut = kenIn(t, dir, "eval", "generate", "--model=broken", "--n", "12")
	if status != cli.ExitFailed || !strings.Contains(errOut, "refused the key") || !strings.Contains(errOut, "Try: ") {
		t.Errorf("status %d\n%s", status, errOut)
	}
}
