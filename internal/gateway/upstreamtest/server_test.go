package upstreamtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client has no connections that outlive the test.
func client(t testing.TB) *http.Client {
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// said is what an answer has around its body.
type said struct {
	StatusCode      int
	ProtoMajor      int
	Header, Trailer http.Header
}

// ask sends a request and returns the answer, read as far as it goes.
func ask(t testing.TB, c *http.Client, url, body string) (*said, []byte, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return &said{resp.StatusCode, resp.ProtoMajor, resp.Header, resp.Trailer}, got, err
}

const streamed = `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`

func TestRequestIsKeptByteForByte(t *testing.T) {
	s := New(t)
	const head = "POST /v1/chat/completions?b=2&a=1 HTTP/1.1\r\nhost: x\r\nX-ODD-case:  two  spaces \r\naccept: a\r\nAccept: b\r\n"
	for name, tt := range map[string]struct{ rest, body string }{
		"length": {"Content-Length: 4\r\n\r\n{\"\xff}", "{\"\xff}"},
		"chunks": {"Transfer-Encoding: chunked\r\n\r\n2;x=y\r\n{}\r\n1\r\n \r\n0\r\nX-Sum: 3\r\n\r\n", "{} "},
		"none":   {"\r\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s.Forget()
			c := dial(t, s)
			io.WriteString(c, head+tt.rest)
			req := s.Wait(t, 0)
			if string(req.Raw) != head+tt.rest || string(req.Body) != tt.body {
				t.Errorf("kept %q with body %q", req.Raw, req.Body)
			}
			want := []Field{{"host", "x"}, {"X-ODD-case", "two  spaces"}, {"accept", "a"}, {"Accept", "b"}}
			if diff := cmp.Diff(want, req.Header[:4]); diff != "" {
				t.Error(diff)
			}
			if req.Path() != "/v1/chat/completions" || req.Target != "/v1/chat/completions?b=2&a=1" || !slices.Equal(req.Values("ACCEPT"), []string{"a", "b"}) {
				t.Errorf("got %+v", req)
			}
			if name == "chunks" && !cmp.Equal(req.Trailer, []Field{{"X-Sum", "3"}}) {
				t.Errorf("trailer %v", req.Trailer)
			}
		})
	}
}

func dial(t testing.TB, s *Server) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestConnectionIsKept(t *testing.T) {
	s, c := New(t), client(t)
	for range 3 {
		if resp, _, err := ask(t, c, s.URL+"/v1/chat/completions", streamed); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp, err)
		}
	}
	for _, r := range s.Requests() {
		if r.Conn != 1 {
			t.Errorf("connection %d", r.Conn)
		}
	}
}

// What is said of an answer is what a client sees.
func TestAnswersArrive(t *testing.T) {
	stream := Recording("chat_stream")
	for _, tt := range []struct {
		name   string
		answer Answer
		want   []byte
		ends   error
	}{
		{"stream", stream, stream.Body(), nil},
		{"half an event", HalfEvent(stream), stream.Body()[:len(stream.Body())-len("data: [DONE]\n\n")/2], nil},
		{"cut", CutAt(stream, 333), stream.Body()[:333], io.ErrUnexpectedEOF},
		{"cut at once", CutAt(stream, 0), []byte{}, io.ErrUnexpectedEOF},
		{"cut of known length", CutAt(Recording("chat"), 100), Recording("chat").Body()[:100], io.ErrUnexpectedEOF},
		{"to the close", Answer{Pieces: [][]byte{[]byte("a"), []byte("b")}, Framing: ToClose}, []byte("ab"), nil},
		{"close", Answer{Pieces: [][]byte{[]byte("a")}, Ending: Close}, []byte("a"), nil},
		{"too long a length", Answer{Pieces: [][]byte{[]byte("abc")}, Header: []Field{{"Content-Length", "9"}}, Ending: Close}, []byte("abc"), io.ErrUnexpectedEOF},
		{"empty pieces", Answer{Pieces: [][]byte{nil, []byte("a"), nil}, Framing: Chunked}, []byte("a"), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := New(t)
			s.Next(tt.answer)
			_, got, err := ask(t, client(t), s.URL+"/x", "{}")
			if !errors.Is(err, tt.ends) || !bytes.Equal(got, tt.want) {
				t.Errorf("got %d bytes of %d, %v", len(got), len(tt.want), err)
			}
		})
	}
}

func TestAnswerBreaksBeforeItsHead(t *testing.T) {
	for name, a := range map[string]Answer{"hang up": HangUp(), "reset": {Nothing: true, Ending: Reset}} {
		s := New(t)
		s.Next(a)
		if _, _, err := ask(t, client(t), s.URL+"/x", "{}"); err == nil {
			t.Errorf("%s: answered", name)
		}
	}
	if _, _, err := ask(t, client(t), Refusing(t)+"/x", "{}"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("refusing: %v", err)
	}
}

func TestHangSeesTheClientLeave(t *testing.T) {
	for name, a := range map[string]Answer{
		"before the head": Hang(), "in the middle": Stalled(Recording("chat_stream"), 2),
		"paced": {Pieces: [][]byte{[]byte("a")}, Pace: make(chan struct{})},
		"held":  {Head: make(chan struct{})},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(t)
			s.Next(a)
			c := dial(t, s)
			io.WriteString(c, "GET / HTTP/1.1\r\n\r\n")
			r := s.Wait(t, 0)
			select {
			case <-r.Gone():
				t.Fatal("gone already")
			default:
			}
			c.Close()
			<-r.Gone()
		})
	}
}

// A piece leaves when it is let go, and not before.
func TestPace(t *testing.T) {
	s := New(t)
	pace := make(chan struct{})
	s.Next(Answer{Pieces: [][]byte{[]byte("one"), []byte("two")}, Framing: Chunked, Pace: pace, Trailer: []Field{{"X-End", "z"}}})
	c := dial(t, s)
	io.WriteString(c, "GET / HTTP/1.1\r\n\r\n")
	r := bufio.NewReader(c)
	expect := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(r, got); err != nil || string(got) != want {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
	pace <- struct{}{}
	expect("3\r\none\r\n")
	if n := r.Buffered(); n != 0 {
		t.Errorf("%d bytes came too early", n)
	}
	close(pace)
	expect("3\r\ntwo\r\n0\r\nX-End: z\r\n\r\n")
}

func TestInterimAndExpect(t *testing.T) {
	s := New(t)
	s.Next(Answer{Interim: []Interim{{103, []Field{{"Link", "</a>"}}}}})
	var hints []string
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		Got100Continue: func() { hints = append(hints, "100") },
		Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			if code == 103 {
				hints = append(hints, h.Get("Link"))
			}
			return nil
		},
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Expect", "100-continue")
	c := client(t)
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if want := []string{"100", "</a>"}; !slices.Equal(hints, want) || string(s.Last(t).Body) != "{}" {
		t.Errorf("got %q, want %q", hints, want)
	}
}

func TestHTTP2(t *testing.T) {
	s, c := NewHTTP2(t)
	resp, got, err := ask(t, c, s.URL+"/v1/chat/completions?x=1", streamed)
	if err != nil || resp.ProtoMajor != 2 || !bytes.Equal(got, Recording("chat_stream").Body()) {
		t.Fatalf("%v, %d bytes, %v", resp, len(got), err)
	}
	if r := s.Last(t); r.Target != "/v1/chat/completions?x=1" || string(r.Body) != streamed || r.Proto != "HTTP/2.0" {
		t.Errorf("kept %+v", r)
	}
	s.Next(CutAt(Recording("chat_stream"), 100), Answer{Framing: Chunked, Pieces: [][]byte{{'a'}}, Trailer: []Field{{"X-End", "z"}}})
	if _, _, err := ask(t, c, s.URL, "{}"); err == nil {
		t.Error("a stream that was cut ended well")
	}
	if resp, _, err := ask(t, c, s.URL, "{}"); err != nil || resp.Trailer.Get("X-End") != "z" {
		t.Errorf("trailer %v, %v", resp.Trailer, err)
	}
	s.Next(Hang())
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if resp, err := c.Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	r := s.Wait(t, 3)
	leave()
	<-r.Gone()
	<-done
}

func TestGarbageEndsTheConnection(t *testing.T) {
	s := New(t)
	for _, garbage := range []string{"hello\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
		"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"} {
		c := dial(t, s)
		io.WriteString(c, garbage)
		if got, _ := io.ReadAll(c); len(got) > 0 {
			t.Errorf("%q was answered: %q", garbage, got)
		}
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests kept", n)
	}
}

func TestAdded(t *testing.T) {
	long := strings.Repeat("the same words again and again, ", 4)
	for _, tt := range []struct {
		sent, got string
		spans     []string
		ok        bool
	}{
		{"", "", nil, true},
		{"abc", "abc", nil, true},
		{"abc", "abXc", []string{"X"}, true},
		{"abc", "abcX", []string{"X"}, true},
		{"abc", "ab", nil, false},
		{"abc", "acb", nil, false},
		{`[{"u":"q"}]`, `[{"u":"B"},{"u":"q"}]`, []string{`B"},{"u":"`}, true},
		{long + "1" + long + "2", long + "B1" + long + "C2", []string{"B", "C"}, true},
		{long + "1" + long + "2", long + "B" + long + "C2", nil, false},
	} {
		spans, ok := Added([]byte(tt.sent), []byte(tt.got))
		if ok != tt.ok || ok && !cmp.Equal(spans, tt.spans, cmpopts.EquateEmpty()) {
			t.Errorf("%.20q in %.20q: %q, %t", tt.sent, tt.got, spans, ok)
		}
	}
}
