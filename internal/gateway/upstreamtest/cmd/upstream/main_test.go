package main

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
)

// The command lives as long as its standard input.
func TestRun(t *testing.T) {
	in, leave := io.Pipe()
	out, lines := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- run(nil, in, lines) }()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSpace(url)+"/_upstream/requests", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || string(body) != "[]" {
		t.Errorf("got %s, %v", body, err)
	}
	leave.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := run([]string{"no such address"}, in, lines); err == nil {
		t.Error("it listens nowhere")
	}
}
