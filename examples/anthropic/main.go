// Command anthropic puts a knowledge layer under calls of Anthropic's API, as the
// http.RoundTripper of the HTTP client. Give that client to Anthropic's own SDK with
// option.WithHTTPClient; here the request is written by hand.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/examples/model"
	"github.com/kenlayer/ken/middleware"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "anthropic:", err)
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
	if _, err := layer.Remember(ctx, "The payments service retries a failed transfer three times."); err != nil {
		return err
	}

	server := model.FindAnthropic()
	defer server.Close()
	client := &http.Client{Transport: layer.Transport(nil, ken.Turn{Session: "example"})}

	body, err := json.Marshal(map[string]any{"model": server.Model, "max_tokens": 200, "messages": []map[string]string{
		{"role": "user", "content": "How often does the payments service retry a failed transfer?"}}})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.BaseURL+"/messages", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("content-type", "application/json")
	req.Header.Set("x-api-key", server.Key)
	req.Header.Set("anthropic-version", "2023-06-01")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer struct{ Content []struct{ Text string } }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || len(answer.Content) == 0 {
		return errors.New("the model answers " + resp.Status)
	}
	fmt.Println(answer.Content[0].Text)
	return nil
}
