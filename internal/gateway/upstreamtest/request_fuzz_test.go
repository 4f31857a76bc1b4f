package upstreamtest

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
)

// What was read is what came, whatever it was.
func FuzzReadRequest(f *testing.F) {
	f.Add("POST /v1/x HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
	f.Add("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nA: b\r\n\r\nGET")
	f.Add("\r\nGET / HTTP/1.1\nA:b\n\n")
	f.Fuzz(func(t *testing.T, in string) {
		req, err := readRequest(bufio.NewReader(strings.NewReader(in)), func() error { return nil })
		if err != nil {
			return
		}
		if !strings.HasPrefix(in, string(req.Raw)) {
			t.Errorf("kept %q of %q", req.Raw, in)
		}
		if len(req.Body) > len(req.Raw) || req.Get("Transfer-Encoding") == "" && !bytes.HasSuffix(req.Raw, req.Body) {
			t.Errorf("body %q of %q", req.Body, req.Raw)
		}
	})
}

// A recording is its head and its body, and the body is not touched.
func FuzzParseRecording(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\nA: b\n\nbody\r\n"))
	f.Add([]byte("HTTP/1.1 529 \nContent-Type: text/event-stream\n\ndata: 1\n\ndata"))
	f.Fuzz(func(t *testing.T, in []byte) {
		a, err := parseRecording(in)
		if err == nil && !bytes.HasSuffix(in, append([]byte("\n\n"), a.Body()...)) {
			t.Errorf("body %q of %q", a.Body(), in)
		}
	})
}
