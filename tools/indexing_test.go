package tools_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/tools"
)

// TestANewProjectIsStillBeingIndexed asks while the first index runs, and waits for its end.
func TestANewProjectIsStillBeingIndexed(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "vault.md"), []byte("# Vault\n\nThe vault opens with a brass lever.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.Retrieval.Deadline = 30 * time.Second
	c.Middleware.Events, c.Middleware.Graph = false, false
	begun, goOn := make(chan struct{}), make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	l, err := middleware.Open(context.Background(), middleware.Options{Root: root, Config: &c, Strict: true, Progress: func(stage string, _, _ int) {
		if stage == "files" {
			begin()
			<-goOn
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	k := &kit{t, l, tools.New(l), tools.Caller{Rights: tools.Rights()}}
	ask := func(args string) string { return k.call(nil, "memory_recall", args).Text }
	const documents, claims = `{"query":"How does the vault open?","documents":true}`, `{"query":"How does the vault open?"}`

	defer tools.SetIndexWait(0)()
	<-begun
	for _, args := range []string{documents, claims} {
		if got := ask(args); !strings.Contains(got, "Nothing is found yet: the repository is still being indexed, 0 of 1 files.") {
			t.Errorf("%s: %s", args, got)
		}
	}
	if got, err := k.registry.Prompt(context.Background(), k.caller, "How does the vault open?"); err != nil || !strings.Contains(got, "still being indexed") || !strings.HasSuffix(got, "open?") {
		t.Errorf("prompt %q, %v", got, err)
	}
	tools.SetIndexWait(time.Minute)
	close(goOn)
	if got := ask(documents); !strings.Contains(got, "brass lever") || strings.Contains(got, "indexed") {
		t.Errorf("afterwards: %s", got)
	}
	if got := ask(claims); !strings.Contains(got, "Nothing is known that bears on it.") {
		t.Errorf("afterwards, claims only: %s", got)
	}
	if got, err := k.registry.Prompt(context.Background(), k.caller, "How does the vault open?"); err != nil || !strings.Contains(got, "brass lever") {
		t.Errorf("prompt %q, %v", got, err)
	}
}
