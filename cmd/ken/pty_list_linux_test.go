package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/cli"
)

// On a terminal a long list goes through the pager, a long group of the queue is folded, colours
// have a meaning, and the id that is shown can be typed.
func TestListsOnATerminal(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "{\"text\":\"Claim number %d is unsure.\",\"confidence\":0.2,\"created_at\":\"2026-01-01\"}\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "claims.jsonl"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _, err := kenIn(t, dir, "import", filepath.Join(dir, "claims.jsonl")); status != cli.ExitOK {
		t.Fatal(err)
	}
	pager := filepath.Join(dir, "pager")
	if err := os.WriteFile(pager, []byte("#!/bin/sh\necho PAGED\ncat\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PAGER", pager)
	t.Setenv("TERM", "xterm")

	p := onTerminal(t, dir, "-q", "recall", "--limit", "30", "which claim is unsure?")
	p.sees("PAGED")
	p.sees("\x1b[1mID")
	p.leaves(cli.ExitOK)

	p = onTerminal(t, dir, "-q", "attention")
	p.sees("Verify or discard (unsure): 40")
	p.sees("… and 37 more: ken attention --event unsure")
	p.leaves(cli.ExitOK)

	t.Setenv("NO_COLOR", "1")
	t.Setenv("PAGER", "")
	p = onTerminal(t, dir, "-q", "recall", "--limit", "1", "which claim is unsure?")
	p.sees("ID")
	p.sees("\n")
	p.sees("  ")
	line := string(p.printed)
	p.leaves(cli.ExitOK)
	if strings.Contains(line, "\x1b") {
		t.Errorf("colours despite NO_COLOR: %q", line)
	}
	_, whole, _ := kenIn(t, dir, "recall", "--limit", "1", "which claim is unsure?")
	id, _, _ := strings.Cut(whole, "\t")
	if status, out, err := kenIn(t, dir, "history", cli.Tail(id)); status != cli.ExitOK || out == "" {
		t.Errorf("the short id %s: %s", cli.Tail(id), err)
	}

	// A whole group is settled after a question.
	p = onTerminal(t, dir, "-q", "attention", "dismiss", "--event", "unsure")
	p.sees("40 items will be dismissed. Go on? [y/N] ")
	p.types("y\r")
	p.leaves(cli.ExitOK)
	if status, _, err := kenIn(t, dir, "attention"); status != cli.ExitOK || !strings.Contains(err, "nothing needs your attention") {
		t.Errorf("after that: %s", err)
	}
}
