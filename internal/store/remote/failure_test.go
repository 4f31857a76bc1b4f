package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/remote"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/storetest"
)

// TestGarbageOnTheSocket checks that the server closes a connection on which it receives
// garbage, and still serves other clients.
func TestGarbageOnTheSocket(t *testing.T) {
	s := serve(t, storetest.Options{}, remote.ServerOptions{})
	for name, says := range map[string]string{"HTTP": "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "zeros": string(make([]byte, 100)), "a great length": "\xff\xff\xff\xffh",
		"no JSON": "\x00\x00\x00\x03hxyz", "another kind": "\x00\x00\x00\x02a{}"} {
		nc, err := (&net.Dialer{}).DialContext(t.Context(), "unix", s.socket)
		must(t, err)
		must(t, nc.SetDeadline(time.Now().Add(time.Minute)))
		_, err = nc.Write([]byte(says))
		must(t, err)
		if _, err := io.ReadAll(nc); errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: it waits for more", name)
		}
		must(t, nc.Close())
		write(t, s, claim(t, "written after "+name))
	}
}

// blocked is a store in which the query "wait" sends its context to entered and blocks until
// leave is closed or the context ends. The query "panic" panics.
type blocked struct {
	*bolt.Store
	entered chan context.Context
	leave   chan struct{}
}

func (b blocked) Query(ctx context.Context, q ken.Query) ([]ken.Claim, error) {
	switch q.Question {
	case "panic":
		panic("over there")
	case "wait":
		b.entered <- ctx
		select {
		case <-b.leave:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return b.Store.Query(ctx, q)
}

// serveBlocked serves a blocked store.
func serveBlocked(t *testing.T) (blocked, *remote.Client, *remote.Server) {
	disk, err := bolt.Open(context.Background(), t.TempDir(), bolt.Options{NoSync: true})
	must(t, err)
	b := blocked{disk, make(chan context.Context, 8), make(chan struct{})}
	srv := remote.NewServer(remote.ServerOptions{Owner: disk.Owner(), Log: slog.New(slog.DiscardHandler)})
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket(t))
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	srv.Ready(b)
	c, err := remote.Dial(context.Background(), "unix", l.Addr().String(), remote.Options{Owner: disk.Owner()})
	must(t, err)
	t.Cleanup(func() {
		must(t, c.Close())
		srv.Shutdown(context.Background(), false)
		must(t, <-ended)
		must(t, disk.Close())
	})
	return b, c, srv
}

// TestCancellingACallCancelsItOnTheServer checks that canceling a call's context cancels the
// context on the server.
func TestCancellingACallCancelsItOnTheServer(t *testing.T) {
	b, c, _ := serveBlocked(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, err := c.Query(ctx, ken.Query{Question: "wait"})
		done <- err
	}()
	there := <-b.entered
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("it returns %v", err)
	}
	<-there.Done()
	if _, err := c.Query(context.Background(), ken.Query{}); err != nil {
		t.Errorf("the next call: %v", err)
	}
	if c.Broken() {
		t.Error("a call that was cancelled counts as a lost holder")
	}
}

// TestClosingAClientEndsItsCalls checks that Close makes calls in progress return.
func TestClosingAClientEndsItsCalls(t *testing.T) {
	b, c, _ := serveBlocked(t)
	done := make(chan error)
	go func() {
		_, err := c.Query(context.Background(), ken.Query{Question: "wait"})
		done <- err
	}()
	<-b.entered
	must(t, c.Close())
	if _, lost := remote.Lost(<-done); !lost {
		t.Error("it does not say that the connection is gone")
	}
	if _, err := c.Query(context.Background(), ken.Query{}); !errors.Is(err, ken.ErrUnavailable) {
		t.Errorf("afterwards: %v", err)
	}
}

// TestShutdownFinishesWhatWasAsked checks that Shutdown finishes the requests in progress and
// accepts no new ones.
func TestShutdownFinishesWhatWasAsked(t *testing.T) {
	b, c, srv := serveBlocked(t)
	lost := make(chan bool, 1)
	other, err := remote.Dial(context.Background(), "unix", c.Address(), remote.Options{Owner: c.Owner(), Lost: func(evicted bool) { lost <- evicted }})
	must(t, err)
	defer other.Close()
	done := make(chan error)
	go func() {
		_, err := c.Query(context.Background(), ken.Query{Question: "wait"})
		done <- err
	}()
	waits := make(chan error)
	go func() { waits <- c.Wait(context.Background(), 99) }()
	<-b.entered
	down := make(chan struct{})
	go func() {
		defer close(down)
		srv.Shutdown(context.Background(), true)
	}()
	if !<-lost {
		t.Error("the others are not told that the holder lives on")
	}
	if _, gone := remote.Lost(<-waits); !gone {
		t.Error("who waits for more of the log is not sent on to the next holder")
	}
	close(b.leave)
	must(t, <-done)
	<-down
	if _, err := c.Query(context.Background(), ken.Query{}); err == nil {
		t.Error("it goes on to serve")
	}
	if _, gone := remote.Lost(c.Transition(context.Background(), ken.Transition{})); !gone {
		t.Error("a later call does not say that the holder is gone")
	}
}

// TestAPanicIsAnError checks that a panic in the store is returned to the caller as an error,
// and that the server keeps running.
func TestAPanicIsAnError(t *testing.T) {
	_, c, _ := serveBlocked(t)
	_, err := c.Query(context.Background(), ken.Query{Question: "panic"})
	if codeOf(err) != ken.CodeInternal || !strings.Contains(err.Error(), "over there") {
		t.Errorf("it returns %v", err)
	}
	if _, err := c.Query(context.Background(), ken.Query{}); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

// TestASilentTransactionIsRolledBack checks that a transaction whose client sends nothing for
// too long is rolled back and no longer blocks others.
func TestASilentTransactionIsRolledBack(t *testing.T) {
	s := serve(t, storetest.Options{}, remote.ServerOptions{Silence: 20 * time.Millisecond})
	ctx := context.Background()
	put(t, s.Shelf(), "a", "before")
	again := make(chan struct{})
	err := s.Shelf().Update(ctx, func(tx store.ShelfTx) error {
		if err := tx.Put("a", []byte("half")); err != nil {
			return err
		}
		go func() { // waits for the silent transaction
			defer close(again)
			put(t, s.disk.Shelf(), "b", "done")
		}()
		<-again
		return tx.Put("c", nil)
	})
	if !errors.Is(err, ken.ErrUnavailable) || ken.Hint(err) == "" {
		t.Errorf("it returns %v", err)
	}
	if v, _ := get(t, s.Shelf(), "a"); v != "before" {
		t.Errorf("a reads %q", v)
	}
	ran := 0
	err = s.Shelf().View(ctx, func(r store.ShelfReader) error {
		ran++
		<-time.After(100 * time.Millisecond)
		if r.Get("a") == nil {
			t.Error("a view that is over reads nothing")
		}
		return nil
	})
	if !errors.Is(err, ken.ErrUnavailable) || ran != 1 {
		t.Errorf("a silent view returns %v", err)
	}
	put(t, s.Shelf(), "a", "after")
}

// TestLargeThingsGoInParts checks that imports and shelf changes larger than a message are
// written and read in parts.
func TestLargeThingsGoInParts(t *testing.T) {
	s := serve(t, storetest.Options{}, remote.ServerOptions{})
	ctx := context.Background()
	text := strings.Repeat("many words of a long text ", 20_000)
	var in []store.Incoming
	for i := range 24 { // 12 MB
		in = append(in, store.Incoming{Claim: claim(t, fmt.Sprint(i, " ", text))})
	}
	if n := len(slices.Collect(remote.Parts(in))); n != 2 {
		t.Errorf("%d parts", n)
	}
	in[3].Claim.Evidence = nil
	out := s.Import(ctx, in)
	for i, o := range out {
		if (o.Err != nil) != (i == 3) || o.Changed == (i == 3) {
			t.Errorf("claim %d: %+v", i, o)
		}
	}
	n := 0
	for c, err := range s.Claims(ctx) {
		must(t, err)
		if !strings.HasSuffix(c.Text, strings.TrimSpace(text)) && !strings.HasSuffix(c.Text, text) {
			t.Errorf("%d bytes came back", len(c.Text))
		}
		n++
	}
	if n != 23 || len(out) != 24 {
		t.Errorf("%d of 23 claims come back, of %d outcomes", n, len(out))
	}
	must(t, s.Shelf().Update(ctx, func(tx store.ShelfTx) error {
		for i := range 12 {
			if err := tx.Put(fmt.Sprintf("large/%02d", i), []byte(text)); err != nil {
				return err
			}
		}
		return nil
	}))
	must(t, s.Shelf().View(ctx, func(r store.ShelfReader) error {
		n = 0
		for key, v := range r.Scan("large/") {
			if key != fmt.Sprintf("large/%02d", n) || string(v) != text {
				t.Errorf("key %d is %s with %d bytes", n, key, len(v))
			}
			n++
		}
		return nil
	}))
	if n != 12 {
		t.Errorf("%d of 12 values come back", n)
	}
}

// TestManyCallsAtOnce checks that more concurrent calls than a client may have connections all
// succeed.
func TestManyCallsAtOnce(t *testing.T) {
	s := serve(t, storetest.Options{}, remote.ServerOptions{})
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			if i%2 == 0 {
				put(t, s.Shelf(), fmt.Sprint(i), "x")
				return
			}
			if _, err := s.Query(context.Background(), ken.Query{Question: "x"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestAHungNodeOfAnotherMachineIsNoProcess(t *testing.T) {
	if e := remote.HungError(0, time.Second); strings.Contains(e.Msg+e.Try, "kill") || strings.Contains(e.Msg, "process 0") || !remote.IsHung(e) {
		t.Errorf("%v Try: %s", e, e.Try)
	}
	if e := remote.HungError(42, time.Second); !strings.Contains(e.Try, "kill -CONT 42") || !remote.IsHung(e) {
		t.Errorf("%v Try: %s", e, e.Try)
	}
}
