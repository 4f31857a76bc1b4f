package middleware

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/code/codebase"
)

// codeLayer is a layer over a project of one file.
func codeLayer(t *testing.T) *Layer {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/m\n", "m.go": "package m\n\n// OpenDoor opens it.\nfunc OpenDoor() {}\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := config.Default()
	c.Repository.Index, c.Middleware.Events = false, false
	l, err := Open(context.Background(), Options{Root: root, Config: &c, Foreground: true, Strict: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func askOf(q string) ken.Turn { return ken.Turn{Messages: []ken.Message{{Role: "user", Text: q}}} }

// A graph that is being read holds no turn up, and says so where it is missed.
func TestAGraphThatIsBeingRead(t *testing.T) {
	l := codeLayer(t)
	l.o.Foreground = false
	for q, want := range map[string][]string{"What does OpenDoor do?": {"graph: being read"}, "How do doors open?": nil, "thanks!": nil} {
		r := l.Assemble(t.Context(), askOf(q)).Receipt
		if !slices.Equal(r.Degraded, want) || strings.Contains(r.Cause, "graph") {
			t.Errorf("%s: %q, cause %q", q, r.Degraded, r.Cause)
		}
	}
	l.o.Foreground = true
	ctx, cancel := context.WithCancel(t.Context())
	l.code.reading <- struct{}{} // somebody reads it
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := l.ReadCode(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-l.code.reading
	if r := l.Assemble(t.Context(), askOf("What does OpenDoor do?")).Receipt; !strings.Contains(r.Block, "OpenDoor opens it") {
		t.Errorf("%q\n%s", r.Degraded, r.Block)
	}
}

// Who can't wait is told how far reading has come, and when it is over.
func TestHowFarTheCodeWasRead(t *testing.T) {
	l := codeLayer(t)
	if so, read := l.CodeRead(); read || so.Total > 0 {
		t.Errorf("before: %+v, read %v", so, read)
	}
	if _, err := l.ReadCode(t.Context()); err != nil {
		t.Fatal(err)
	}
	if so, read := l.CodeRead(); !read || so.Done != so.Total || so.Total == 0 {
		t.Errorf("afterwards: %+v, read %v", so, read)
	}
}

// What fails in the code costs the turn nothing else.
func TestTheCodeFailsOpen(t *testing.T) {
	l := codeLayer(t)
	base := l.code.base
	defer func() { l.code.base = base }()
	l.code.base = &codebase.Codebase{} // every question to it panics
	close(l.code.read)
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	c, err := ken.NewClaim("OpenDoor creaks in winter.", ken.FromUserStatement("s", "m"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.WriteClaim(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	r := l.Assemble(t.Context(), askOf("Why does OpenDoor creak in winter?")).Receipt
	if !strings.Contains(r.Block, "creaks in winter") || len(r.Degraded) != 1 || !strings.HasPrefix(r.Degraded[0], "graph: panic") {
		t.Errorf("%q\n%s", r.Degraded, r.Block)
	}
}

// A turn waits for files that are being read only so long, does not show what they said
// before, and those who read go on.
func TestATurnWaitsOnlySoLong(t *testing.T) {
	l := codeLayer(t)
	if _, err := l.ReadCode(t.Context()); err != nil {
		t.Fatal(err)
	}
	hold, held := make(chan struct{}), make(chan struct{}, 8)
	read := l.code.renewal.read
	l.code.renewal.read = func(ctx context.Context, paths []string) {
		held <- struct{}{}
		<-hold
		read(ctx, paths)
	}
	l.o.Foreground = false
	if err := os.WriteFile(filepath.Join(l.o.Root, "m.go"), []byte("package m\n\n// OpenDoor locks it.\nfunc OpenDoor() { _ = 1 }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	r := l.Assemble(t.Context(), askOf("What does OpenDoor do?")).Receipt
	if took := time.Since(start); took < editWait {
		t.Errorf("it waited for %s", took)
	}
	if strings.Contains(r.Block, "OpenDoor") || !slices.Equal(r.Degraded, []string{"graph: " + stillRead}) {
		t.Errorf("%q\n%s", r.Degraded, r.Block)
	}
	<-held
	close(hold)
	l.o.Foreground = true
	if r := l.Assemble(t.Context(), askOf("What does OpenDoor do?")).Receipt; !strings.Contains(r.Block, "OpenDoor locks it") {
		t.Errorf("%q\n%s", r.Degraded, r.Block)
	}
}

func TestRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var batches [][]string
		r := newRenewal(func(ctx context.Context, paths []string) {
			mu.Lock()
			defer mu.Unlock()
			slices.Sort(paths)
			batches = append(batches, paths)
			time.Sleep(time.Second)
		}, time.Now)
		first := r.ask("a")
		synctest.Wait()
		second, third := r.ask("c", "b"), r.ask("b") // they go together
		if second != third {
			t.Error("two batches")
		}
		<-first
		<-second
		if r.ask() == nil {
			t.Error("nobody looked around yet")
		}
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		if r.ask() != nil {
			t.Error("all files were just looked at")
		}
		time.Sleep(restFactor*time.Second + 1)
		last := r.ask()
		if last == nil {
			t.Error("that was long ago")
		}
		synctest.Wait()
		r.close()
		<-last
		<-r.ask("z") // is not read
		if want := [][]string{{"a"}, {"b", "c"}, nil, nil}; !slices.EqualFunc(batches, want, slices.Equal) {
			t.Errorf("read %q", batches)
		}
	})
}

// A tool call is looked at once in its conversation, and again in another.
func TestToolCallsAreLookedAtOnce(t *testing.T) {
	l := codeLayer(t)
	turn := ken.Turn{Owner: "o", Session: "s", Messages: []ken.Message{
		{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: "1", Name: "Write", Arguments: `{"file_path":"m.go","content":"x"}`}}},
		{Role: "tool", ToolCallID: "1", Text: "ok"},
		{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: "2", Name: "Read", Arguments: `{"file_path":"n.go"}`}, {ID: "3", Name: "move_file", Arguments: `{"source":"a","destination":"../b"}`}}},
		{Role: "tool", ToolCallID: "2", Text: "ok"}, {Role: "tool", ToolCallID: "3", Text: "ok"},
	}}
	if got := l.touched(&turn); !slices.Equal(got, []string{"m.go", "a"}) {
		t.Errorf("got %q", got)
	}
	if got := l.touched(&turn); len(got) > 0 {
		t.Errorf("again: %q", got)
	}
	turn.Session = "other"
	if got := l.touched(&turn); len(got) != 2 {
		t.Errorf("another conversation: %q", got)
	}
	turn.Session = ""
	for range 2 {
		if got := l.touched(&turn); len(got) != 2 {
			t.Errorf("without a session: %q", got)
		}
	}
}
