package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kenlayer/ken/tools"
)

// mcpProject is a folder with a configuration and without anything to index.
func mcpProject(t testing.TB, more ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".ken"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".ken", "config.yaml"), []byte("repository:\n  index: false\n"+strings.Join(more, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// command is ken as a process of its own, in a project.
func command(t testing.TB, dir string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	// The context of a test ends before its cleanups, and this ends in one.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "ken", append(args, "--dir", dir)...)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	return cmd, &errs
}

// client starts ken mcp as an MCP client does.
func mcpClient(t testing.TB, dir string, args ...string) *mcp.ClientSession {
	t.Helper()
	cmd, errs := command(t, dir, append([]string{"mcp"}, args...)...)
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatalf("start ken mcp: %v: %s", err, errs)
	}
	t.Cleanup(func() {
		if err := cs.Close(); err != nil {
			t.Errorf("end ken mcp: %v: %s", err, errs)
		}
	})
	return cs
}

func McpCall(t testing.TB, cs *mcp.ClientSession, name string, args map[string]any) string {
	t.Helper()
	res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return res.Content[0].(*mcp.TextContent).Text
}

// Two clients of one project, each with a process of its own: what one learns the
// other knows, and none is told that the folder is held.
func TestMCPProcesses(t *testing.T) {
	dir := mcpProject(t)
	one, two := mcpClient(t, dir), mcpClient(t, dir)
	if got := McpCall(t, one, "memory_ingest", map[string]any{"text": "The vault opens with a brass lever."}); !strings.HasPrefix(got, "Learned") {
		t.Fatalf("got %q", got)
	}
	if got := McpCall(t, two, "memory_recall", map[string]any{"query": "how does the vault open?"}); !strings.Contains(got, "brass lever") {
		t.Errorf("the other process recalls %q", got)
	}
	if got := McpCall(t, two, "memory_ingest", map[string]any{"text": "The lamp is green."}); !strings.HasPrefix(got, "Learned") {
		t.Errorf("the other process learns: %q", got)
	}
	// The command line runs beside them, and forgetting is its own.
	var found struct{ Claims []struct{ ID string } }
	cmd, errs := command(t, dir, "recall", "--json", "vault brass lever")
	out, err := cmd.Output()
	if err != nil || json.Unmarshal(out, &found) != nil || len(found.Claims) != 1 {
		t.Fatalf("ken recall: %s, %v: %s", out, err, errs)
	}
	McpCall(t, one, "forget_memory", map[string]any{"id": found.Claims[0].ID, "reason": "the user asked"})
	cmd, errs = command(t, dir, "attention")
	if out, err = cmd.Output(); err != nil || !strings.Contains(string(out), "$ ken forget "+found.Claims[0].ID) {
		t.Errorf("ken attention: %s, %v: %s", out, err, errs)
	}
	cmd, errs = command(t, dir, "forget", "--yes", found.Claims[0].ID)
	if out, err = cmd.Output(); err != nil {
		t.Fatalf("ken forget: %s, %v: %s", out, err, errs)
	}
	if got := McpCall(t, one, "memory_recall", map[string]any{"query": "how does the vault open?"}); strings.Contains(got, "brass lever") {
		t.Errorf("after it was forgotten: %q", got)
	}
}

func TestMCPReadOnly(t *testing.T) {
	cs := mcpClient(t, mcpProject(t), "--read-only", "--owner", "other", "--agent", "named")
	list, err := cs.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) == 0 {
		t.Fatal(err)
	}
	for _, x := range list.Tools {
		if !x.Annotations.ReadOnlyHint {
			t.Errorf("offers %s", x.Name)
		}
	}
}

// A client over standard input and output lists the profiles that the command line or the
// configuration names, and may call what is not listed.
func TestMCPProfiles(t *testing.T) {
	dir := mcpProject(t)
	for _, p := range tools.Profiles() {
		list, err := mcpClient(t, dir, "--tools", p.Name).ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) != len(p.Tools) {
			t.Errorf("%s lists %d tools, want %d, %v", p.Name, len(list.Tools), len(p.Tools), err)
		}
	}
	cs := mcpClient(t, mcpProject(t, "tools:\n  profile: code, memory_stats\n"))
	if list, err := cs.ListTools(t.Context(), nil); err != nil || len(list.Tools) != 4 {
		t.Errorf("the configuration lists %d tools, %v", len(list.Tools), err)
	}
	if got := McpCall(t, cs, "memory_ingest", map[string]any{"text": "The vault opens with a brass lever."}); !strings.HasPrefix(got, "Learned") {
		t.Errorf("memory_ingest: %q", got)
	}
	if got := McpCall(t, cs, "knowledge_recall", map[string]any{"question": "how does the vault open?"}); !strings.Contains(got, "brass lever") {
		t.Errorf("knowledge_recall: %q", got)
	}
	for name, args := range map[string][]string{"--tools": {"mcp", "--tools", "cor"}, "tools.profile": {"mcp"}} {
		where := dir
		if len(args) == 1 {
			where = mcpProject(t, "tools:\n  profile: cor\n")
		}
		cmd, errs := command(t, where, args...)
		if err := cmd.Run(); err == nil || !strings.Contains(errs.String(), name) || !strings.Contains(errs.String(), "did you mean core?") || !strings.Contains(errs.String(), "graph_search") {
			t.Errorf("%v: %v: %s", args, err, errs)
		}
	}
}

const mcpHello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// In a pipe it answers what it was asked, says nothing else, and ends with its input.
func TestMCPInAPipe(t *testing.T) {
	cmd, errs := command(t, mcpProject(t), "mcp")
	cmd.Stdin = strings.NewReader(mcpHello + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"memory_stats"}}` + "\nnonsense\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errs)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("not the protocol: %q", line)
		}
	}
	if len(lines) != 3 || !strings.Contains(string(out), `"text":"0 claims`) || !strings.Contains(string(out), "-32700") {
		t.Errorf("got %s", out)
	}
	if errs.Len() > 0 {
		t.Errorf("standard error: %s", errs)
	}
}

func TestMCPOverHTTP(t *testing.T) {
	dir := mcpProject(t)
	cmd := exec.CommandContext(t.Context(), "ken", "mcp", "--http", "127.0.0.1:0", "--dir", dir)
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	n, err := pipe.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	url := regexp.MustCompile(`http://\S+/mcp`).FindString(string(buf[:n]))
	if url == "" {
		t.Fatalf("no address in %q", buf[:n])
	}
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: url + "?tools=core,code", HTTPClient: &http.Client{Transport: tr}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := cs.ListTools(t.Context(), nil); err != nil || len(list.Tools) != 8 {
		t.Errorf("lists %d tools, %v", len(list.Tools), err)
	}
	if got := McpCall(t, cs, "memory_stats", nil); !strings.HasPrefix(got, "0 claims") {
		t.Errorf("got %q", got)
	}
	// With a listener attached it still ends at once.
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	_, _ = b.ReadFrom(pipe)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, b.String())
	}
	_ = cs.Close() // nobody is there any more
}
