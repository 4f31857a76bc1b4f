package middleware_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
)

// printer stands for the network: it prints what would be sent.
type printer struct{}

func (printer) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	before, rest, _ := strings.Cut(string(body), `{"role":"user","content":"[Pipeline Knowledge]`)
	_, after, _ := strings.Cut(rest, `[/Pipeline Knowledge]"}`)
	fmt.Println(before + "BLOCK" + after)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: req}, nil
}

func ExampleLayer_Transport() {
	root, _ := os.MkdirTemp("", "ken")
	defer os.RemoveAll(root)
	layer, err := middleware.Open(context.Background(), middleware.Options{Root: root, Foreground: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer layer.Close()
	store, release, err := layer.Store(context.Background(), "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer release()
	claim, _ := ken.NewClaim("The ledger database runs PostgreSQL 15.", ken.FromFile("compose.yaml", "", ""))
	if _, err := store.WriteClaim(context.Background(), claim); err != nil {
		fmt.Println(err)
		return
	}

	client := &http.Client{Transport: layer.Transport(printer{}, ken.Turn{Session: "s1"})}
	resp, err := client.Post("https://api.example.com/v1/chat/completions", "application/json", strings.NewReader(
		`{"model":"m","temperature":0,"messages":[{"role":"user","content":"Which database does the ledger run?"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	// Output:
	// {"model":"m","temperature":0,"messages":[BLOCK,{"role":"user","content":"Which database does the ledger run?"}]}
}
