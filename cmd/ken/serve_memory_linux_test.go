package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
)

// mostResident is what ken serve may have in memory at once, in bytes, whatever
// clients send.
const mostResident = 1 << 30

// Many large bodies at once cost memory within a bound, and none of them is refused or
// changed. The long form is KEN_MEMORY=1 go test ./cmd/ken -run TestServeMemory -v.
func TestServeMemory(t *testing.T) {
	if os.Getenv("KEN_MEMORY") == "" {
		t.Skip("it takes 2 GB and half a minute; set KEN_MEMORY to 1")
	}
	const bodies, size = 24, 30 << 20
	for _, tt := range []struct{ name, text string }{
		{"one message", strings.Repeat("the ledger settles invoices every night and the lamp restarts, ", size/63)},
		{"many messages", strings.Repeat(`the ledger settles invoices every night"},{"role":"assistant","content":"and the lamp restarts"},{"role":"user","content":"`, size/122)},
		{"escapes", strings.Repeat(`the \"ledger\"\nsettles `, size/24)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			up := upstreamtest.New(t)
			body := []byte(`{"model":"m","messages":[{"role":"user","content":"` + tt.text + `which port?"}]}`)
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, ".ken"), 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "ken", "serve", "--listen", "127.0.0.1:0", "--upstream", up.URL+"/v1")
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
			s := &served{cmd: cmd, started: make(chan string, 1)}
			cmd.Stderr = &s.err
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			s.read.Go(func() { s.follow(out) })
			url := <-s.started
			if url == "" {
				t.Fatal(s.err.String())
			}
			var wg sync.WaitGroup
			var mu sync.Mutex
			untouched := 0
			for range bodies {
				wg.Go(func() {
					req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/chat/completions", bytes.NewReader(body))
					if err != nil {
						t.Error(err)
						return
					}
					resp, err := http.DefaultTransport.RoundTrip(req)
					if err != nil {
						t.Error(err)
						return
					}
					defer resp.Body.Close()
					if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
						t.Error(resp.StatusCode, err)
					}
					mu.Lock()
					defer mu.Unlock()
					if resp.Header.Get("X-Ken-Untouched") != "" {
						untouched++
					}
				})
			}
			wg.Wait()
			now, peak := resident(t, cmd.Process.Pid)
			t.Logf("%d bodies of %d MB at once: %d MB at most, %d MB after; %d passed on untouched", bodies, len(body)>>20, peak>>20, now>>20, untouched)
			if peak > mostResident {
				t.Errorf("%d MB, at most %d are allowed", peak>>20, mostResident>>20)
			}
			_ = cmd.Process.Kill() // what it keeps of such texts is another's concern
			s.read.Wait()
			_ = cmd.Wait()
		})
	}
}

// resident is the memory that a process has, and the most that it had, in bytes.
func resident(t *testing.T, pid int) (now, most int) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		kb, _ := strconv.Atoi(f[1])
		switch f[0] {
		case "VmRSS:":
			now = kb << 10
		case "VmHWM:":
			most = kb << 10
		}
	}
	if now == 0 || most == 0 {
		t.Fatalf("no sizes in\n%s", b)
	}
	return now, most
}
