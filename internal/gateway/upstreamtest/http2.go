package upstreamtest

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

// NewHTTP2 starts a server that speaks HTTP/2 over TLS and ends with the test.
// The client trusts its certificate. Framing means nothing there; Drop and Reset
// both reset the stream.
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
	if err := respond(w, s.keep(req), req); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// respond is send for an answer over HTTP/2.
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
