package middleware_test

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/alive"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
)

// A harvest of another process that has read what is forgotten goes on with it:
// forgetting waits for its end, and what it wrote goes as well.
func TestForgettingWaitsForTheHarvestOfAnotherProcess(t *testing.T) {
	root := t.TempDir()
	l := within(t, root)
	talk(t, l, "s1")
	ids := learn(t, l, fact(t, "The on-call phone of Priya is +49 151 2345678."))
	if err := l.End(t.Context(), "", "s1", session.Closed); err != nil {
		t.Fatal(err)
	}
	other, err := alive.Announce(filepath.Join(root, ".ken", "state", ".processes"), "other")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	q := jobs.NewQueue(s.Shelf(), jobs.Options{Process: "other"})
	entered, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := q.Drain(context.Background(), map[string]jobs.Handler{session.JobHarvest: func(ctx context.Context, _ jobs.Job, _ func(string, int, int)) (string, error) {
			close(entered)
			<-goOn
			_, err := s.WriteClaim(ctx, fact(t, "Priya, the person on call, has the phone +49 151 2345678 at night."))
			return "", err
		}})
		ended <- err
	}()
	<-entered
	forgotten := make(chan error, 1)
	go func() {
		_, err := l.Forget(context.Background(), "", ids[0], "asked for", ken.Actor{})
		forgotten <- err
	}()
	for { // until forgetting is past the journals
		info, err := l.Journal("").Info(t.Context(), "s1")
		if err != nil {
			t.Fatal(err)
		}
		if info.Messages == 2 {
			break
		}
		runtime.Gosched()
	}
	select {
	case err := <-forgotten:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	close(goOn)
	for _, c := range []chan error{ended, forgotten} {
		if err := <-c; err != nil {
			t.Error(err)
		}
	}
	wantGone(t, root, "2345678")
}

// Nobody waits for a process that is gone.
func TestForgettingDoesNotWaitForTheDead(t *testing.T) {
	root := t.TempDir()
	l := within(t, root)
	talk(t, l, "s1")
	if err := l.End(t.Context(), "", "s1", session.Closed); err != nil {
		t.Fatal(err)
	}
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	ctx, cancel := context.WithCancel(context.Background())
	q := jobs.NewQueue(s.Shelf(), jobs.Options{Process: "dead"})
	entered, left := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		_, _ = q.Drain(ctx, map[string]jobs.Handler{session.JobHarvest: func(ctx context.Context, _ jobs.Job, _ func(string, int, int)) (string, error) {
			close(entered)
			<-ctx.Done()
			return "", ctx.Err()
		}})
	}()
	<-entered
	defer func() { cancel(); <-left }()
	if err := l.ForgetSession(t.Context(), "", "s1"); err != nil {
		t.Error(err)
	}
	if _, err := l.Journal("").Info(t.Context(), "s1"); err == nil {
		t.Error("the session is still there")
	}
}
