package main

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
	"github.com/kenlayer/ken/internal/race"
)

// elsewhere names the test that runs each README snippet which TestReadme leaves out.
var elsewhere = map[string]string{
	"go":     "examples/quickstart",
	"python": "internal/clients/python/test_docs.py",
	"ts":     "internal/clients/node/test/docs.test.js",
	"":       "a picture",

	"go run ./cmd/ken ask \"how does the circuit breaker recover?\"\nmake test\n": ".ci/run, in a fresh clone",
}

// TestReadme runs the snippets of the README as they stand there, on a terminal and against
// the scripted upstream. A text below a snippet is part of what it prints.
func TestReadme(t *testing.T) {
	race.SkipLong(t)
	page, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(t)
	printed, ran := "", map[string]int{}
	for _, block := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		language, text := block[1], block[2]
		name, _, _ := strings.Cut(text, "\n")
		switch {
		case elsewhere[text] != "":
			ran[text]++
		case elsewhere[language] != "":
			ran[language]++
		case language == "text":
			if want := alike(text); !strings.Contains(alike(printed), want) {
				t.Errorf("the README shows %s\nand what is printed is %s", want, alike(printed))
			}
		case language == "json":
			t.Run(name, func(t *testing.T) { r.configures(t, text) })
		case text == "ken serve\n":
			t.Run(name, func(*testing.T) { r.serves(t, text) }) // up to the end of the other snippets
		case language == "sh":
			t.Run(name, func(t *testing.T) { printed = r.runs(t, text) })
		default:
			t.Errorf("nobody runs this %s: %s", language, text)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	for what, where := range elsewhere {
		if ran[what] == 0 {
			t.Errorf("the README has no longer what %s runs: %q", where, what)
		}
	}
}

// alike is a text without ids and dates, and with the line ends of a file.
func alike(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return regexp.MustCompile(`\[k:\w+\]|\d{4}-\d\d-\d\d`).ReplaceAllString(text, "…")
}

// reader is somebody with Claude Code who follows the README.
type reader struct {
	home, project string
	upstream      string // the address of the scripted upstream
	env           []string
}

func newReader(t *testing.T) *reader {
	r := &reader{home: t.TempDir(), project: t.TempDir()}
	up := upstreamtest.New(t)
	r.upstream = up.URL
	for path, text := range map[string]string{
		// What is found must not depend on the machine's load, nor the test on a port.
		filepath.Join(r.home, ".config/ken/config.yaml"): "retrieval:\n  deadline: 30s\nrepository:\n  index: false\ngateway:\n  listen: 127.0.0.1:0\n",
		filepath.Join(r.home, ".claude/settings.json"):   "{}\n",
		filepath.Join(r.project, "CLAUDE.md"):            "- Never deploy on Fridays.\n",
	} {
		if err := writeTestFile(path, text); err != nil {
			t.Fatal(err)
		}
	}
	cache := os.Getenv("GOCACHE") // is not where the usual one is, for the home is another one
	if cache == "" {
		if dir, err := os.UserCacheDir(); err == nil {
			cache = filepath.Join(dir, "go-build")
		}
	}
	r.env = append(os.Environ(), "HOME="+r.home, "GOCACHE="+cache, "XDG_CONFIG_HOME="+filepath.Join(r.home, ".config"), "XDG_DATA_HOME=", "CURL_HOME="+r.home,
		"TMPDIR="+t.TempDir(), "OPENAI_BASE_URL="+up.URL+"/v1", "OPENAI_API_KEY=sk-test", "NO_COLOR=1", "PAGER=", "GORACE=atexit_sleep_ms=0")
	return r
}

// runs runs a snippet to its end, and answers yes to what it asks.
func (r *reader) runs(t *testing.T, snippet string) (printed string) {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil && strings.Contains(snippet, "curl") {
		t.Skip("curl is not installed")
	}
	p := r.starts(t, snippet)
	p.types("y\n")
	defer p.impatient()()
	b, _ := io.ReadAll(p.terminal) // up to the error that the end is
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, b)
	}
	if strings.Contains(snippet, "curl") && !strings.Contains(string(b), "We release on Tuesdays.") {
		t.Errorf("it printed %s", b)
	}
	return string(b)
}

// serves starts a snippet that serves until the test ends, and sends curl to its address in
// place of the usual one.
func (r *reader) serves(t *testing.T, snippet string) (printed string) {
	t.Helper()
	p := r.starts(t, snippet)
	printed = p.sees("OPENAI_BASE_URL=http://")
	address := p.sees("/v1")
	if err := writeTestFile(filepath.Join(r.home, ".curlrc"), "connect-to = 127.0.0.1:8484:"+address+"\nsilent\nfail\n"); err != nil {
		t.Fatal(err)
	}
	return printed
}

// starts starts a snippet in a shell, on a terminal.
func (r *reader) starts(t *testing.T, snippet string) *person {
	t.Helper()
	master, slave := openPTY(t)
	p := &person{t: t, terminal: master, cmd: exec.CommandContext(t.Context(), "bash", "-euc", snippet)}
	p.cmd.Dir, p.cmd.Env = r.project, r.env
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

// configures starts the servers of an MCP client's configuration, and asks each for its tools.
func (r *reader) configures(t *testing.T, text string) {
	var c struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(text), &c); err != nil || len(c.Servers) == 0 {
		t.Fatal(err, text)
	}
	for _, s := range c.Servers {
		cmd := exec.CommandContext(t.Context(), s.Command, s.Args...)
		cmd.Dir, cmd.Env = r.project, r.env
		cs, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer cs.Close()
		list, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(list.Tools, func(tool *mcp.Tool) bool { return tool.Name == "memory_recall" }) {
			t.Errorf("no memory_recall among %d tools", len(list.Tools))
		}
	}
}
