package clients

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// program is the path of one of Ken's programs, built when no variable names it.
func program(t *testing.T, variable, pkg string) string {
	t.Helper()
	if path := os.Getenv(variable); path != "" {
		return path
	}
	path := filepath.Join(t.TempDir(), filepath.Base(pkg))
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, pkg)
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	return path
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// launch starts a program and returns the address that it prints. stop ends it and
// waits; it is called at the end of the test, too.
func launch(t *testing.T, end func(*exec.Cmd, io.Closer) error, path string, args ...string) (url string, stop func()) {
	t.Helper()
	cmd := exec.Command(path, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	found := make(chan string, 1)
	var said bytes.Buffer
	var reading sync.WaitGroup
	reading.Go(func() {
		defer out.Close()
		defer close(found)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			fmt.Fprintln(&said, lines.Text())
			if m := address.FindString(lines.Text()); m != "" {
				select {
				case found <- m:
				default:
				}
			}
		}
	})
	stop = sync.OnceFunc(func() {
		if err := end(cmd, in); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("end %s: %v", path, err)
		}
		reading.Wait()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s %s: %v\n%s", path, strings.Join(args, " "), err, said.String())
		}
	})
	t.Cleanup(stop)
	url, ok := <-found
	if !ok {
		t.Fatalf("%s ended without an address", path)
	}
	return url, stop
}

// arrival is a request as the provider got it.
type arrival struct {
	Target string `json:"target"`
	Header []struct{ Name, Value string }
	Body   []byte `json:"body"`
}

// upstream is the recorded provider.
type upstream struct{ url string }

func startUpstream(t *testing.T) upstream {
	t.Helper()
	url, _ := launch(t, func(_ *exec.Cmd, in io.Closer) error { return in.Close() },
		program(t, "KEN_UPSTREAM_BIN", "./gateway/upstreamtest/cmd/upstream"))
	return upstream{url}
}

func (u upstream) control(t *testing.T, method, path, body string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, u.url+"/_upstream/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s", method, path, resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

// take returns what has arrived, and forgets it.
func (u upstream) take(t *testing.T) []arrival {
	t.Helper()
	var all []arrival
	u.control(t, http.MethodGet, "requests", "", &all)
	u.control(t, http.MethodDelete, "requests", "", new(any))
	return all
}

// next queues recordings.
func (u upstream) next(t *testing.T, orders string) {
	t.Helper()
	u.control(t, http.MethodPost, "next", orders, new(any))
}

// startGateway starts ken serve in a project that knows the claims.
func startGateway(t *testing.T, u upstream, claims ...string) string {
	t.Helper()
	ken, dir := program(t, "KEN_BIN", "./cmd/ken"), t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".ken"), 0o755); err != nil {
		t.Fatal(err)
	}
	// What is found must not depend on the machine's load.
	if err := os.WriteFile(filepath.Join(dir, ".ken", "config.yaml"), []byte("retrieval:\n  deadline: 30s\nrepository:\n  index: false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, claim := range claims {
		if out, err := exec.CommandContext(t.Context(), ken, "--dir", dir, "learn", claim).CombinedOutput(); err != nil {
			t.Fatalf("ken learn: %v\n%s", err, out)
		}
	}
	url, _ := launch(t, func(cmd *exec.Cmd, _ io.Closer) error { return cmd.Process.Signal(os.Interrupt) },
		ken, "--dir", dir, "serve", "--listen", "127.0.0.1:0", "--upstream", u.url+"/v1")
	return url
}
