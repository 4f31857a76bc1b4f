package shared_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/shared"
	"github.com/kenlayer/ken/store"
)

// proxy forwards connections between a holder and its clients. It can drop answers, and stop to
// forward anything.
type proxy struct {
	address string
	lose    atomic.Int32 // how many of the next answers get lost, each with its connection
	lost    atomic.Int32
	silent  sync.RWMutex // while it is locked, nothing is forwarded

	mu    sync.Mutex // guards conns
	conns []net.Conn
}

// between starts a proxy for the store in dir. New clients connect through it from then on.
func between(t *testing.T, dir string) *proxy {
	t.Helper()
	file := filepath.Join(dir, ken.DefaultOwner, "holder.json")
	h := bolt.ReadHolder(filepath.Dir(file))
	p := newProxy(t, h.Network, h.Address)
	h.Network, h.Address = "tcp", p.address
	b, err := json.Marshal(h)
	must(t, err)
	must(t, os.WriteFile(file, b, 0o600))
	return p
}

// newProxy starts a proxy for an address.
func newProxy(t *testing.T, network, behind string) *proxy {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	p := &proxy{address: l.Addr().String()}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := (&net.Dialer{}).DialContext(t.Context(), network, behind)
			if err != nil {
				_ = in.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, in, out)
			p.mu.Unlock()
			running.Go(func() { p.pass(in, out, false) })
			running.Go(func() { p.pass(out, in, true) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		running.Wait()
	})
	return p
}

func (p *proxy) pass(from, to net.Conn, answers bool) {
	defer from.Close()
	defer to.Close()
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		p.silent.RLock()
		p.silent.RUnlock() //lint:ignore SA2001 it waits while nothing is forwarded
		if err != nil {
			return
		}
		if answers && p.lose.Load() > 0 {
			p.lose.Add(-1)
			p.lost.Add(1)
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

// TestALostAnswerIsNoSecondWrite checks that a write whose answer is lost is repeated, and applied
// once.
func TestALostAnswerIsNoSecondWrite(t *testing.T) {
	dir := t.TempDir()
	holder := open(t, owners(t, dir, shared.Options{}))
	id := write(t, holder, claim(t, "the port is 8080"))
	old, next := write(t, holder, claim(t, "Ana works at Google")), write(t, holder, claim(t, "Ana joined Microsoft"))
	p := between(t, dir)
	s := open(t, owners(t, dir, shared.Options{}))
	ctx := t.Context()
	for _, w := range []struct {
		name string
		do   func() error
	}{
		{"write", func() error {
			id, err := s.WriteClaim(ctx, claim(t, "written once"))
			return errors.Join(err, there(s, id))
		}},
		{"import", func() error {
			out := s.Import(ctx, []store.Incoming{{Claim: claim(t, "imported once")}, {Claim: ken.Claim{Text: "no evidence"}}})
			if !out[0].Changed || out[0].Err != nil || !errors.Is(out[1].Err, ken.ErrInvalid) {
				return fmt.Errorf("outcomes %+v", out)
			}
			return there(s, out[0].ID)
		}},
		{"transition", func() error { return s.Transition(ctx, ken.Transition{ID: id, To: ken.StatusVerified}) }},
		{"reinforce", func() error {
			return s.Reinforce(ctx, id, []ken.Evidence{ken.FromAgentAssertion("a", "")}, ken.Actor{})
		}},
		{"supersede", func() error { return s.Supersede(ctx, old, next) }},
		{"archive", func() error { return s.Archive(ctx, old, "", ken.Actor{}) }},
		{"forget", func() error {
			ids, err := s.Forget(ctx, old, "", ken.Actor{})
			if len(ids) != 1 || ids[0] != old {
				err = errors.Join(err, fmt.Errorf("it forgot %q", ids))
			}
			return err
		}},
	} {
		before, lost := holder.Seq(), p.lost.Load()
		p.lose.Store(1)
		if err := w.do(); err != nil {
			t.Errorf("%s: %v", w.name, err)
		}
		if n := holder.Seq() - before; n != 1 || p.lost.Load() != lost+1 {
			t.Errorf("%s: %d events, %d answers lost", w.name, n, p.lost.Load()-lost)
		}
	}
	for _, tt := range []struct {
		name                  string
		begin, within, commit bool
		runs                  int
	}{{name: "nothing", runs: 1}, {name: "the beginning", begin: true, runs: 1}, {name: "what is read within", within: true, runs: 2}, {name: "the commit", commit: true, runs: 1}} {
		runs, lost := 0, p.lost.Load()
		lose := func(it bool) {
			if it && runs < 2 {
				p.lose.Store(1)
			}
		}
		lose(tt.begin)
		must(t, s.Shelf().Update(ctx, func(tx store.ShelfTx) error {
			runs++
			lose(tt.within)
			n := tx.Get("n")
			lose(tt.commit)
			return tx.Put("n", append(n, 'x'))
		}))
		if wants := tt.begin || tt.within || tt.commit; runs != tt.runs || wants != (p.lost.Load() > lost) {
			t.Errorf("%s gets lost: the function ran %d times, and %d answers were lost", tt.name, runs, p.lost.Load()-lost)
		}
	}
	if v, _ := get(t, s.Shelf(), "n"); v != "xxxx" {
		t.Errorf("four updates left %q", v)
	}
}

func there(s store.Engine, id string) error {
	if !s.Has(id) {
		return fmt.Errorf("%q is not there", id)
	}
	return nil
}

// TestReadsAreRepeated checks that reads are repeated after a lost answer, and that paged reads
// continue where they were.
func TestReadsAreRepeated(t *testing.T) {
	dir := t.TempDir()
	holder := open(t, owners(t, dir, shared.Options{}))
	var in []store.Incoming
	for i := range 3000 { // more than a page of everything
		in = append(in, store.Incoming{Claim: claim(t, fmt.Sprintf("the port of service%d is %d", i, i))})
	}
	for _, o := range holder.Import(t.Context(), in) {
		must(t, o.Err)
	}
	p := between(t, dir)
	s := open(t, owners(t, dir, shared.Options{}))
	reads := map[string]func(){
		"claims": func() {
			n := 0
			for c, err := range s.Claims(t.Context()) {
				must(t, err)
				if want := in[n].Claim.Text; c.Text != want {
					t.Fatalf("claim %d is %q", n, c.Text)
				}
				if n++; n%700 == 0 {
					p.lose.Store(1)
				}
			}
			if n != len(in) {
				t.Errorf("%d claims", n)
			}
		},
		"scan": func() {
			n := 0
			for _, err := range s.Scan(t.Context(), &ken.Filter{}, func(store.Glance) bool { return true }) {
				must(t, err)
				if n++; n == 2500 {
					p.lose.Store(1)
				}
			}
			if n != len(in) {
				t.Errorf("%d claims", n)
			}
		},
		"events": func() {
			n := uint64(0)
			for ev, err := range s.Events(t.Context(), 1) {
				must(t, err)
				if n++; ev.Seq != n {
					t.Fatalf("event %d after %d", ev.Seq, n-1)
				}
				if n%1000 == 0 {
					p.lose.Store(1)
				}
			}
			if n != uint64(len(in)) {
				t.Errorf("%d events", n)
			}
		},
		"query": func() {
			if got := texts(t, s, "service77"); len(got) == 0 {
				t.Error("nothing is found")
			}
		},
		"row": func() {
			if _, ok := s.Row(5); !ok {
				t.Error("no row")
			}
		},
		"counts": func() {
			if s.Len() != len(in) || s.Seq() != uint64(len(in)) || s.Refs() != len(in) {
				t.Errorf("%d, %d, %d", s.Len(), s.Seq(), s.Refs())
			}
		},
		"has": func() {
			if !s.Has(holderID(t, holder)) {
				t.Error("it is not there")
			}
		},
		"view": func() {
			if _, there := get(t, s.Shelf(), "none"); there {
				t.Error("something is there")
			}
		},
	}
	for name, read := range reads {
		t.Run(name, func(t *testing.T) {
			before := p.lost.Load()
			p.lose.Store(1)
			read()
			p.lose.Store(0)
			if p.lost.Load() == before {
				t.Error("no answer got lost: the test shows nothing")
			}
		})
	}
}

func holderID(t *testing.T, s store.Engine) string {
	for c, err := range s.Claims(t.Context()) {
		must(t, err)
		return c.ID
	}
	return ""
}
