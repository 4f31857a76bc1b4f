package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
)

// A program that starts Ken for itself gets an address, sends calls where it likes, and need not
// end Ken: whatever becomes of the program, its end of the pipe closes.
func TestServeForTheProgramThatStartedIt(t *testing.T) {
	up := upstreamtest.New(t)
	dir := t.TempDir()
	// A ken serve of the same folder is not in the way, and neither are others like it.
	long := exec.CommandContext(t.Context(), "ken", "serve", "--listen", "127.0.0.1:0", "--json", "--dir", dir)
	out, err := long.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := long.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = long.Process.Kill()
		_ = long.Wait()
	}()
	if err := json.NewDecoder(out).Decode(&struct{}{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		serveChild(t, up, dir)
	}
}

func serveChild(t *testing.T, up *upstreamtest.Server, dir string) {
	t.Helper()
	up.Forget()
	cmd := exec.CommandContext(t.Context(), "ken", "serve", "--child", "--quiet", "--dir", dir)
	var said bytes.Buffer
	cmd.Stderr = &said
	leash, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var at struct{ URL, Upstream, Key string }
	if err := json.NewDecoder(out).Decode(&at); err != nil || !strings.HasPrefix(at.URL, "http://127.0.0.1:") {
		t.Fatalf("%+v, %v: %s", at, err, &said)
	}
	// Another account of this machine can connect, and has no key.
	for key, status := range map[string]int{"": http.StatusUnauthorized, "ken_other": http.StatusUnauthorized, at.Key: http.StatusOK} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at.URL+"/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Ken-Upstream", up.URL+"/v1")
		req.Header.Set("X-Ken-Key", key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != status {
			t.Errorf("with the key %q: status %d", key, resp.StatusCode)
		}
	}
	if n := len(up.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
	page, err := http.Get(at.URL + "/console/login?key=" + at.Key + "&next=/console/claims")
	if err != nil {
		t.Fatal(err)
	}
	page.Body.Close()
	if page.StatusCode != http.StatusUnauthorized { // it leads to the page, with a cookie that this client does not keep
		t.Errorf("the console without a cookie: status %d", page.StatusCode)
	}
	if err := leash.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || said.Len() > 0 {
		t.Errorf("%v: %s", err, &said)
	}
}
