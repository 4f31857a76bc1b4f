package jetstream_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/store/commitlog"
	"github.com/kenlayer/ken/internal/store/commitlog/jetstream"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
)

var opened atomic.Int32

func run(t *testing.T, n int) {
	c := logtest.StartNATS(t, n)
	logtest.Run(t, func(t *testing.T) (log, again commitlog.Log) {
		o := jetstream.Options{URL: c.URL(), Prefix: fmt.Sprintf("t%d", opened.Add(1))}
		var both [2]commitlog.Log
		for i := range both {
			l, err := jetstream.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
			both[i] = l
		}
		return both[0], both[1]
	})
}

func TestOneServer(t *testing.T)    { run(t, 1) }
func TestThreeServers(t *testing.T) { run(t, 3) }

// TestManyBegin starts several nodes at the same time, with empty servers. All must work.
func TestManyBegin(t *testing.T) {
	url := logtest.StartNATS(t, 3).URL()
	for n := range race.Pick(6, 2) {
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				log, err := jetstream.Open(t.Context(), jetstream.Options{URL: url, Prefix: fmt.Sprint("begin", n)})
				if err != nil {
					t.Error(err)
					return
				}
				defer log.Close()
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				if _, _, err := log.Snapshot(ctx, "ada"); err != nil {
					t.Error(err)
				}
				if _, err := log.Lease(ctx, "ada"); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
}

// TestALargeSnapshot stores a snapshot that is larger than the buffers of the servers in memory.
func TestALargeSnapshot(t *testing.T) {
	race.SkipLong(t)
	const size = 200 << 20
	log, err := jetstream.Open(t.Context(), jetstream.Options{URL: logtest.StartNATS(t, 3).URL()})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	sent, got := sha256.New(), sha256.New()
	if err := log.PutSnapshot(t.Context(), "ada", 1, io.TeeReader(io.LimitReader(rand.NewChaCha8([32]byte{1}), size), sent)); err != nil {
		t.Fatal(err)
	}
	at, r, err := log.Snapshot(t.Context(), "ada")
	if err != nil || at != 1 {
		t.Fatal(at, err)
	}
	n, err := io.Copy(got, r)
	if err = errors.Join(err, r.Close()); err != nil || n != size || !bytes.Equal(sent.Sum(nil), got.Sum(nil)) {
		t.Errorf("%d bytes come back, %v", n, err)
	}
}
