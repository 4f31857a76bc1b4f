//go:build unix

package nodes

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// proxy is a way to servers, which a test can cut, one way or both: connections stay
// open and nothing comes through, as with a cable that is pulled.
type proxy struct {
	listeners []net.Listener
	wg        sync.WaitGroup

	mu    sync.Mutex // guards the rest
	conns map[net.Conn]bool
	open  *sync.Cond
	shut  [2]bool // there and back
	ended bool
}

func newProxy(t *testing.T, servers []string) *proxy {
	p := &proxy{conns: map[net.Conn]bool{}}
	p.open = sync.NewCond(&p.mu)
	for _, server := range servers {
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		p.listeners = append(p.listeners, l)
		p.wg.Go(func() { p.serve(l, server) })
	}
	t.Cleanup(p.close)
	return p
}

func (p *proxy) url(scheme string) string {
	var all []string
	for _, l := range p.listeners {
		all = append(all, scheme+l.Addr().String())
	}
	return strings.Join(all, ",")
}

// The ways of a proxy.
const (
	there = iota
	back
)

// cut cuts the way to the servers, the way back, or joins them again.
func (p *proxy) cut(to, from bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = [2]bool{to, from}
	p.open.Broadcast()
}

func (p *proxy) close() {
	for _, l := range p.listeners {
		_ = l.Close()
	}
	p.mu.Lock()
	p.ended, p.shut = true, [2]bool{}
	for c := range p.conns {
		_ = c.Close()
	}
	p.open.Broadcast()
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *proxy) keep(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = true
}

// passes waits until a way is open, and reports whether it is there at all.
func (p *proxy) passes(way int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.shut[way] && !p.ended {
		p.open.Wait()
	}
	return !p.ended
}

func (p *proxy) serve(l net.Listener, server string) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		p.keep(in)
		p.wg.Go(func() {
			defer in.Close()
			if !p.passes(there) {
				return
			}
			out, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", server)
			if err != nil {
				return
			}
			defer out.Close()
			p.keep(out)
			p.wg.Go(func() { p.copy(out, in, there) })
			p.copy(in, out, back)
		})
	}
}

func (p *proxy) copy(to, from net.Conn, way int) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && p.passes(way) {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if err == io.EOF {
				return
			}
			return
		}
	}
}
