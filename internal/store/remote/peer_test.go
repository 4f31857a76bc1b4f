package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/remote/codec"
	"github.com/kenlayer/ken/store"
)

// later returns the schema of a build that has one more kind of request.
func later(t testing.TB) []byte {
	t.Helper()
	var s schema
	if err := json.Unmarshal(own().schema, &s); err != nil {
		t.Fatal(err)
	}
	s.Messages = append(s.Messages, message{250, "turn over", 0, 0})
	b, err := json.Marshal(&s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// introduced returns a client that has announced this schema to a server of disk. It does the
// handshake itself instead of calling Dial.
func introduced(t testing.TB, disk *bolt.Store, schema []byte) *Client {
	t.Helper()
	s := NewServer(ServerOptions{Owner: ken.DefaultOwner, Log: slog.New(slog.DiscardHandler)})
	s.Ready(disk)
	client, server := net.Pipe()
	s.begin(server, nil)
	t.Cleanup(func() {
		_ = client.Close()
		s.Shutdown(context.Background(), false)
	})
	var w welcome
	if err := errors.Join(sendJSON(client, kHello, hello{Ken: version, Forms: fingerprint(schema), Owner: ken.DefaultOwner}), receiveJSON(client, kWelcome, &w)); err != nil || string(w.Schema) != string(own().schema) {
		t.Fatalf("%+v, %v", w, err)
	}
	w = welcome{}
	if err := errors.Join(sendJSON(client, kSchema, introduction{"v9", schema}), receiveJSON(client, kWelcome, &w)); err != nil || !w.Ready || w.Schema != nil {
		t.Fatalf("%+v, %v", w, err)
	}
	c := &Client{o: Options{Owner: ken.DefaultOwner}, cache: newCache(), slots: make(chan struct{}, maxConns), open: map[*conn]bool{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	t.Cleanup(c.cancel)
	cn := &conn{nc: client, r: bufio.NewReader(client)}
	c.open[cn], c.idle = true, []*conn{cn}
	return c
}

// TestAKindThatTheHolderDoesNotKnow checks that a holder refuses a kind of request that only
// the client's build has, and keeps the connection.
func TestAKindThatTheHolderDoesNotKnow(t *testing.T) {
	disk, err := bolt.Open(t.Context(), t.TempDir(), bolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = disk.Close() }()
	c := introduced(t, disk, later(t))
	is := func(err error) {
		t.Helper()
		var e *ken.Error
		if !errors.As(err, &e) || e.Code != ken.CodeRefused || !strings.Contains(e.Msg, `can't do "turn over" of version v9`) || e.Try == "" {
			t.Errorf("%v", err)
		}
	}
	is(tell(t.Context(), c, 250, &empty{}))
	if _, err := c.Query(t.Context(), ken.Query{}); err != nil {
		t.Errorf("after that: %v", err)
	}
	// Within a transaction, too; the transaction then ends.
	h := shelf{c}
	tx, _, err := h.begin(t.Context(), kUpdate)
	if err != nil {
		t.Fatal(err)
	}
	_, err = tx.ask(250, &shelfRequest{})
	is(err)
	tx.end()
}

// TestAnUpdateThatTheHolderDoesNotKnowIsRolledBack checks that a transaction with a change that
// the holder can't decode in full is rolled back.
func TestAnUpdateThatTheHolderDoesNotKnowIsRolledBack(t *testing.T) {
	disk, err := bolt.Open(t.Context(), t.TempDir(), bolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = disk.Close() }()
	var s schema
	if err := json.Unmarshal(own().schema, &s); err != nil {
		t.Fatal(err)
	}
	of := &s.Types[s.Messages[slices.IndexFunc(s.Messages, func(m message) bool { return m.Kind == kShelfStage })].Request]
	of.Fields = append(of.Fields, codec.Field{Name: "Colour", Type: of.Fields[0].Type})
	b, err := json.Marshal(&s)
	if err != nil {
		t.Fatal(err)
	}
	for _, colour := range [][]byte{{0}, {2, 3, 'r', 'e', 'd'}} {
		tx, _, err := shelf{introduced(t, disk, b)}.begin(t.Context(), kUpdate)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second part is sent although the first is refused
			part := codec.Append(startFrame(nil), &changes{Keys: []string{"key"}, Values: [][]byte{colour}})
			if err := sendFrame(tx.cn.nc, kShelfStage, append(part, colour...)); err != nil {
				t.Fatal(err)
			}
		}
		_, err = tx.ask(kShelfCommit, &shelfRequest{})
		var e *ken.Error
		if len(colour) == 1 && err != nil || len(colour) > 1 && (!errors.As(err, &e) || e.Field != "remote.changes.Colour") {
			t.Errorf("%v: %v", colour, err)
		}
	}
	if err := disk.Shelf().View(t.Context(), func(r store.ShelfReader) error {
		if v := r.Get("key"); len(v) != 1 {
			t.Errorf("it has %v", v)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// TestAKindThatNobodyKnows checks that a frame of a kind that is not in the client's own schema
// ends the connection.
func TestAKindThatNobodyKnows(t *testing.T) {
	disk, err := bolt.Open(t.Context(), t.TempDir(), bolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = disk.Close() }()
	c := introduced(t, disk, later(t))
	if _, lost := Lost(tell(t.Context(), c, 251, &empty{})); !lost {
		t.Error("the connection goes on")
	}
}

func TestASchemaThatIsNotAsItWasAnnouncedIsRefused(t *testing.T) {
	good := string(later(t))
	for name, text := range map[string]string{
		"no JSON":           "hello",
		"no types":          `{"messages":[{"kind":97,"name":"answer","request":0,"answer":0}],"types":[]}`,
		"no messages":       `{"messages":[],"types":[{"kind":"int"}]}`,
		"a kind twice":      strings.Replace(good, `"kind":250`, `"kind":182`, 1),
		"another name":      strings.Replace(good, `"query"`, `"ask"`, 1),
		"a number too high": strings.Replace(good, `"kind":250`, `"kind":256`, 1),
	} {
		if p, err := newPeer([]byte(text)); err == nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if _, err := peerOf(own().forms, []byte(good)); err == nil {
		t.Error("a schema of another fingerprint was taken")
	}
	for range 2 * maxPeers {
		if _, err := peerOf(fingerprint([]byte(good)), []byte(good)); err != nil {
			t.Fatal(err)
		}
		good += " "
	}
	if peersMu.Lock(); len(peers) > maxPeers {
		t.Errorf("%d peers are kept", len(peers))
	}
	peersMu.Unlock()
}

func TestVersionsOverlapOrNot(t *testing.T) {
	for _, tt := range []struct {
		high, low int
		want      bool
	}{{version, 0, true}, {version, oldest, true}, {version + 5, version, true}, {version + 5, version + 1, false}, {version + 1, 0, false}, {oldest - 1, 0, false}, {oldest - 1, 1, false}, {0, 0, false}} {
		if got := understood(tt.high, tt.low); got != tt.want {
			t.Errorf("%d to %d: %t", tt.low, tt.high, got)
		}
	}
}

// TestEveryKindHasAName checks that names and numbers of kinds are unique, and that the schema
// fits into a frame of the handshake.
func TestEveryKindHasAName(t *testing.T) {
	seen := map[string]byte{}
	for kind := range own().kinds {
		name := names[kind]
		if name == "" || seen[name] != 0 {
			t.Errorf("kind %d has the name %q", kind, name)
		}
		seen[name] = kind
		_, both := forms[kind]
		if _, is := handlers[kind]; is && both {
			t.Errorf("%s has a form beside its handler", name)
		}
	}
	if len(names) != len(own().kinds) {
		t.Errorf("%d names of %d kinds", len(names), len(own().kinds))
	}
	if n := len(own().schema); n > maxHello/2 {
		t.Errorf("the schema has %d bytes", n)
	}
}

// FuzzPeer decodes arbitrary bytes as the schema of another build, and as its messages.
func FuzzPeer(f *testing.F) {
	f.Add(own().schema, codec.Append(nil, &searchRequest{Text: "x"}))
	f.Add(later(f), codec.Append(nil, &answer{Commit: 1, Err: &fault{Text: "x"}}))
	f.Fuzz(func(t *testing.T, text, b []byte) {
		p, err := newPeer(text)
		if err != nil {
			return
		}
		_ = p.request(kImport).Decode(b, new(importRequest))
		_ = p.request(kKeyword).Decode(b, new(searchRequest))
		_ = p.answer(kRecords).Decode(b, new(recordsAnswer))
		_, _ = p.answer(kAnswer).DecodeSome(b, new(answer))
	})
}
