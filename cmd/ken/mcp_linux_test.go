package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A signal, as from a client that stops its servers, ends it well.
func TestMCPEndsOnASignal(t *testing.T) {
	cmd, errs := command(t, mcpProject(t), "mcp")
	in, err := cmd.StdinPipe()
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
	if _, err := in.Write([]byte(mcpHello)); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // it is there
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	_, _ = b.ReadFrom(out)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, errs)
	}
}

// A client that dies takes its server along: the pipes close, and nothing else tells.
func TestMCPEndsWithItsParent(t *testing.T) {
	dir := mcpProject(t)
	// The shell is the client: it starts the server, waits for its first words, and dies.
	script := `ken mcp --dir "$1" <"$2" >"$3" & exec 9>"$2"; printf '%s\n' "$4" >&9; read line <"$3"; kill -9 $$`
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	for _, name := range []string{in, out} {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Skip(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script, "sh", dir, in, out, strings.TrimSpace(mcpHello))
	if err := cmd.Run(); err == nil {
		t.Fatal("the client has not died")
	}
	// The server alone has this pipe open for writing, so it ends with it.
	gone, err := os.OpenFile(out, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer gone.Close()
	if _, err := io.Copy(io.Discard, gone); err != nil {
		t.Error(err)
	}
}
