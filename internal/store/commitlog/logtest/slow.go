package logtest

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/store/commitlog"
)

// RunSlow tests a log whose engine is far away. A proxy delays all data by 200 ms in each direction.
// engine is the engine's address. open opens the log of the engine at an address.
func RunSlow(t *testing.T, engine string, open func(ctx context.Context, address string) (commitlog.Log, error)) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // as long as a node tries it
	defer cancel()
	log, err := open(ctx, delay(t, engine, 200*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	k := &kit{t, log, log, t.Context()}
	at := k.append(ada, 0, "one")
	if got := k.read(log, ada, 0); len(got) != 1 {
		t.Errorf("it reads %q", got)
	}
	for _, id := range []string{"n1", "n2", "n3"} {
		k.must(log.Beat(k.ctx, commitlog.Node{ID: id}))
	}
	once, stop := context.WithTimeout(t.Context(), 10*time.Second) // as long as a node waits for it
	defer stop()
	if all, err := log.Nodes(once); err != nil || len(all) != 3 {
		t.Errorf("the nodes are %v, %v", all, err)
	}
	k.must(log.PutSnapshot(k.ctx, ada, at, strings.NewReader("a snapshot")))
	position, r, err := log.Snapshot(k.ctx, ada)
	k.must(err)
	got, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil || position != at || string(got) != "a snapshot" {
		t.Errorf("the snapshot at %d is %q, %v", position, got, err)
	}
}

// delay starts a proxy for an address, and returns the proxy's address.
func delay(t testing.TB, address string, by time.Duration) string {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", address)
			if err != nil {
				_ = in.Close()
				continue
			}
			go passOn(in, out, by)
			go passOn(out, in, by)
		}
	}()
	return l.Addr().String()
}

// passOn writes what it reads after some time, and closes both ends when either is closed.
func passOn(to, from net.Conn, by time.Duration) {
	type chunk struct {
		due  time.Time
		data []byte
	}
	chunks := make(chan chunk, 1024)
	go func() {
		defer close(chunks)
		for {
			data := make([]byte, 64<<10)
			n, err := from.Read(data)
			if err != nil {
				return
			}
			chunks <- chunk{time.Now().Add(by), data[:n]}
		}
	}()
	defer from.Close()
	defer to.Close()
	for c := range chunks {
		<-time.After(time.Until(c.due))
		if _, err := to.Write(c.data); err != nil {
			break
		}
	}
	_ = from.Close() // ends the reader
	for range chunks {
	}
}
