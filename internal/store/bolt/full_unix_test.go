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
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/store/bolt"
)

// childFullDisk writes until the file system is full, then makes room, and prints what it saw. A
// limit on file sizes simulates a full disk.
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

// childFullChange embeds everything again on a full disk, and then makes room.
func childFullChange() {
	ctx := context.Background()
	signal.Ignore(syscall.SIGXFSZ)
	e := slow(turned{}, "test:turned", 1<<20)
	s, err := bolt.Open(ctx, os.Getenv("KEN_TEST_DIR"), changeOptions(e, embedtest.Bag{}))
	var before syscall.Rlimit
	err = errors.Join(err, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	if err == nil {
		err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 64 << 10, Max: before.Max})
	}
	if err != nil {
		fmt.Println("error", err)
		return
	}
	_, full := s.EmbedMissing(ctx)
	have, total := s.Coverage()
	fmt.Println("full", errors.Is(full, syscall.EFBIG), 0 < have && have < total, s.Standby())
	err = errors.Join(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before))
	if err == nil {
		_, err = s.EmbedMissing(ctx)
	}
	have, total = s.Coverage()
	fmt.Println("room", err, have == total, s.Standby() == "")
	fmt.Println("closed", s.Close())
}

// If the disk becomes full during a change of the embedder, nothing is lost: the old vectors
// are used, and the change continues when there is room.
func TestFullDiskDuringAChangeOfEmbedder(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, bolt.Options{Embedder: embedtest.Bag{}, NoSync: true})
	for _, o := range s.Import(context.Background(), manyClaims(1000)) {
		must(t, o.Err)
	}
	must(t, s.Close())
	out, err := child(t, "fullchange", dir).Output()
	if err != nil || string(out) != "full true true test:bag\nroom <nil> true true\nclosed <nil>\n" {
		t.Errorf("child said %q, %v", out, err)
	}
}
