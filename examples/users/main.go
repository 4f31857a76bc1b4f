// Command users is a chat server for many users. One layer and one wrapped client serve
// them all: the context of each request says whose it is, and nobody is told what another
// user said.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/examples/model"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/middleware/goopenai"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "users:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	// A project of its own; a real program names its project's folder.
	root, err := os.MkdirTemp("", "ken")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	layer, err := middleware.Open(ctx, middleware.Options{Root: root, Foreground: true, RequireOwner: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, layer.Close()) }()

	upstream := model.Find()
	defer upstream.Close()
	cfg := openai.DefaultConfig(upstream.Key)
	cfg.BaseURL = upstream.BaseURL
	s := &server{layer: layer, model: upstream.Model,
		chat: goopenai.Wrap(layer, openai.NewClientWithConfig(cfg), ken.Turn{})}
	web := httptest.NewServer(s.routes()) // a real program calls http.ListenAndServe
	defer web.Close()

	for _, say := range [][3]string{
		{"ana", "/remember", "I deploy to the cluster in Frankfurt."},
		{"bob", "/remember", "I deploy to the cluster in Dublin."},
		{"ana", "/chat", "To which cluster do I deploy?"},
		{"bob", "/chat", "To which cluster do I deploy?"},
		{"eve", "/chat", "To which cluster do I deploy?"},
		{"", "/chat", "To which cluster do I deploy?"},
	} {
		answer, err := post(ctx, web.URL+say[1], say[0], say[2])
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s\n", say[0], answer)
	}
	return nil
}

type server struct {
	layer *middleware.Layer
	chat  *goopenai.Wrapped
	model string
}

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /remember", s.as(s.remember))
	mux.HandleFunc("POST /chat", s.as(s.answer))
	return mux
}

// as puts the user and the session of a request into its context. The name of a user comes
// from your login, never from what is said.
func (s *server) as(next func(context.Context, string) (string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		user, _, ok := r.BasicAuth()
		if !ok || user == "" {
			http.Error(w, "log in", http.StatusUnauthorized)
			return
		}
		ctx := ken.WithTurn(r.Context(), ken.Turn{Owner: user, Session: user + "-today"})
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err == nil {
			var out string
			if out, err = next(ctx, string(text)); err == nil {
				fmt.Fprint(w, out)
				return
			}
		}
		http.Error(w, err.Error(), http.StatusBadGateway)
	}
}

func (s *server) remember(ctx context.Context, text string) (string, error) {
	_, err := s.layer.Remember(ctx, text)
	return "remembered", err
}

func (s *server) answer(ctx context.Context, question string) (string, error) {
	resp, err := s.chat.CreateChatCompletion(ctx, openai.ChatCompletionRequest{
		Model:    s.model,
		Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: question}},
	})
	if err != nil {
		return "", err
	}
	return resp.Choices[0].Message.Content, nil
}

func post(ctx context.Context, url, user, text string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(text))
	if err != nil {
		return "", err
	}
	req.SetBasicAuth(user, "")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}
