package remote

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/remote/codec"
	"github.com/kenlayer/ken/store"
)

func framed(kind byte, body string) []byte {
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), kind), body...)
}

func TestFramesAreReadAsTheyWereSent(t *testing.T) {
	var buf bytes.Buffer
	bodies := []string{"", "x", string(bytes.Repeat([]byte("long "), 1<<18))}
	for i, body := range bodies {
		if err := sendFrame(&buf, byte(i), append(startFrame(nil), body...)); err != nil {
			t.Fatal(err)
		}
	}
	for i, body := range bodies {
		f, err := readFrame(&buf, maxFrame)
		if err != nil || f.kind != byte(i) || string(f.body) != body {
			t.Errorf("frame %d: kind %d, %d bytes, %v", i, f.kind, len(f.body), err)
		}
	}
	if _, err := readFrame(&buf, maxFrame); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

// TestALengthAloneTakesNoMemory checks that a frame with a false length does not make the
// reader allocate that much memory.
func TestALengthAloneTakesNoMemory(t *testing.T) {
	head := binary.BigEndian.AppendUint32(nil, maxFrame)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := readFrame(bytes.NewReader(append(head, 'a', 1, 2, 3)), maxFrame)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, io.ErrUnexpectedEOF) || after.TotalAlloc-before.TotalAlloc > 4<<20 {
		t.Errorf("%v, and %d bytes were taken", err, after.TotalAlloc-before.TotalAlloc)
	}
	if _, err := readFrame(bytes.NewReader(framed('h', "more than is allowed")), 8); !errors.Is(err, errTooLarge) {
		t.Errorf("beyond the limit: %v", err)
	}
}

func FuzzFrame(f *testing.F) {
	f.Add(framed('h', `{"ken":1}`))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0})
	f.Add([]byte{0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		for {
			f, err := readFrame(r, 1<<16)
			if err != nil {
				return
			}
			if len(f.body) > len(b) {
				t.Fatalf("%d bytes of %d", len(f.body), len(b))
			}
		}
	})
}

func FuzzSight(f *testing.F) {
	f.Add([]byte{0, 0, 0})
	f.Add([]byte{0, 1, 5, rowGone, 1, streamBegins | streamEnds, 3, 4, 5, 6})
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 1, 7, rowNamed, 1, 'x', 0, 1, 2, 9, 0, 0, 0, 0, 3, 1, 2, 2, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		rows, links := map[store.Ref]seenRow{}, map[store.Ref]neighbourRow{}
		if readSight(nil, b, rows, links) != nil {
			return
		}
		if len(rows)+len(links) > 2*len(b) {
			t.Fatalf("%d rows and %d links of %d bytes", len(rows), len(links), len(b))
		}
		for ref := range links {
			before, after, ok := around(links, ref, 5)
			if ok && (len(before) > 5 || len(after) > 5) {
				t.Fatalf("%v and %v", before, after)
			}
		}
	})
}

// TestErrorsCross checks that an error keeps its text, and its results of errors.Is and
// errors.As, in the other process.
func TestErrorsCross(t *testing.T) {
	inner := &ken.Error{Code: ken.CodeInvalid, Field: "path", Msg: "empty", Try: "Name it."}
	for _, err := range []error{
		nil,
		errors.New("plain"),
		inner,
		&ken.Error{Code: ken.CodeInvalid, Field: "evidence[0]", Msg: "refused", Err: inner},
		fmt.Errorf("search keywords: %w", &ken.Error{Code: ken.CodeUnavailable, Msg: "down", Try: "Wait.", Err: errors.New("dial")}),
		context.Canceled,
		context.DeadlineExceeded,
		fmt.Errorf("embed: %w", context.DeadlineExceeded),
		errors.Join(errors.New("one"), ken.ErrNotFound, fmt.Errorf("three: %w", ken.ErrHeld)),
		&fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES},
		fmt.Errorf("open store: %w", &fs.PathError{Op: "open", Path: "/x", Err: syscall.ENOENT}),
		errors.New("caf\xe9"),
	} {
		f := toFault(err)
		var back *fault
		if wrong := codec.Decode(codec.Append(nil, &f), &back); wrong != nil {
			t.Fatal(wrong)
		}
		got := back.err()
		if (err == nil) != (got == nil) {
			t.Errorf("%v became %v", err, got)
		}
		if err == nil {
			continue
		}
		if got.Error() != err.Error() && err.Error() != "caf\xe9" || ken.Hint(got) != ken.Hint(err) {
			t.Errorf("%q (%q) became %q (%q)", err, ken.Hint(err), got, ken.Hint(got))
		}
		for _, is := range []error{ken.ErrInvalid, ken.ErrNotFound, ken.ErrHeld, ken.ErrUnavailable, ken.ErrCorrupt, context.Canceled,
			context.DeadlineExceeded, fs.ErrPermission, fs.ErrNotExist} {
			if errors.Is(err, is) != errors.Is(got, is) {
				t.Errorf("%v is %v: %v, and afterwards %v", err, is, errors.Is(err, is), errors.Is(got, is))
			}
		}
		var was, is *ken.Error
		if errors.As(err, &was) && (!errors.As(got, &is) || was.Code != is.Code || was.Field != is.Field || was.Msg != is.Msg) {
			t.Errorf("%+v became %+v", was, is)
		}
	}
}

func TestADeepErrorIsCutOff(t *testing.T) {
	err := errors.New("the root")
	for range 1000 {
		err = fmt.Errorf("x: %w", err)
	}
	if got := toFault(err).err(); got.Error() != err.Error() {
		t.Errorf("%d bytes became %d", len(err.Error()), len(got.Error()))
	}
}

// FuzzSession sends arbitrary bytes to a server after a valid hello. The server may close the
// connection, but must still serve others.
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
		s.begin(server, nil)
		if err := sendJSON(client, kHello, hello{Ken: version, Forms: own().forms, Owner: ken.DefaultOwner}); err != nil {
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
		_, _ = client.Write(b) // an error means that the server has closed the connection
		_ = client.Close()
		<-read
		s.Shutdown(context.Background(), false)
	})
}

// TestTheCacheIsBounded checks that the cache stays within its bounds for all ways of adding
// entries, also if the commit never changes.
func TestTheCacheIsBounded(t *testing.T) {
	c := newCache()
	for from := store.Ref(0); from < 4*maxSeen; from += asideRows {
		rows, links := map[store.Ref]seenRow{}, map[store.Ref]neighbourRow{}
		for ref := from; ref < from+asideRows; ref++ {
			rows[ref], links[ref] = seenRow{}, neighbourRow{flags: linkNone}
		}
		c.put(7, rows, links)
		if _, ok := c.row(from); !ok {
			t.Fatalf("what was just read of %d is not known", from)
		}
	}
	if most := maxSeen + asideRows; len(c.rows) > most || len(c.links) > most {
		t.Errorf("it knows %d rows and %d links, and should at most %d", len(c.rows), len(c.links), most)
	}
}
