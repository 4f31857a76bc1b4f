// Package model finds the examples a model to talk to: the one that
// OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL name (for Anthropic's API, the
// same with ANTHROPIC), else a stand-in that answers with what it was told, and calls
// the first tool that it is offered.
package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
)

// Server is a server of OpenAI's or Anthropic's API.
type Server struct {
	BaseURL string // version included
	Key     string
	Model   string
	Close   func() // call it when done
}

// Find returns the server of OpenAI's API that the environment names, or starts the
// stand-in.
func Find() Server { return find("OPENAI", "gpt-4o-mini") }

// FindAnthropic is Find for Anthropic's API.
func FindAnthropic() Server { return find("ANTHROPIC", "claude-haiku-4-5") }

func find(api, model string) Server {
	if url := os.Getenv(api + "_BASE_URL"); url != "" {
		s := Server{BaseURL: url, Key: os.Getenv(api + "_API_KEY"), Model: os.Getenv(api + "_MODEL"), Close: func() {}}
		if s.Model == "" {
			s.Model = model
		}
		return s
	}
	standIn := httptest.NewServer(http.HandlerFunc(answer))
	return Server{BaseURL: standIn.URL + "/v1", Model: "stand-in", Close: standIn.Close}
}

func answer(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Stream   bool
		Messages []struct {
			Role    string
			Content string
		}
		Tools []struct{ Function struct{ Name string } }
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	text := "I was told nothing about that."
	for _, m := range req.Messages {
		_, items, _ := strings.Cut(m.Content, "\n[k:") // the line that names the first item
		if _, items, ok := strings.Cut(items, "\n"); ok {
			fact, _, _ := strings.Cut(items, "\n")
			text = "I was told: " + fact
		} else if m.Role == "tool" {
			text += " The tool says: " + m.Content
		}
	}
	last := req.Messages[len(req.Messages)-1]
	call := ""
	if len(req.Tools) > 0 && last.Role == "user" {
		args := quote(`{"query":` + string(quote(last.Content)) + `}`)
		call = fmt.Sprintf(`{"index":0,"id":"call_1","type":"function","function":{"name":%s,"arguments":%s}}`, quote(req.Tools[0].Function.Name), args)
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/messages"):
		fmt.Fprintf(w, `{"type":"message","role":"assistant","content":[{"type":"text","text":%s}],"stop_reason":"end_turn"}`, quote(text))
	case req.Stream:
		stream(w, text, call)
	case call != "":
		fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","tool_calls":[%s]}}]}`, call)
	default:
		fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":%s}}]}`, quote(text))
	}
}

// stream answers with a tool call, or with a text word by word.
func stream(w http.ResponseWriter, text, call string) {
	w.Header().Set("Content-Type", "text/event-stream")
	if call != "" {
		fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"tool_calls\":[%s]}}]}\n\n", call)
		text = ""
	}
	for _, word := range strings.SplitAfter(text, " ") {
		fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%s}}]}\n\n", quote(word))
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func quote(s string) []byte {
	b, _ := json.Marshal(s) // a string can't fail
	return b
}
