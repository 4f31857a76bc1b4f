package connect

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/cli"
)

// In a folder that is no project a hook leaves nothing behind, and what it keeps is the user's.
func TestHookLeavesNoState(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	t.Setenv("HOME", state)
	t.Setenv(hooksVariable, "check")
	send := func(session, prompt string) string {
		t.Helper()
		event, err := json.Marshal(map[string]string{"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": dir, "prompt": prompt})
		if err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		a := &commands{&cli.App{Streams: cli.Streams{In: bytes.NewReader(event), Out: &out, Err: &errs}}}
		a.hook(t.Context(), "claude-code", time.Minute)
		if errs.Len() > 0 {
			t.Fatal(errs.String())
		}
		return out.String()
	}
	send("s-1", "We decided to use PostgreSQL 15 for the ledger service.")
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if got := send("s-2", "Which database did we choose for the ledger service?"); !strings.Contains(got, "PostgreSQL 15") {
		t.Errorf("forgotten: %q", got)
	}
}

// An agent can write its event to the end, whatever the hook does with it.
func TestHookReadsToTheEnd(t *testing.T) {
	for _, c := range []struct{ name, variable string }{{"switched off", "off"}, {"too long", ""}} {
		t.Setenv(hooksVariable, c.variable)
		in := strings.NewReader(strings.Repeat(" ", maxEvent+100_000))
		var errs bytes.Buffer
		a := &commands{&cli.App{Streams: cli.Streams{In: in, Out: io.Discard, Err: &errs}}}
		a.hook(t.Context(), "claude-code", time.Minute)
		if in.Len() > 0 || (errs.Len() > 0) != (c.variable == "") {
			t.Errorf("%s: %d bytes left, %q", c.name, in.Len(), errs.String())
		}
	}
}
