package modeltest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Model is the only model that the server lists at GET /models. The server
// answers requests for any model; see UnknownModel.
const Model = "auxiliary"

// Server is a running model server. It is safe for concurrent use.
type Server struct {
	// URL is the API's address, including its version.
	URL string
	// Replaces reports whether a later statement replaces an earlier one. Nil: questions about that
	// are answered with a sentence. Set it before the first request.
	Replaces func(earlier, later string) bool

	http *httptest.Server
	once sync.Once

	mu       sync.Mutex // guards the fields below
	script   []Play
	requests []Request
}

// Request is a chat request as the server parsed it.
type Request struct {
	Key         string // the bearer token
	Model       string
	Messages    []Message
	Format      string          // response_format.type; "" if there is none
	Schema      json.RawMessage // response_format.json_schema.schema
	Strict      bool            // response_format.json_schema.strict
	Temperature *float64
	Stream      bool
	Extraction  bool // it is for an extraction and was answered from the script
}

// Message is a message of a request.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Serve starts a server that plays script, and stops it when the test ends.
func Serve(t testing.TB, script ...Play) *Server {
	t.Helper()
	s := Start(script...)
	t.Cleanup(s.Stop)
	return s
}

// Start is like Serve for examples and command-line scripts. The caller must stop
// the server.
func Start(script ...Play) *Server {
	if len(script) == 0 {
		script = []Play{Echo()}
	}
	s := &Server{script: slices.Clone(script)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, map[string]any{"object": "list", "data": []any{map[string]string{"id": Model, "object": "model"}}})
	})
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	s.http = httptest.NewServer(mux)
	s.URL = s.http.URL + "/v1"
	return s
}

// Stop closes the server. It may be called more than once.
func (s *Server) Stop() {
	s.once.Do(func() {
		s.http.CloseClientConnections()
		s.http.Close()
	})
}

// Requests returns the chat requests so far, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Extractions returns the requests that were answered from the script.
func (s *Server) Extractions() []Request {
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return !r.Extraction })
}

// Then replaces the rest of the script.
func (s *Server) Then(script ...Play) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = slices.Clone(script)
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Model          string    `json:"model"`
		Messages       []Message `json:"messages"`
		Temperature    *float64  `json:"temperature"`
		Stream         bool      `json:"stream"`
		ResponseFormat struct {
			Type       string `json:"type"`
			JSONSchema struct {
				Schema json.RawMessage `json:"schema"`
				Strict bool            `json:"strict"`
			} `json:"json_schema"`
		} `json:"response_format"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		refuse(w, http.StatusBadRequest, "can't read the request")
		return
	}
	req := Request{
		Key:   strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "),
		Model: body.Model, Messages: body.Messages, Temperature: body.Temperature, Stream: body.Stream,
		Format: body.ResponseFormat.Type, Schema: body.ResponseFormat.JSONSchema.Schema, Strict: body.ResponseFormat.JSONSchema.Strict,
	}
	req.Extraction = req.part() != nil || req.summaries() != nil
	s.next(&req)(w, r, &req)
}

// next records a request and returns the Play that answers it.
func (s *Server) next(req *Request) Play {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, *req)
	if !req.Extraction {
		switch {
		case req.filing() != nil:
			return file
		case s.Replaces != nil && req.comparison() != nil:
			return s.judge
		}
		return talk
	}
	if len(s.script) == 0 {
		return Echo()
	}
	play := s.script[0]
	if len(s.script) > 1 {
		s.script = s.script[1:]
	}
	return play
}
