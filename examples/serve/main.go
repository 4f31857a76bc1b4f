// Command serve runs Ken's gateway inside a program of your own: clients point their
// base URL at it, and each of their model calls carries what Ken knows.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/examples/model"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/middleware"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
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
	layer, err := middleware.Open(ctx, middleware.Options{Root: root, Foreground: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, layer.Close()) }()
	session := layer.Session(ken.Turn{Session: "yesterday"})
	if _, err := session.Learn(ctx, "The team deploys on Thursdays.", []ken.Evidence{ken.FromUserStatement("yesterday", "1")}); err != nil {
		return err
	}

	upstream := model.Find()
	defer upstream.Close()
	handler, err := gateway.New(layer, gateway.Options{Upstream: strings.TrimSuffix(upstream.BaseURL, "/v1")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, handler.Close()) }()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // a real program chooses a port
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler}
	go server.Serve(listener)
	defer server.Shutdown(ctx)

	// From here on it is any client, in any language.
	cfg := openai.DefaultConfig(upstream.Key)
	cfg.BaseURL = "http://" + listener.Addr().String() + "/v1"
	resp, err := openai.NewClientWithConfig(cfg).CreateChatCompletion(ctx, openai.ChatCompletionRequest{
		Model:    upstream.Model,
		Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: "On which day does the team deploy?"}},
	})
	if err != nil {
		return err
	}
	fmt.Println(resp.Choices[0].Message.Content)
	return nil
}
