package remotetest

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"sync"
)

// Options configures a proxy.
type Options struct {
	Schema  Schema // schema of the build that each side seems to be to the other
	Version string // version of that build
	// Fill sets the fields that only that build has to non-zero values in requests. In
	// answers they are always set.
	Fill bool
}

// Proxy forwards connections to a server and converts their messages. It is safe for
// concurrent use.
type Proxy struct {
	o       Options
	own     Schema
	l       net.Listener
	running sync.WaitGroup

	mu               sync.Mutex // guards the rest
	network, address string
	conns            map[net.Conn]bool
	closed           bool
	met              int
}

// Listen returns a proxy that accepts connections on l until Close, which closes l. To must
// be called before the first connection.
func Listen(l net.Listener, o Options) *Proxy {
	p := &Proxy{o: o, own: Own(), l: l, conns: map[net.Conn]bool{}}
	p.running.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			p.running.Go(func() { p.serve(in) })
		}
	})
	return p
}

// To sets the address of the server for new connections.
func (p *Proxy) To(network, address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.network, p.address = network, address
}

// Met returns how often a client and the server exchanged schemas.
func (p *Proxy) Met() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.met
}

// Close closes the listener and all connections, and waits for the proxy's goroutines.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	err := p.l.Close()
	p.running.Wait()
	return err
}

func (p *Proxy) keep(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns[c] = true; p.closed {
		_ = c.Close()
	}
}

func (p *Proxy) serve(in net.Conn) {
	p.mu.Lock()
	network, address := p.network, p.address
	p.mu.Unlock()
	out, err := net.Dial(network, address) //nolint:noctx // of a test
	if err != nil {
		_ = in.Close()
		return
	}
	p.keep(in)
	p.keep(out)
	s := &stream{p: p}
	var both sync.WaitGroup
	both.Go(func() { s.pass(in, out, s.request) })
	both.Go(func() { s.pass(out, in, s.answer) })
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, in)
	delete(p.conns, out)
}

// stream is one connection of a client and its connection to the server.
type stream struct {
	p *Proxy

	mu   sync.Mutex // guards last
	last Message    // the last request
}

// pass forwards frames until one side closes. change converts their bodies.
func (s *stream) pass(from, to net.Conn, change func(kind byte, body []byte) []byte) {
	defer from.Close()
	defer to.Close()
	var head [5]byte
	for {
		if _, err := io.ReadFull(from, head[:]); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[:]))
		if _, err := io.ReadFull(from, body); err != nil {
			return
		}
		body = change(head[4], body)
		binary.BigEndian.PutUint32(head[:], uint32(len(body)))
		if _, err := to.Write(append(head[:], body...)); err != nil {
			return
		}
	}
}

// Kinds of frames that the proxy handles specially, as in package remote.
const (
	hello, welcome, introduction = 'h', 'w', 's'
	answer, class                = 'a', 'k'
)

// introduced converts a handshake message that describes one side's program. The result
// describes the other build.
func (s *stream) introduced(kind byte, body []byte) []byte {
	said := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &said); err != nil {
		panic(err)
	}
	if kind != introduction {
		said["forms"], _ = json.Marshal(s.p.o.Schema.fingerprint())
	}
	if said["schema"] != nil {
		said["schema"] = s.p.o.Schema.JSON()
		said["version"], _ = json.Marshal(s.p.o.Version)
	}
	if kind == introduction {
		s.p.mu.Lock()
		s.p.met++
		s.p.mu.Unlock()
	}
	body, err := json.Marshal(said)
	if err != nil {
		panic(err)
	}
	return body
}

func (s Schema) message(kind byte) (Message, bool) {
	for _, m := range s.Messages {
		if m.Kind == kind {
			return m, true
		}
	}
	return Message{}, false
}

func (p *Proxy) converter(fill bool) *converter {
	mine, _ := p.own.message(class)
	theirs, _ := p.o.Schema.message(class)
	return &converter{from: p.own, to: p.o.Schema, fill: fill, fromClass: mine.Answer, toClass: theirs.Answer}
}

func (s *stream) request(kind byte, body []byte) []byte {
	if kind == hello || kind == introduction {
		return s.introduced(kind, body)
	}
	mine, known := s.p.own.message(kind)
	theirs, both := s.p.o.Schema.message(kind)
	if !known || !both || len(body) == 0 {
		return body
	}
	s.mu.Lock()
	s.last = mine
	s.mu.Unlock()
	return s.p.converter(s.p.o.Fill).convert(nil, &reader{body}, mine.Request, theirs.Request)
}

func (s *stream) answer(kind byte, body []byte) []byte {
	if kind == welcome {
		return s.introduced(kind, body)
	}
	mine, known := s.p.own.message(kind)
	theirs, _ := s.p.o.Schema.message(kind)
	if !known || len(body) == 0 {
		return body
	}
	c, in := s.p.converter(true), &reader{body}
	out := c.convert(nil, in, mine.Answer, theirs.Answer)
	if kind != answer || len(in.b) == 0 {
		return out
	}
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	theirs, _ = s.p.o.Schema.message(last.Kind)
	if last.Name == "sight" {
		return c.sight(out, in)
	}
	return c.convert(out, in, last.Answer, theirs.Answer)
}
