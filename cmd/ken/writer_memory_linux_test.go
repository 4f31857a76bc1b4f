package main

import (
	"bytes"
	"encoding/json"
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
	"time"

	"github.com/kenlayer/ken/internal/synth"
)

// mostOfAWriter is what a process may have in memory while it writes 200,000 claims, in
// bytes.
const mostOfAWriter = 700 << 20

// A process that writes many claims keeps what a reader of them needs, and no more. The
// long form is KEN_MEMORY=200000 go test ./cmd/ken -run TestWriterMemory -v -timeout 30m;
// another number is that many claims.
func TestWriterMemory(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("KEN_MEMORY"))
	if n < 1000 {
		t.Skip("it takes minutes; set KEN_MEMORY to the number of claims, such as 200000")
	}
	for _, tt := range []struct {
		name  string
		write func(*testing.T, string, int) *peak
	}{{"import", writtenByImport}, {"one at a time", writtenByClients}} {
		t.Run(tt.name, func(t *testing.T) {
			dir := projectDir(t)
			p := tt.write(t, dir, n)
			t.Logf("%d claims: %v", n, p)
			if p.all > mostOfAWriter {
				t.Errorf("%d MB, at most %d are allowed", p.all>>20, mostOfAWriter>>20)
			}
			_, stop := serveIn(t, dir)
			if p = stop(); p.all > mostOfAWriter {
				t.Errorf("opened anew: %d MB, at most %d are allowed", p.all>>20, mostOfAWriter>>20)
			}
			t.Logf("opened anew: %v", p)
		})
	}
}

// claimLine is claim number i of a source, as JSON: 14 words or so, and one of 2,000 names.
func claimLine(src *synth.Source, i int) []byte {
	b, _ := json.Marshal(map[string]any{
		"text":     fmt.Sprintf("Service %s%d listens on port %d and %s.", src.Text(1), i%2000, 1024+i%60000, src.Text(8)),
		"evidence": []map[string]any{{"kind": "user_statement", "session_id": "s", "message_id": "m"}},
	})
	return b
}

func writtenByImport(t *testing.T, dir string, n int) *peak {
	cmd := exec.CommandContext(t.Context(), "ken", "import", "-")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := watch(t, cmd.Process.Pid)
	src := synth.New(1)
	for i := range n {
		if _, err := in.Write(append(claimLine(src, i), '\n')); err != nil {
			t.Fatal(err, errs.String())
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	p.stop()
	if want := fmt.Sprintf("%d claims written", n); err != nil || !strings.Contains(errs.String(), want) {
		t.Fatal(err, errs.String())
	}
	return p
}

// writtenByClients has sixteen clients of ken serve write a claim at a time.
func writtenByClients(t *testing.T, dir string, n int) *peak {
	url, stop := serveIn(t, dir)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	defer client.CloseIdleConnections()
	const clients = 16
	var wg sync.WaitGroup
	start := time.Now()
	for c := range clients {
		wg.Go(func() {
			src := synth.New(uint64(c))
			for i := c; i < n; i += clients {
				resp, err := client.Post(url+"/api/claims", "application/json", bytes.NewReader(claimLine(src, i)))
				if err != nil {
					t.Error(err)
					return
				}
				answer, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.StatusCode != http.StatusCreated {
					t.Errorf("%d %s", resp.StatusCode, answer)
					return
				}
			}
		})
	}
	wg.Wait()
	t.Logf("written in %v", time.Since(start).Round(time.Second))
	return stop()
}

// serveIn starts ken serve in a project and watches its memory, until stop ends it.
func serveIn(t *testing.T, dir string) (url string, stop func() *peak) {
	cmd := exec.CommandContext(t.Context(), "ken", "serve", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:1/v1")
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
	p := watch(t, cmd.Process.Pid)
	if url = <-s.started; url == "" {
		t.Fatal(s.err.String())
	}
	return url, func() *peak {
		p.stop()
		_ = cmd.Process.Signal(os.Interrupt)
		s.read.Wait()
		_ = cmd.Wait()
		return p
	}
}

// peak is the most memory that a process was seen with, in bytes: of its own, of files that
// it has mapped, and of both at one time.
type peak struct {
	own, files, all int
	stop            func()
}

func (p *peak) String() string {
	return fmt.Sprintf("%d MB at most, %d MB of its own, %d MB of mapped files", p.all>>20, p.own>>20, p.files>>20)
}

// watch looks at a process ten times a second until stop.
func watch(t *testing.T, pid int) *peak {
	p := &peak{}
	quit := make(chan struct{})
	var wg sync.WaitGroup
	p.stop = sync.OnceFunc(func() { close(quit); wg.Wait() })
	t.Cleanup(p.stop)
	wg.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for p.look(pid) {
			select {
			case <-tick.C:
			case <-quit:
				p.look(pid)
				return
			}
		}
	})
	return p
}

// look reports whether the process is there still.
func (p *peak) look(pid int) bool {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 {
			kb, _ := strconv.Atoi(f[1])
			switch f[0] {
			case "RssAnon:":
				p.own = max(p.own, kb<<10)
			case "RssFile:":
				p.files = max(p.files, kb<<10)
			case "VmHWM:":
				p.all = max(p.all, kb<<10)
			}
		}
	}
	return true
}
