package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/store/bolt"
)

// childFatal drains the jobs in the folder; a job of the key "fatal" ends the process.
func childFatal() {
	ctx := context.Background()
	s, err := bolt.Open(ctx, os.Getenv("KEN_TEST_DIR"), bolt.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	q := jobs.NewQueue(s.Shelf(), jobs.Options{Alive: nobody, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Backoff: func(int) time.Duration { return 0 }})
	_, err = q.Drain(ctx, one(func(_ context.Context, j jobs.Job) (string, error) {
		if j.Key == "fatal" {
			os.Exit(3) // as running out of memory or of stack does: nothing can be recovered
		}
		return "", nil
	}))
	if err = errors.Join(err, s.Close()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A job that ends the process is dead after three starts. The log names it, and other jobs
// run all the same.
func TestJobThatEndsTheProcessIsDead(t *testing.T) {
	dir := t.TempDir()
	s, err := bolt.Open(t.Context(), dir, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	q := jobs.NewQueue(s.Shelf(), jobs.Options{})
	for _, key := range []string{"before", "fatal", "after"} {
		add(t, q, "k", key)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	for starts := 1; ; starts++ {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), "KEN_TEST_CHILD=fatal", "KEN_TEST_DIR="+dir)
		cmd.Stderr = &log
		err := cmd.Run()
		if err == nil {
			if starts != 4 {
				t.Errorf("start %d was the first to survive", starts)
			}
			break
		}
		if code := cmd.ProcessState.ExitCode(); code != 3 || starts > 3 {
			t.Fatalf("start %d: %v\n%s", starts, err, log.String())
		}
	}
	for _, want := range []string{"a job's worker has ended", "level=ERROR msg=\"a job is dead\"", "key=fatal"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, log.String())
		}
	}
	s = openBolt(t, dir, bolt.Options{})
	q = jobs.NewQueue(s.Shelf(), jobs.Options{Alive: nobody})
	wantState(t, q, jobs.ID("k", "before"), jobs.Done, 1)
	wantState(t, q, jobs.ID("k", "after"), jobs.Done, 1)
	dead := wantState(t, q, jobs.ID("k", "fatal"), jobs.Dead, 3)
	if !strings.Contains(dead.Error, "did not finish") || !strings.Contains(dead.Try, "ken jobs retry") {
		t.Errorf("%+v", dead)
	}
	if _, err := q.Retry(t.Context(), dead.ID); err != nil {
		t.Fatal(err)
	}
	if rep := drain(t, q, one(succeed)); rep.Done != 1 {
		t.Errorf("retried: %+v", rep)
	}
}

// One attempt that comes to an end begins the count of those that did not anew.
func TestAnAttemptThatEndsIsNoLostOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shelf := newShelf()
		abandon(t, shelf, "first", "k", "1", alive())
		abandon(t, shelf, "second", "k", "1", alive())
		q := queue(shelf, alive())
		if rep := drain(t, q, one(fail)); rep.Retried != 1 {
			t.Fatalf("%+v", rep)
		}
		if j := wantState(t, q, jobs.ID("k", "1"), jobs.Queued, 3); j.Lost != 0 {
			t.Errorf("%+v", j)
		}
	})
}
