package main

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kenlayer/ken/examples/model"
)

// The example runs, against the stand-in in place of OpenAI.
func Example() {
	os.Unsetenv("OPENAI_BASE_URL")
	server := model.Find()
	defer server.Close()
	to, _ := url.Parse(server.BaseURL)
	usual := http.DefaultTransport
	http.DefaultTransport = redirect{usual, to}
	defer func() { http.DefaultTransport = usual }()

	folder, _ := os.MkdirTemp("", "ken")
	defer os.RemoveAll(folder)
	here, _ := os.Getwd()
	os.Chdir(folder)
	defer os.Chdir(here)

	main()
	// Output:
	// The payments service retries a failed transfer three times.
	// I was told: The payments service retries a failed transfer three times.
}

type redirect struct {
	http.RoundTripper
	to *url.URL
}

// RoundTrip sends what is for OpenAI's address elsewhere.
func (r redirect) RoundTrip(req *http.Request) (*http.Response, error) {
	req.URL.Scheme, req.URL.Host = r.to.Scheme, r.to.Host
	return r.RoundTripper.RoundTrip(req)
}

// TestReadme keeps the README's snippet a part of this program, as it stands there.
func TestReadme(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	snippets := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllSubmatch(page, -1)
	if len(snippets) != 1 {
		t.Fatalf("%d snippets in Go", len(snippets))
	}
	indented := regexp.MustCompile("(?m)^(.)").ReplaceAllString(string(snippets[0][1]), "\t$1")
	if !strings.Contains(string(program), indented) {
		t.Errorf("main.go has not what the README shows:\n%s", indented)
	}
}
