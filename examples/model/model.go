// Package model finds the examples a model to talk to: the one that
// OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL name, else a stand-in that
// answers with what it was told, and calls memory_recall when it is offered tools.
package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
)

// Server is an OpenAI-compatible server.
type Server struct {
	BaseURL string // version included
	Key     string
	Model   string
	Close   func() // call it when done
}

// Find returns the server that the environment names, or starts the stand-in.
func Find() Server {
	if url := os.Getenv("OPENAI_BASE_URL"); url != "" {
		s := Server{BaseURL: url, Key: os.Getenv("OPENAI_API_KEY"), Model: os.Getenv("OPENAI_MODEL"), Close: func() {}}
		if s.Model == "" {
			s.Model = "gpt-4o-mini"
		}
		return s
	}
	standIn := httptest.NewServer(http.HandlerFunc(answer))
	return Server{BaseURL: standIn.URL + "/v1", Model: "stand-in", Close: standIn.Close}
}

func answer(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Stream   bool
		Messages []struct{ Role, Content string }
		Tools    []json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if n := len(req.Messages); len(req.Tools) > 0 && n > 0 && req.Messages[n-1].Role == "user" {
		args := quote(`{"query":` + string(quote(req.Messages[n-1].Content)) + `}`)
		fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"memory_recall","arguments":%s}}]}}]}`, args)
		return
	}
	text := "I was told nothing about that."
	for _, m := range req.Messages {
		_, items, _ := strings.Cut(m.Content, "\n[k:") // the line that names the first item
		if _, items, ok := strings.Cut(items, "\n"); ok {
			fact, _, _ := strings.Cut(items, "\n")
			text = "I was told: " + fact
		}
	}
	if !req.Stream {
		fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":%s}}]}`, quote(text))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, word := range strings.SplitAfter(text, " ") {
		fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%s}}]}\n\n", quote(word))
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func quote(s string) []byte {
	b, _ := json.Marshal(s) // a string can't fail
	return b
}
