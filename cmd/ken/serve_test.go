package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// served is a ken serve that a script has started.
type served struct {
	cmd     *exec.Cmd
	out     bytes.Buffer
	err     spoken
	started chan string // its address, "" when it ended before it had one
	read    sync.WaitGroup
}

// spoken is what a process says, to be read while it runs.
type spoken struct {
	mu   sync.Mutex
	said bytes.Buffer
	more chan struct{} // closed when there is more, or the process has ended; nil when nobody waits
}

func (s *spoken) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wake()
	return s.said.Write(b)
}

func (s *spoken) wake() {
	if s.more != nil {
		close(s.more)
		s.more = nil
	}
}

func (s *spoken) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.String()
}

// until waits for a whole line that matches, behind the first n bytes.
func (s *spoken) until(n int, want *regexp.Regexp) error {
	late := time.After(time.Minute)
	for {
		s.mu.Lock()
		said := s.said.String()[n:]
		if s.more == nil {
			s.more = make(chan struct{})
		}
		more := s.more
		s.mu.Unlock()
		for line := range strings.Lines(said) {
			if strings.HasSuffix(line, "\n") && want.MatchString(line) {
				return nil
			}
		}
		select {
		case <-more:
		case <-late:
			return fmt.Errorf("%q is not said: %s", want, said)
		}
	}
}

// servers are those that run, by their script's folder.
var servers sync.Map

// serveCommand starts ken serve on a free port, and sets GATEWAY to its address.
func serveCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: serve [FLAG …]")
	}
	s := &served{started: make(chan string, 1)}
	s.cmd = exec.CommandContext(context.Background(), program(ts), append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	s.cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "GORACE", "GOCOVERDIR", "LENT", "OPENAI_BASE_URL", "XDG_STATE_HOME", "KEN_CONFIG"} {
		s.cmd.Env = append(s.cmd.Env, name+"="+ts.Getenv(name))
	}
	s.cmd.Stderr = &s.err
	out, err := s.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(s.cmd.Start())
	s.read.Go(func() { s.follow(out) })
	servers.Store(ts.MkAbs("."), s)
	ts.Defer(func() {
		if _, runs := servers.LoadAndDelete(ts.MkAbs(".")); runs {
			_ = s.cmd.Process.Kill()
			_ = s.cmd.Wait()
		}
	})
	url := <-s.started
	if url == "" {
		s.read.Wait()
		_ = s.cmd.Wait()
		ts.Fatalf("ken serve ended: %s", s.err.String())
	}
	ts.Setenv("GATEWAY", url)
}

// program is the ken of the script.
func program(ts *testscript.TestScript) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		p := filepath.Join(dir, "ken")
		if fi, err := os.Stat(p); err == nil && !fi.IsDir() {
			return p
		}
	}
	ts.Fatalf("there is no ken in PATH")
	return ""
}

// follow keeps what is printed and tells of the address, in the last line of those
// that come at once.
func (s *served) follow(out io.Reader) {
	b := make([]byte, 4096)
	told := false
	for {
		n, err := out.Read(b)
		s.out.Write(b[:n])
		if _, rest, ok := strings.Cut(s.out.String(), "ANTHROPIC_BASE_URL="); ok && !told && strings.HasSuffix(rest, "\n") {
			s.started <- strings.TrimSpace(rest)
			told = true
		}
		if err != nil {
			if !told {
				s.started <- ""
			}
			return
		}
	}
}

// terminateCommand sends ken serve SIGTERM and waits for it to end well. What it printed is
// then in the files serve.out and serve.err.
func terminateCommand(ts *testscript.TestScript, neg bool, args []string) {
	v, ok := servers.LoadAndDelete(ts.MkAbs("."))
	if len(args) > 0 || !ok {
		ts.Fatalf("usage: terminate, after serve")
	}
	s := v.(*served)
	ts.Check(s.cmd.Process.Signal(syscall.SIGTERM))
	s.read.Wait()
	err := s.cmd.Wait()
	ts.Check(os.WriteFile(ts.MkAbs("serve.out"), s.out.Bytes(), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("serve.err"), []byte(s.err.String()), 0o600))
	if (err == nil) == neg {
		ts.Fatalf("ken serve: %v\n%s", err, s.err.String())
	}
}

// hangupCommand sends ken serve SIGHUP and waits until its log has a line that matches.
func hangupCommand(ts *testscript.TestScript, neg bool, args []string) {
	v, ok := servers.Load(ts.MkAbs("."))
	if neg || len(args) != 1 || !ok {
		ts.Fatalf("usage: hangup PATTERN, after serve")
	}
	s := v.(*served)
	want, err := regexp.Compile(args[0])
	ts.Check(err)
	n := len(s.err.String())
	ts.Check(s.cmd.Process.Signal(syscall.SIGHUP))
	ts.Check(s.err.until(n, want))
}

// callCommand makes an HTTP request with the content of a file, "-" for none, and
// headers. The answer's status and headers are then in the file head, its body in the
// file body.
func callCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: call METHOD URL FILE [NAME:VALUE …]")
	}
	body := ""
	if args[2] != "-" {
		body = ts.ReadFile(args[2])
	}
	req, err := http.NewRequestWithContext(context.Background(), args[0], args[1], strings.NewReader(body))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	for _, h := range args[3:] {
		name, value, _ := strings.Cut(h, ":")
		req.Header.Set(name, value)
	}
	tr := &http.Transport{DisableKeepAlives: true}
	resp, err := tr.RoundTrip(req)
	ts.Check(err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	ts.Check(err)
	var head bytes.Buffer
	fmt.Fprintf(&head, "%d\n", resp.StatusCode)
	ts.Check(resp.Header.Write(&head))
	ts.Check(os.WriteFile(ts.MkAbs("head"), bytes.ReplaceAll(head.Bytes(), []byte("\r"), nil), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("body"), b, 0o600))
}
