package upstreamtest

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// serve answers the requests of one connection, one after the other.
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
		// Whoever waits for the next byte sees at once when the client leaves. The byte
		// itself stays in the reader, for the next request.
		more := make(chan bool, 1)
		go func() {
			_, err := r.Peek(1)
			if err != nil {
				close(req.gone)
			}
			more <- err == nil
		}()
		a := s.keep(req)
		if a.Status == http.StatusSwitchingProtocols && asksSocket(req) {
			if send(c, a, req) == nil && <-more {
				s.talk(c, r, req, number)
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

// finish ends a connection. A reset overtakes what the client has not read yet.
func finish(c net.Conn, e Ending) {
	if tcp, ok := c.(*net.TCPConn); ok && e == Reset {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// send writes an answer, up to its ending.
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

// wait waits for a channel, nil for none, or for the client to leave.
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
