//go:build unix

package nodes

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// proxy forwards TCP connections to servers. A test can cut one direction or both: connections
// then stay open, but no data arrives, as with an unplugged cable. It can also be slow.
type proxy struct {
	listeners []net.Listener
	wg        sync.WaitGroup
	done      chan struct{} // closed when it ends

	mu    sync.Mutex // guards the rest
	conns map[net.Conn]bool
	open  *sync.Cond
	shut  [2]bool // whether the directions there and back are cut
	ended bool
	pace  pace
	busy  [2]time.Time // until when each direction is busy with data
}

// pace is the speed of a direction of a proxy. The zero value does not slow it down.
type pace struct {
	delay, jitter time.Duration // in one direction; the delay varies by at most jitter
	bytes         int           // per second, of all connections together; 0 for no limit
}

// slowLink is the pace of a link between two distant places.
var slowLink = pace{100 * time.Millisecond, 50 * time.Millisecond, 256 << 10}

func newProxy(t testing.TB, servers []string) *proxy {
	p := &proxy{conns: map[net.Conn]bool{}, done: make(chan struct{})}
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

// Directions of a proxy: to the servers, and back.
const (
	there = iota
	back
)

// cut cuts each direction whose argument is true, and opens the other ones.
func (p *proxy) cut(to, from bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = [2]bool{to, from}
	p.open.Broadcast()
}

// slow sets the pace of both directions.
func (p *proxy) slow(to pace) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pace = to
}

func (p *proxy) close() {
	close(p.done)
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

// passes waits until a direction is open. It returns false if the proxy is closed.
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

// Sizes of the socket buffers and of a write, in bytes. They are small, so that data waits in the
// proxy.
const (
	buffers = 64 << 10
	piece   = 4 << 10
)

// chunk is data that the proxy has received and not yet forwarded.
type chunk struct {
	data []byte
	due  time.Time // when it may be forwarded
}

// copy forwards one direction of a connection.
func (p *proxy) copy(to, from net.Conn, way int) {
	defer from.Close()
	_ = from.(*net.TCPConn).SetReadBuffer(buffers)
	_ = to.(*net.TCPConn).SetWriteBuffer(buffers)
	all := make(chan chunk, 16)
	defer close(all)
	p.wg.Go(func() {
		defer to.Close()
		for c := range all {
			if p.deliver(to, c, way) != nil {
				_ = from.Close()
				for range all { // drain it, so that the reader does not block
				}
				return
			}
		}
	})
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			all <- chunk{bytes.Clone(buf[:n]), time.Now().Add(p.delay())}
		}
		if err != nil {
			return
		}
	}
}

func (p *proxy) delay() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pace.jitter == 0 {
		return p.pace.delay
	}
	return p.pace.delay - p.pace.jitter + rand.N(2*p.pace.jitter)
}

// deliver forwards a chunk when it is due, at the pace of its direction. It sends small pieces, so
// that connections take turns.
func (p *proxy) deliver(to net.Conn, c chunk, way int) error {
	p.wait(c.due)
	for len(c.data) > 0 {
		n := min(len(c.data), piece)
		p.wait(p.slot(way, n))
		if !p.passes(way) {
			return net.ErrClosed
		}
		if _, err := to.Write(c.data[:n]); err != nil {
			return err
		}
		c.data = c.data[n:]
	}
	return nil
}

// slot reserves a direction for n bytes, and returns when the reserved time ends; the zero time if
// there is no limit.
func (p *proxy) slot(way, n int) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pace.bytes == 0 {
		return time.Time{}
	}
	if now := time.Now(); p.busy[way].Before(now) {
		p.busy[way] = now
	}
	p.busy[way] = p.busy[way].Add(time.Duration(n) * time.Second / time.Duration(p.pace.bytes))
	return p.busy[way]
}

func (p *proxy) wait(until time.Time) {
	left := time.Until(until)
	if left <= 0 {
		return
	}
	select {
	case <-time.After(left):
	case <-p.done:
	}
}
