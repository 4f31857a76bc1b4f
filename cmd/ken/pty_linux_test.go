package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sashabaranov/go-openai"
	"golang.org/x/sys/unix"

	"github.com/kenlayer/ken/internal/cli"
)

// openPTY returns the two ends of a new pseudo-terminal.
func openPTY(t *testing.T) (master, slave *os.File) {
	open := func(name string) *os.File {
		fd, err := unix.Open(name, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Skipf("no pseudo-terminal: open %s: %v", name, err)
		}
		f := os.NewFile(uintptr(fd), name)
		t.Cleanup(func() { f.Close() })
		return f
	}
	master = open("/dev/ptmx")
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 200}); err != nil {
		t.Fatal(err)
	}
	return master, open(filepath.Join("/dev/pts", strconv.Itoa(int(n))))
}

// person is somebody at a terminal in which ken runs.
type person struct {
	t        *testing.T
	terminal *os.File
	cmd      *exec.Cmd
	before   unix.Termios
	printed  []byte // and not waited for yet
}

// onTerminal starts ken in the project in dir.
func onTerminal(t *testing.T, dir string, args ...string) *person {
	t.Helper()
	master, slave := openPTY(t)
	p := &person{t: t, terminal: master, cmd: exec.CommandContext(t.Context(), "ken", append(args, "--dir", dir)...)}
	p.before = p.mode()
	p.cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "KEN_CONFIG=")
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = slave, slave, slave
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close() // so that the program's end is the end of what there is to read
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	})
	return p
}

func (p *person) mode() unix.Termios {
	m, err := unix.IoctlGetTermios(int(p.terminal.Fd()), unix.TCGETS)
	if err != nil {
		p.t.Fatal(err)
	}
	return *m
}

func (p *person) types(keys string) {
	p.t.Helper()
	if _, err := io.WriteString(p.terminal, keys); err != nil {
		p.t.Fatal(err)
	}
}

// personWaits is the longest that a person waits for one thing.
const personWaits = 20 * time.Second

// impatient ends the program when that time is over, and with it the read that
// waits for what it prints. stop gives it more time.
func (p *person) impatient() (stop func()) {
	timer := time.AfterFunc(personWaits, func() { _ = p.cmd.Process.Kill() })
	return func() { timer.Stop() }
}

// sees waits until text was printed, and returns what was printed before it.
func (p *person) sees(text string) (before string) {
	p.t.Helper()
	defer p.impatient()()
	for {
		if i := bytes.Index(p.printed, []byte(text)); i >= 0 {
			before, p.printed = string(p.printed[:i]), p.printed[i+len(text):]
			return before
		}
		buf := make([]byte, 4096)
		n, err := p.terminal.Read(buf)
		if errors.Is(err, syscall.EIO) { // the end; Linux may say so before the last lines were read
			n, err = p.terminal.Read(buf)
		}
		if err != nil {
			p.t.Fatalf("waiting at most %v for %q: %v; printed since: %q", personWaits, text, err, p.printed)
		}
		p.printed = append(p.printed, buf[:n]...)
	}
}

const prompt = "› "

// leaves waits for the end, and checks that the terminal is as it was.
func (p *person) leaves(status int) {
	p.t.Helper()
	defer p.impatient()()
	_, _ = io.Copy(io.Discard, p.terminal) // up to the error that the end is
	_ = p.cmd.Wait()                       // its status is looked at
	if got := p.cmd.ProcessState.ExitCode(); got != status {
		p.t.Errorf("exit status %d, want %d", got, status)
	}
	if diff := cmp.Diff(p.before, p.mode()); diff != "" {
		p.t.Errorf("the terminal's mode changed: %s", diff)
	}
}

// project makes a project that knows one thing, and a model for it.
func project(t *testing.T) (dir string, said func() [][]string) {
	t.Helper()
	dir = t.TempDir()
	url, requests := startModel(t)
	for name, text := range map[string]string{".ken/config.yaml": modelConfig(url) + harvestOff, "lamp.md": "The lighthouse lamp restarts from a pilot flame.\n"} {
		if err := writeTestFile(filepath.Join(dir, name), text); err != nil {
			t.Fatal(err)
		}
	}
	if err := trustFolder(dir); err != nil {
		t.Fatal(err)
	}
	// said returns each request's messages, without blocks.
	return dir, func() (out [][]string) {
		b, err := os.ReadFile(requests)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			var a asked
			var r openai.ChatCompletionRequest
			if json.Unmarshal(line, &a) != nil || json.Unmarshal(a.Request, &r) != nil {
				t.Fatalf("bad record: %s", line)
			}
			var texts []string
			for _, m := range r.Messages {
				if !strings.HasPrefix(m.Content, "[Pipeline Knowledge]") {
					texts = append(texts, m.Content)
				}
			}
			out = append(out, texts)
		}
		return out
	}
}

func TestChatOnTerminal(t *testing.T) {
	dir, said := project(t)
	p := onTerminal(t, dir, "chat")
	p.sees(prompt)

	// Editing: a wrong letter in the middle, and letters of several bytes.
	p.types("ein Wört über Käße\x1b[D\x7fs\r")
	p.sees("You said: ein Wört über Käse")
	p.sees(prompt)

	// Ctrl-C at the prompt drops the line, also what is behind the cursor and
	// after a key that was not finished.
	p.types("dropped\x1b[D\x1b[D\x03")
	p.sees(prompt)
	p.types("\x1b\x03")
	p.sees(prompt)

	// History: the last message comes back, and the one before it.
	p.types("lighthouse lamp\r")
	p.sees("You said: lighthouse lamp")
	p.sees(prompt)
	p.types("\x1b[A\x1b[A\r")
	p.sees("You said: ein Wört über Käse")
	p.sees(prompt)

	// A paste of several lines is one message.
	p.types("\x1b[200~panic: nil map\r\n\tmain.go:7\x03\x1b[201~ why?\r")
	p.sees("You said: ")
	p.sees(prompt)

	p.types("/why\r")
	p.sees("mode hybrid")
	p.sees(prompt)
	p.types("\x04") // Ctrl-D
	p.leaves(0)

	requests := said()
	want := []string{"ein Wört über Käse", "You said: ein Wört über Käse", "lighthouse lamp", "You said: lighthouse lamp",
		"ein Wört über Käse", "You said: ein Wört über Käse", "panic: nil map\n    main.go:7 why?"}
	if diff := cmp.Diff(want, requests[len(requests)-1]); diff != "" || len(requests) != 4 {
		t.Errorf("%d requests; the last: %s", len(requests), diff)
	}
}

func TestCtrlCStopsTheAnswerAndNotTheChat(t *testing.T) {
	dir, said := project(t)
	p := onTerminal(t, dir, "chat")
	p.sees(prompt)
	for range 2 {
		p.types("wait\r")
		p.sees("some of it")
		p.types("\x03") // the terminal makes it a signal: it is not raw now
		p.sees("(stopped)")
		p.sees(prompt)
	}
	p.types("go on\r")
	p.sees("You said: go on")
	p.sees(prompt)
	p.types("/quit\r")
	p.leaves(0)

	want := [][]string{{"wait"}, {"wait", "some of it", "wait"}, {"wait", "some of it", "wait", "some of it", "go on"}}
	if diff := cmp.Diff(want, said()); diff != "" {
		t.Errorf("the conversation (-want +got):\n%s", diff)
	}
}

func TestCtrlCStopsAsk(t *testing.T) {
	dir, said := project(t)
	p := onTerminal(t, dir, "ask", "wait")
	p.sees("some of it")
	p.types("\x03")
	p.sees("ken: stopped")
	p.leaves(cli.ExitInterrupted)
	if got := len(said()); got != 1 {
		t.Errorf("%d requests", got)
	}
}

func TestChatEndsWithSIGTERM(t *testing.T) {
	for _, tt := range []struct{ name, types, sees string }{
		{"at the prompt", "half a li", "half a li"},
		{"during an answer", "wait\r", "some of it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, _ := project(t)
			p := onTerminal(t, dir, "chat")
			p.sees(prompt)
			p.types("first\r")
			p.sees("You said: first")
			p.sees(prompt)
			p.types(tt.types)
			p.sees(tt.sees)
			if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			p.sees("ken: stopped")
			p.leaves(cli.ExitTerminated)
			if b, err := os.ReadFile(historyPath(dir)); err != nil || !strings.HasPrefix(string(b), "first\n") {
				t.Errorf("history %q, %v", b, err)
			}
		})
	}
}

func historyPath(dir string) string { return filepath.Join(dir, ".ken", "state", "chat_history") }

// A key that was pasted by mistake must not stay on the disk, nor what was typed
// be anybody else's to read.
func TestChatHistoryIsPrivate(t *testing.T) {
	const secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	dir, _ := project(t)
	p := onTerminal(t, dir, "chat")
	p.sees(prompt)
	p.types("my token is " + secret + "\r")
	p.sees("You said: ")
	p.sees(prompt)
	p.types("\x04")
	p.leaves(0)

	b, err := os.ReadFile(historyPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(b); got != "my token is [redacted:github-token]\n" {
		t.Errorf("history %q", got)
	}
	fi, err := os.Stat(historyPath(dir))
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}

	// The next chat brings it back, as it was saved.
	p = onTerminal(t, dir, "chat")
	p.sees(prompt)
	p.types("\x1b[A\r")
	p.sees("You said: my token is [redacted:github-token]")
	p.sees(prompt)
	p.types("\x04")
	p.leaves(0)
}

// On a terminal, progress is one line that goes away.
func TestProgressOnTerminal(t *testing.T) {
	dir, _ := project(t)
	p := onTerminal(t, dir, "chat")
	p.sees("\r\x1b[Kfiles ")
	p.sees("\r\x1b[K")
	p.sees(prompt)
	p.types("\x04")
	p.leaves(0)
}
