package remote_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/remote"
	"github.com/kenlayer/ken/store/storetest"
)

func connect(s *served, o remote.Options) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := remote.Dial(ctx, "unix", s.socket, o)
	if err == nil {
		err = c.Close()
	}
	return err
}

// TestWhoIsNotMeantIsRefused checks that clients with another owner or a wrong token are
// refused.
func TestWhoIsNotMeantIsRefused(t *testing.T) {
	s := serve(t, storetest.Options{}, remote.ServerOptions{})
	err := connect(s, remote.Options{Owner: "mallory"})
	if !errors.Is(err, ken.ErrRefused) || ken.Hint(err) == "" {
		t.Errorf("another owner: %v", err)
	}
	must(t, connect(s, remote.Options{Owner: ken.DefaultOwner}))

	guarded := remote.NewServer(remote.ServerOptions{Owner: "a", Token: "right"})
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- guarded.Serve(l) }()
	guarded.Ready(s.disk)
	defer func() {
		guarded.Shutdown(context.Background(), false)
		must(t, <-ended)
	}()
	for token, want := range map[string]bool{"right": true, "wrong": false, "": false, "right ": false} {
		c, err := remote.Dial(context.Background(), "tcp", l.Addr().String(), remote.Options{Owner: "a", Token: token})
		var e *ken.Error
		switch {
		case want && errors.Is(err, ken.ErrRefused): // the error says that the store has another owner
		case !want && errors.As(err, &e) && e.Code == ken.CodeRefused && e.Field == "token":
		default:
			t.Errorf("token %q: %v", token, err)
		}
		if c != nil {
			must(t, c.Close())
		}
	}
}

// TestAnotherHolderAtTheSameAddress checks that a client gets a LostError if another holder
// now serves at its address. Callers need it to look for the new holder.
func TestAnotherHolderAtTheSameAddress(t *testing.T) {
	s := serve(t, storetest.Options{}, remote.ServerOptions{})
	c, err := remote.Dial(t.Context(), "unix", s.socket, remote.Options{Owner: ken.DefaultOwner})
	must(t, err)
	defer func() { must(t, c.Close()) }()
	must(t, os.Rename(s.socket, s.socket+"-old")) // the old one still has its connections
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", s.socket)
	must(t, err)
	next := remote.NewServer(remote.ServerOptions{Owner: ken.DefaultOwner, Token: "another"})
	ended := make(chan error, 1)
	go func() { ended <- next.Serve(l) }()
	defer func() {
		next.Shutdown(context.Background(), false)
		must(t, <-ended)
	}()
	_, err = c.Get(t.Context(), "anything")
	if sent, lost := remote.Lost(err); !lost || sent || !c.Broken() {
		t.Errorf("sent %t, lost %t, broken %t: %v", sent, lost, c.Broken(), err)
	}
	if !errors.Is(err, ken.ErrUnavailable) || !strings.Contains(err.Error(), "token") {
		t.Errorf("%v", err)
	}
}

// speak sends one frame over a new connection and returns the answer's body.
func speak(t *testing.T, s *served, kind byte, body string) []byte {
	t.Helper()
	nc, err := (&net.Dialer{}).DialContext(t.Context(), "unix", s.socket)
	must(t, err)
	defer nc.Close()
	must(t, nc.SetDeadline(time.Now().Add(time.Minute)))
	_, err = nc.Write(append(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), kind), body...))
	must(t, err)
	b, _ := io.ReadAll(nc) // until the server closes the connection
	return b[min(5, len(b)):]
}

// TestAnotherVersionIsToldSo checks that a client with another version of the protocol is sent
// this server's version, whatever else its hello contains.
func TestAnotherVersionIsToldSo(t *testing.T) {
	s := serve(t, storetest.Options{}, remote.ServerOptions{})
	for _, hello := range []string{`{"ken":4,"oldest":4,"forms":"x","owner":"default","colour":"red"}`, `{"ken":2,"forms":"of another build","owner":"default"}`} {
		var w struct {
			Ken   int
			Forms string
			Ready bool
		}
		if err := json.Unmarshal(speak(t, s, 'h', hello), &w); err != nil || w.Ken != 3 || w.Forms == "" || w.Ready {
			t.Errorf("%s: %+v, %v", hello, w, err)
		}
	}
}

// TestAnotherServerIsAnError checks the errors of Dial if the holder has another version, or
// the peer is not a ken server.
func TestAnotherServerIsAnError(t *testing.T) {
	for name, tt := range map[string]struct {
		says string
		want error
		lost bool
	}{
		"another version":   {says: `{"ken":7,"forms":"x"}`, want: ken.ErrHeld},
		"another build":     {says: `{"ken":1,"forms":"x"}`, want: ken.ErrHeld},
		"no JSON":           {says: "220 mail.example ESMTP", lost: true},
		"nothing":           {lost: true},
		"something endless": {says: string(make([]byte, 1<<20)), lost: true},
	} {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		must(t, err)
		done := make(chan struct{})
		go func() {
			defer close(done)
			nc, err := l.Accept()
			if err != nil {
				return
			}
			defer nc.Close()
			if tt.says != "" {
				_, _ = nc.Write(append(append(binary.BigEndian.AppendUint32(nil, uint32(len(tt.says))), 'w'), tt.says...))
			}
		}()
		_, err = remote.Dial(context.Background(), "tcp", l.Addr().String(), remote.Options{Owner: "a"})
		_, lost := remote.Lost(err)
		if err == nil || lost != tt.lost || tt.want != nil && (!errors.Is(err, tt.want) || ken.Hint(err) == "") {
			t.Errorf("%s: %v", name, err)
		}
		must(t, l.Close())
		<-done
	}
	_, err := remote.Dial(context.Background(), "unix", socket(t), remote.Options{})
	if _, lost := remote.Lost(err); !lost || !errors.Is(err, ken.ErrUnavailable) {
		t.Errorf("nobody there: %v", err)
	}
}

// TestClientsWaitUntilTheStoreIsOpen checks that clients that connect while the store is being
// opened wait, receive progress, and receive the error if it can't be opened.
func TestClientsWaitUntilTheStoreIsOpen(t *testing.T) {
	s := serve(t, storetest.Options{}, remote.ServerOptions{})
	start := func() (*remote.Server, net.Listener, func()) {
		srv := remote.NewServer(remote.ServerOptions{Owner: ken.DefaultOwner})
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket(t))
		must(t, err)
		ended := make(chan error, 1)
		go func() { ended <- srv.Serve(l) }()
		return srv, l, func() {
			srv.Shutdown(context.Background(), false)
			must(t, <-ended)
		}
	}
	srv, l, stop := start()
	defer stop()
	srv.Progress("index", 3, 9)
	told := make(chan [2]int, 100)
	got := make(chan error, 1)
	go func() {
		c, err := remote.Dial(context.Background(), "unix", l.Addr().String(), remote.Options{Owner: ken.DefaultOwner,
			Progress: func(stage string, done, total int) { told <- [2]int{done, total} }})
		if err == nil {
			_, err = c.Query(context.Background(), ken.Query{})
			err = errors.Join(err, c.Close())
		}
		got <- err
	}()
	if p := <-told; p != [2]int{3, 9} {
		t.Errorf("it is told of %v", p)
	}
	srv.Ready(s.disk)
	must(t, <-got)

	broken, l2, stop := start()
	defer stop()
	go func() {
		_, err := remote.Dial(context.Background(), "unix", l2.Addr().String(), remote.Options{Owner: ken.DefaultOwner})
		got <- err
	}()
	broken.Fail(&ken.Error{Code: ken.CodeCorrupt, Msg: "the file is not readable", Try: "Restore it."})
	if err := <-got; !errors.Is(err, ken.ErrCorrupt) || ken.Hint(err) != "Restore it." {
		t.Errorf("it says %v", err)
	}

	over, cancel := context.WithCancel(context.Background())
	_, l3, stop := start()
	defer stop()
	go func() {
		_, err := remote.Dial(over, "unix", l3.Addr().String(), remote.Options{Owner: ken.DefaultOwner})
		got <- err
	}()
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("it says %v", err)
	}
}
