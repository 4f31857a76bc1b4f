//go:build unix

package bolt_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
)

// childFullDisk writes until the file system takes no more, then makes room,
// and says what it saw. The limit on file sizes stands in for a full disk.
func childFullDisk() {
	ctx := context.Background()
	signal.Ignore(syscall.SIGXFSZ)
	fail := func(err error) {
		fmt.Println("error", err)
		os.Exit(1)
	}
	s, err := bolt.Open(ctx, os.Getenv("KEN_TEST_DIR"), bolt.Options{})
	if err != nil {
		fail(err)
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		fail(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 512 << 10, Max: before.Max}); err != nil {
		fail(err)
	}
	acked := 0
	for ; ; acked++ {
		c, _ := ken.NewClaim(fmt.Sprintf("claim number n%d %s", acked, strings.Repeat("padding ", 500)), ken.FromAgentAssertion("a", ""))
		if _, err = s.WriteClaim(ctx, c); err != nil {
			break
		}
		if acked > 10_000 {
			fail(errors.New("the limit has no effect"))
		}
	}
	fmt.Printf("refused %v %q\n", errors.Is(err, ken.ErrUnavailable), ken.Hint(err))
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		fail(err)
	}
	c, _ := ken.NewClaim("there is room again", ken.FromAgentAssertion("a", ""))
	if _, err := s.WriteClaim(ctx, c); err != nil {
		fail(err)
	}
	for i := range acked {
		if got, err := s.Query(ctx, ken.Query{Question: fmt.Sprintf("n%d", i)}); err != nil || len(got) == 0 {
			fail(fmt.Errorf("acknowledged claim %d of %d: %d found, %v", i, acked, len(got), err))
		}
	}
	if _, err := s.VerifyLog(ctx); err != nil {
		fail(err)
	}
	if err := s.Close(); err != nil {
		fail(err)
	}
	fmt.Println("done", acked)
}

func TestFullDiskRefusesTheWriteAndKeepsTheRest(t *testing.T) {
	dir := t.TempDir()
	out, err := child(t, "full", dir).Output()
	if err != nil || !strings.Contains(string(out), "refused true") || !strings.Contains(string(out), "done") {
		t.Fatalf("child said %q, %v", out, err)
	}
	s := open(t, dir, bolt.Options{})
	if got := texts(t, s, "room again"); len(got) == 0 {
		t.Error("the write after the full disk is not found")
	}
}
