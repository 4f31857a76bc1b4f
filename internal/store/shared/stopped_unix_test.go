//go:build unix

package shared_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/kenlayer/ken"
)

// TestCallsHonourTheirContextWhileTheHolderIsStopped checks calls while the holder's
// process is stopped. They end with their contexts, and work again when it continues.
func TestCallsHonourTheirContextWhileTheHolderIsStopped(t *testing.T) {
	c := newCrew(t)
	p := c.hire("holder")
	s := open(t, owners(t, c.dir, suiteOptionsPlain()))
	write(t, s, claim(t, "the port is 8080"))
	must(t, p.cmd.Process.Signal(syscall.SIGSTOP))
	var is syscall.WaitStatus
	if _, err := syscall.Wait4(p.pid, &is, syscall.WUNTRACED, nil); err != nil || !is.Stopped() { // it takes a moment
		t.Fatalf("it is not stopped: %v, %v", is, err)
	}
	for name, call := range map[string]func(ctx context.Context) error{
		"write":  func(ctx context.Context) error { _, err := s.WriteClaim(ctx, claim(t, "too late")); return err },
		"query":  func(ctx context.Context) error { _, err := s.Query(ctx, ken.Query{}); return err },
		"update": func(ctx context.Context) error { return s.Shelf().Update(ctx, nil) },
		"scan": func(ctx context.Context) error {
			for _, err := range s.Claims(ctx) {
				return err
			}
			return nil
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err := call(ctx); err == nil || ctx.Err() == nil {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
	if s.Len() != 0 { // bounded by itself
		t.Error("a stopped process answers")
	}
	must(t, p.cmd.Process.Signal(syscall.SIGCONT))
	write(t, s, claim(t, "the port is 9090"))
	if got := texts(t, s, "port"); len(got) != 2 {
		t.Errorf("it has %q", got)
	}
	c.dismiss()
}
