package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/kenlayer/ken/internal/store/commitlog/jetstream"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
)

// TestSweep checks that a sweep removes the chunks of a snapshot whose sender died, and nothing else.
func TestSweep(t *testing.T) {
	url := logtest.StartNATS(t, 1).URL()
	log, err := jetstream.Open(t.Context(), jetstream.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	body := bytes.Repeat([]byte("forgotten "), 200_000)
	if err := log.PutSnapshot(t.Context(), "ada", 1, bytes.NewReader(body)); err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	const dead = "$O.ken_snapshots.C.dead" // as a killed sender leaves them: chunks, and no object
	for range 3 {
		if _, err := js.Publish(t.Context(), dead, body[:1000]); err != nil {
			t.Fatal(err)
		}
	}
	s, err := js.Stream(t.Context(), "OBJ_ken_snapshots")
	if err != nil {
		t.Fatal(err)
	}
	left := func(ctx context.Context) uint64 {
		info, err := s.Info(ctx, natsjs.WithSubjectFilter(dead))
		if err != nil {
			t.Fatal(err)
		}
		return info.State.Subjects[dead]
	}
	if err := jetstream.Sweep(t.Context(), log, time.Now().Add(-time.Hour)); err != nil || left(t.Context()) != 3 {
		t.Errorf("a snapshot in transfer: %v, %d chunks left", err, left(t.Context()))
	}
	if err := jetstream.Sweep(t.Context(), log, time.Now().Add(time.Hour)); err != nil || left(t.Context()) != 0 {
		t.Errorf("a dead one: %v, %d chunks left", err, left(t.Context()))
	}
	at, r, err := log.Snapshot(t.Context(), "ada")
	if err != nil || at != 1 {
		t.Fatal(at, err)
	}
	got, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil || !bytes.Equal(got, body) {
		t.Errorf("the complete snapshot has %d bytes, want %d: %v", len(got), len(body), err)
	}
}
