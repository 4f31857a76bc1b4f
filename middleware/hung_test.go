//go:build unix

package middleware_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/middleware"
)

// holdFolder names the folder that the test binary holds as another process, until its
// standard input ends.
const holdFolder = "KEN_TEST_HOLD"

// TestHoldForAnother is that process.
func TestHoldForAnother(t *testing.T) {
	dir := os.Getenv(holdFolder)
	if dir == "" {
		t.Skip("only as another process of TestTurnsWhileTheHolderHangs")
	}
	l := openIn(t, dir)
	defer l.Close()
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

func openIn(t testing.TB, dir string) *middleware.Layer {
	t.Helper()
	cfg := config.Default()
	l, err := middleware.Open(context.Background(), middleware.Options{Root: dir, Config: &cfg, Foreground: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A process that holds the store is paused. Turns of others end within their deadline,
// and cost nothing once it is noticed; writes are refused with advice; and when it goes
// on, so do they.
func TestTurnsWhileTheHolderHangs(t *testing.T) {
	dir := t.TempDir()
	holder := exec.Command(os.Args[0], "-test.run=^TestHoldForAnother$")
	holder.Env = append(os.Environ(), holdFolder+"="+dir)
	in, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = holder.Process.Signal(syscall.SIGCONT)
		_ = in.Close()
		_ = holder.Wait()
	}()
	if line, err := bufio.NewReader(out).ReadString('\n'); !strings.HasPrefix(line, "ready") {
		t.Fatalf("the holder said %q, %v", line, err)
	}
	l := openIn(t, dir)
	defer l.Close()
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	write := func(text string) error {
		c, err := ken.NewClaim(text, ken.FromAgentAssertion("ana", ""))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = s.WriteClaim(ctx, c)
		return err
	}
	if err := write("The ledger listens on port 8080."); err != nil {
		t.Fatal(err)
	}
	turn := func(i int) (middleware.Assembly, time.Duration) {
		start := time.Now()
		a := l.Assemble(t.Context(), ken.Turn{Session: fmt.Sprint("s", i), Messages: []ken.Message{{Role: "user", Text: "On which port does the ledger listen?"}}})
		return a, time.Since(start)
	}
	before, _ := turn(0)
	if len(before.Insertions) == 0 {
		t.Fatalf("no block before: %+v", before.Receipt)
	}
	if err := holder.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var took []time.Duration
	noticed := false
	for i := 1; i <= 200; i++ {
		a, d := turn(i)
		took = append(took, d)
		if len(a.Insertions) > 0 || len(a.Receipt.Degraded) == 0 {
			t.Fatalf("turn %d got a block of a store that does not answer: %+v", i, a.Receipt.Degraded)
		}
		noticed = noticed || strings.Contains(strings.Join(a.Receipt.Degraded, " "), "has not answered")
	}
	if !noticed {
		t.Error("no receipt says who does not answer")
	}
	// Now that it is noticed, a conversation still has its earlier block.
	again := l.Assemble(t.Context(), ken.Turn{Session: "s0", Messages: []ken.Message{{Role: "user", Text: "On which port does the ledger listen?"},
		{Role: "assistant", Text: "8080."}, {Role: "user", Text: "And the mailer?"}}})
	if len(again.Insertions) != 1 || again.Insertions[0] != before.Insertions[0] {
		t.Errorf("the earlier block is %+v, was %+v", again.Insertions, before.Insertions)
	}
	slices.Sort(took)
	t.Logf("turns while the holder hangs: p50 %v, p99 %v, max %v", took[100], took[197], took[199])
	if err := write("The mailer listens on port 9090."); ken.Hint(err) == "" || !strings.Contains(err.Error(), fmt.Sprint(holder.Process.Pid)) {
		t.Errorf("a write while the holder hangs: %v", err)
	}
	late := openIn(t, dir) // is told that the holder hangs, and works on without
	defer late.Close()
	if err := holder.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		a := late.Assemble(t.Context(), ken.Turn{Session: fmt.Sprint("late", i), Messages: []ken.Message{{Role: "user", Text: "On which port does the ledger listen?"}}})
		if len(a.Insertions) > 0 {
			break
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("who started while the holder hung never gets a block")
		}
		if i > 400 {
			t.Fatalf("who started while the holder hung gets no block: %v", a.Receipt.Degraded)
		}
	}
	for err := write("The mailer listens on port 9091."); err != nil; err = write("The mailer listens on port 9091.") {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("writes are refused although the holder goes on")
		}
	}
	if a, _ := turn(1000); len(a.Insertions) == 0 {
		t.Errorf("no block afterwards: %v", a.Receipt.Degraded)
	}
}
