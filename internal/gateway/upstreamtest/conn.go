package upstreamtest

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// serve answers the requests of one connection, one after another.
func (s *Server) serve(c net.Conn, number int) {
	defer s.release(c)
	r := bufio.NewReaderSize(c, 64<<10)
	for {
		req, err := readRequest(r, func() error {
			_, err := io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n")
			return err
		})
		if err != nil {
			return
		}
		req.Conn = number
		more := awaitMore(r, req)
		a := s.record(req)
		if a.Status == http.StatusSwitchingProtocols && isHandshake(req) {
			if send(c, a, req) == nil && <-more {
				s.serveMessages(c, r, req, number)
			}
			return
		}
		if err := send(c, a, req); err != nil || a.Ending != Keep || a.Framing == ToClose {
			finish(c, a.Ending)
			<-more
			return
		}
		if strings.EqualFold(req.Get("Connection"), "close") {
			finish(c, Close)
		}
		if !<-more {
			return
		}
	}
}

// finish ends a connection. A reset may discard bytes that the client has not read.
func finish(c net.Conn, e Ending) {
	if tcp, ok := c.(*net.TCPConn); ok && e == Reset {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// send writes an answer up to its ending.
func send(w io.Writer, a Answer, req *Request) error {
	if err := wait(a.Head, req); err != nil {
		return err
	}
	if !a.Nothing {
		if err := sendHead(w, a); err != nil {
			return err
		}
		for _, piece := range a.Pieces {
			if err := wait(a.Pace, req); err != nil {
				return err
			}
			if req.Method == http.MethodHead {
				continue
			}
			if _, err := w.Write(a.framed(piece)); err != nil {
				return err
			}
		}
	}
	switch a.Ending {
	case Drop, Reset:
		return nil
	case Stall:
		<-req.gone
		return errGone
	}
	if a.Nothing || req.Method == http.MethodHead {
		return nil
	}
	_, err := w.Write(a.tail())
	return err
}

func sendHead(w io.Writer, a Answer) error {
	for _, i := range a.Interim {
		var b bytes.Buffer
		b.WriteString("HTTP/1.1 " + strconv.Itoa(i.Status) + " Interim\r\n")
		writeFields(&b, i.Header)
		b.WriteString("\r\n")
		if _, err := w.Write(b.Bytes()); err != nil {
			return err
		}
	}
	_, err := w.Write(a.head())
	return err
}

// wait waits until c is closed or has a value, or the client leaves. It does not wait for a nil
// channel.
func wait(c <-chan struct{}, req *Request) error {
	if c == nil {
		return nil
	}
	select {
	case <-c:
		return nil
	case <-req.gone:
		return errGone
	}
}

// NewHTTP2 starts a server that uses HTTP/2 over TLS and ends with the test. The client trusts its
// certificate. Framing has no effect; Drop and Reset both reset the stream.
func NewHTTP2(t testing.TB) (*Server, *http.Client) {
	t.Helper()
	s := newServer()
	h := httptest.NewUnstartedServer(http.HandlerFunc(s.serveHTTP))
	h.EnableHTTP2 = true
	h.StartTLS()
	s.URL, s.Close = h.URL, h.Close
	t.Cleanup(s.Close)
	return s, h.Client()
}

func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	req := &Request{Method: r.Method, Target: r.URL.RequestURI(), Proto: r.Proto, gone: make(chan struct{})}
	for name, vs := range r.Header {
		for _, v := range vs {
			req.Header = append(req.Header, Field{name, v})
		}
	}
	slices.SortStableFunc(req.Header, func(a, b Field) int { return cmp.Compare(a.Name, b.Name) })
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	req.Body = body
	for name, vs := range r.Trailer {
		for _, v := range vs {
			req.Trailer = append(req.Trailer, Field{name, v})
		}
	}
	stop := context.AfterFunc(r.Context(), func() { close(req.gone) })
	defer stop()
	if err := respond(w, s.record(req), req); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// respond is send for HTTP/2.
func respond(w http.ResponseWriter, a Answer, req *Request) error {
	if err := wait(a.Head, req); err != nil {
		return err
	}
	if !a.Nothing {
		for _, i := range a.Interim {
			write(w.Header(), "", i.Header)
			w.WriteHeader(i.Status)
			clear(w.Header())
		}
		for _, f := range a.Header {
			if !slices.Contains([]string{"Connection", "Keep-Alive", "Transfer-Encoding"}, http.CanonicalHeaderKey(f.Name)) {
				w.Header().Add(f.Name, f.Value)
			}
		}
		w.WriteHeader(a.status())
		for _, piece := range a.Pieces {
			if err := wait(a.Pace, req); err != nil {
				return err
			}
			if _, err := w.Write(piece); err != nil {
				return err
			}
			if err := http.NewResponseController(w).Flush(); err != nil {
				return err
			}
		}
		write(w.Header(), http.TrailerPrefix, a.Trailer)
	}
	switch a.Ending {
	case Drop, Reset:
		return errGone
	case Stall:
		<-req.gone
		return errGone
	}
	return nil
}

func write(h http.Header, prefix string, fields []Field) {
	for _, f := range fields {
		h.Add(prefix+f.Name, f.Value)
	}
}
