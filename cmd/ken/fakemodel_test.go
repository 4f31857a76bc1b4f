package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken/embed/embedtest"
)

// parrot is the chat model that a fakeModel serves.
const parrot = "parrot"

// fakeModel is an OpenAI-compatible endpoint that does what the last line of the
// last message asks for:
//
//	status N        answer with this HTTP status and a message
//	web page        answer with status 502 and HTML
//	hang up         send some of an answer, then close the connection
//	err midway      send some of an answer, then an error
//	wait            send some of an answer, then nothing until the client leaves
//	say nothing     send an answer without any text
//	say N words     send as many chunks
//	call NAME ARGS  call a tool, if it is offered, and then say what it answered
//	keep calling    call a tool as long as any is offered
//	no tools        refuse a request that offers tools, as a model without them does
//
// and repeats anything else. It embeds as embedtest.Gateway does.
type fakeModel struct {
	requests string // a file that gets one JSON object a chat request
	embedded string // a file that gets each request for embeddings
	mu       sync.Mutex
}

// asked is a line of fakeModel.requests.
type asked struct {
	Authorization string          `json:"authorization"`
	Request       json.RawMessage `json:"request"`
}

func (m *fakeModel) handler() http.Handler {
	mux := http.NewServeMux()
	embeds := embedtest.Gateway()
	mux.Handle("/", embeds)
	mux.HandleFunc("POST /v1/embeddings", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = m.add(m.embedded, body)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		embeds.ServeHTTP(w, r)
	})
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"object":"list","data":[{"id":%q},{"id":%q}]}`, parrot, embedtest.GatewayModel)
	})
	mux.HandleFunc("POST /v1/chat/completions", m.chat)
	return mux
}

func (m *fakeModel) chat(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var req openai.ChatCompletionRequest
	if err != nil || json.Unmarshal(body, &req) != nil || len(req.Messages) == 0 || !req.Stream {
		http.Error(w, "not a request for a streamed answer", http.StatusBadRequest)
		return
	}
	if err := m.record(asked{r.Header.Get("Authorization"), body}); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if m.tools(w, &req) {
		return
	}
	text := req.Messages[len(req.Messages)-1].Content
	text = text[strings.LastIndexByte(text, '\n')+1:]
	if req.Model != parrot {
		refuse(w, http.StatusNotFound, "The model "+req.Model+" does not exist")
		return
	}
	if n, ok := strings.CutPrefix(text, "status "); ok {
		status, _ := strconv.Atoi(n)
		refuse(w, status, "the endpoint says "+n)
		return
	}
	if text == "web page" {
		w.WriteHeader(http.StatusBadGateway)
		io.WriteString(w, "<html>Bad gateway</html>")
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	say := func(text string) {
		chunk, _ := json.Marshal(text)
		fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%s}}]}\n\n", chunk)
		w.(http.Flusher).Flush()
	}
	switch {
	case text == "hang up":
		say("some of it")
		panic(http.ErrAbortHandler)
	case text == "err midway":
		say("some of it")
		io.WriteString(w, "data: {\"error\":{\"message\":\"the graphics card melted\"}}\n\n")
		return
	case text == "wait":
		say("some of it")
		<-r.Context().Done()
		return
	case text == "say nothing":
	case strings.HasPrefix(text, "say ") && strings.HasSuffix(text, " words"):
		n, _ := strconv.Atoi(strings.Fields(text)[1])
		for i := range n {
			say("word" + strconv.Itoa(i+1) + " ")
		}
	default:
		say("You said: ")
		say(text)
	}
	io.WriteString(w, "data: [DONE]\n\n")
}

func (m *fakeModel) record(a asked) error {
	line, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return m.add(m.requests, line)
}

func (m *fakeModel) add(file string, line []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(append(line, '\n'))
	return err
}

func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": message, "type": "test"}})
}

// startModel serves a fakeModel and returns its base URL and the file of its
// requests.
func startModel(t testing.TB) (url, requests string) {
	dir := t.TempDir()
	m := &fakeModel{requests: filepath.Join(dir, "requests.jsonl"), embedded: filepath.Join(dir, "embedded.jsonl")}
	srv := httptest.NewServer(m.handler())
	t.Cleanup(srv.Close)
	return srv.URL + "/v1", m.requests
}

func modelConfig(url string) string {
	return "upstream:\n  base_url: " + url + "\n  model: " + parrot + "\n" +
		"retrieval:\n  deadline: 30s\n" + // what is found must not depend on the machine's load
		"budget:\n  encoding: r50k_base\n" // which loads four times as fast as the default
}

// harvestOff keeps the parrot from being asked to harvest, which it can't.
const harvestOff = "harvest:\n  model: \"off\"\n"

// upstreamCommand starts a fakeModel and configures the project to use it; a
// file may add to the configuration. REQUESTS becomes the file of its requests,
// EMBEDDED of those for embeddings, UPSTREAM its address.
func upstreamCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: upstream [FILE]")
	}
	dir, err := os.MkdirTemp("", "ken-requests")
	ts.Check(err)
	m := &fakeModel{requests: filepath.Join(dir, "requests.jsonl"), embedded: filepath.Join(dir, "embedded.jsonl")}
	srv := httptest.NewServer(m.handler())
	ts.Defer(func() {
		srv.Close()
		os.RemoveAll(dir)
	})
	ts.Setenv("REQUESTS", m.requests)
	ts.Setenv("EMBEDDED", m.embedded)
	ts.Setenv("UPSTREAM", srv.URL+"/v1")
	text := modelConfig(srv.URL + "/v1")
	for _, file := range args {
		text += ts.ReadFile(file)
	}
	if !strings.Contains(text, "\nharvest:") {
		text += harvestOff
	}
	ts.Check(os.WriteFile(ts.MkAbs(".ken/config.yaml"), []byte(text), 0o600))
	ts.Check(trustFolder(ts.MkAbs(".")))
}
