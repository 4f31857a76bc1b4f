package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/kenlayer/ken/internal/cli"
)

// On a terminal a person is asked, and what they say counts.
func TestTrustAsksOnATerminal(t *testing.T) {
	dir := t.TempDir()
	if err := writeTestFile(filepath.Join(dir, ".ken", "config.yaml"), "upstream: {base_url: 'http://127.0.0.1:1/v1'}\n"); err != nil {
		t.Fatal(err)
	}
	address := func() string {
		t.Helper()
		status, out, err := kenIn(t, dir, "config", "-q", "upstream.base_url")
		if status != cli.ExitOK {
			t.Fatal(err)
		}
		return out
	}
	p := onTerminal(t, dir, "trust")
	p.sees("base_url")
	p.sees("Trust this? [y/N] ")
	p.types("\r")
	p.sees("Nothing was trusted.")
	p.leaves(cli.ExitFailed)
	if got := address(); got != "\n" {
		t.Errorf("nobody agreed, and the address is %q", got)
	}
	p = onTerminal(t, dir, "trust")
	p.sees("Trust this? [y/N] ")
	p.types("y\r")
	p.sees("apply.")
	p.leaves(cli.ExitOK)
	if got := address(); got != "http://127.0.0.1:1/v1\n" {
		t.Errorf("after a yes the address is %q", got)
	}
}

// Outside of a project a person is asked before many files are read.
func TestAskAsksBeforeItReadsManyFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range 2000 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".bin")), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"harbour.md": "The harbour of Bergen is open.\n",
		"ken.yaml": "retrieval: {deadline: 30s}\n"} { // what is found must not depend on the machine's load
		if err := writeTestFile(filepath.Join(dir, name), text); err != nil {
			t.Fatal(err)
		}
	}
	p := onTerminal(t, dir, "ask", "-q", "--no-model", "which harbour?")
	p.sees("Read them all? [y/N] ")
	p.types("n\r")
	p.sees("Nothing was read.")
	p.leaves(cli.ExitFailed)
	if _, err := os.Stat(filepath.Join(dir, ".ken")); err == nil {
		t.Error("it left a .ken behind")
	}
	p = onTerminal(t, dir, "ask", "-q", "--no-model", "which harbour?")
	p.sees("Read them all? [y/N] ")
	p.types("y\r")
	p.sees("Bergen")
	p.leaves(cli.ExitOK)
}

func TestCtrlCAtAQuestion(t *testing.T) {
	dir := t.TempDir()
	if err := writeTestFile(filepath.Join(dir, ".ken", "config.yaml"), "upstream:\n  base_url: https://models.example/v1\n"); err != nil {
		t.Fatal(err)
	}
	p := onTerminal(t, dir, "trust")
	p.sees("[y/N] ")
	p.types("\x03")
	p.sees("ken: stopped")
	p.leaves(cli.ExitInterrupted)
}
