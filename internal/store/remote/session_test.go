package remote

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/remote/codec"
	"github.com/kenlayer/ken/store"
)

// FuzzSession says anything to a server, after a proper hello: it may close the
// connection, and serves others all the same.
func FuzzSession(f *testing.F) {
	disk, err := bolt.Open(context.Background(), f.TempDir(), bolt.Options{NoSync: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = disk.Close() })
	request := func(kind byte, q any) []byte {
		var b bytes.Buffer
		_ = sendFrame(&b, kind, codec.Append(startFrame(nil), q))
		return b.Bytes()
	}
	f.Add(request(kQuery, &ken.Query{Question: "x"}))
	f.Add(request(kKeyword, &searchRequest{Text: "x", Limit: -1}))
	f.Add(request(kNewest, &searchRequest{Limit: 1 << 40}))
	f.Add(request(kSight, &prefetchRequest{Refs: []store.Ref{1}, From: 1 << 31, N: 1 << 40, Reach: 1 << 40}))
	f.Add(request(kGlances, &glancesRequest{From: 1 << 31, N: -1}))
	f.Add(request(kEvents, &eventsRequest{From: 1 << 63, N: -1}))
	f.Add(append(request(kView, &shelfRequest{}), request(kShelfScan, &shelfRequest{Key: "a", After: "b", Began: true})...))
	f.Add(append(append(request(kUpdate, &shelfRequest{}), request(kShelfStage, &changes{Keys: []string{""}, Values: [][]byte{{}}})...), request(kShelfCommit, &shelfRequest{})...))
	f.Add(framed(250, "nobody knows"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := NewServer(ServerOptions{Owner: ken.DefaultOwner, Silence: time.Millisecond, Log: slog.New(slog.DiscardHandler)})
		s.Ready(disk)
		client, server := net.Pipe()
		s.begin(server)
		if err := sendJSON(client, kHello, hello{Ken: version, Forms: fingerprint(), Owner: ken.DefaultOwner}); err != nil {
			t.Fatal(err)
		}
		var w welcome
		if err := receiveJSON(client, kWelcome, &w); err != nil || !w.Ready {
			t.Fatalf("%+v, %v", w, err)
		}
		read := make(chan struct{})
		go func() {
			defer close(read)
			_, _ = io.Copy(io.Discard, client)
		}()
		_, _ = client.Write(b) // an error is that the server had enough
		_ = client.Close()
		<-read
		s.Shutdown(context.Background(), false)
	})
}
