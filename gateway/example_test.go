package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/middleware"
)

// Any client that speaks the API points its base URL at the gateway.
func Example() {
	// The model behind the gateway, which only counts here what it is told.
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintln(w, "told about Thursdays:", strings.Contains(string(body), "deploys on Thursdays"))
	}))
	defer model.Close()

	root, err := os.MkdirTemp("", "ken")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	c := config.Default()
	c.Repository.Index = false
	l, err := middleware.Open(context.Background(), middleware.Options{Root: root, Config: &c, Foreground: true})
	if err != nil {
		panic(err)
	}
	defer l.Close()
	_, err = l.Session(ken.Turn{Session: "earlier"}).Learn(context.Background(), "The team deploys on Thursdays.", []ken.Evidence{ken.FromUserStatement("earlier", "1")})
	if err != nil {
		panic(err)
	}

	g, err := gateway.New(l, gateway.Options{Upstream: model.URL})
	if err != nil {
		panic(err)
	}
	srv := httptest.NewServer(g)
	defer srv.Close()

	resp, err := http.Post(srv.URL+"/v1/chat/completions", "application/json",
		strings.NewReader(`{"model":"any","messages":[{"role":"user","content":"On which day does the team deploy?"}]}`))
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(resp.Body)
	fmt.Print(string(answer))
	// Output: told about Thursdays: true
}
