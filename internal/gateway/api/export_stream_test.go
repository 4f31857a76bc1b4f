package api_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/gateway/api"
	"github.com/kenlayer/ken/internal/store/jsonl"
)

// Pain: no export. What is written can be read back, history included.
func TestExportCanBeReadBack(t *testing.T) {
	k := newKit(t)
	c := k.learn("The port is 8080.")
	k.learn("Deploys are frozen.", func(r *api.LearnRequest) { r.Kind = ken.KindHot })
	post[view](k, "/api/claims/"+c.ID+"/verify", api.VerifyRequest{})
	a := k.ask(http.MethodGet, "/api/export", nil).want(http.StatusOK)
	if a.header.Get("Content-Type") != "application/x-ndjson" || !strings.Contains(a.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("headers %v", a.header)
	}
	n := 0
	for l := range jsonl.Read(bytes.NewReader(a.body), "export") {
		if l.Err != nil {
			t.Fatal(l.Err)
		}
		if n++; l.Claim.ID == c.ID && (len(l.History) != 2 || l.Claim.Status != ken.StatusVerified) {
			t.Errorf("line %+v", l)
		}
	}
	if n != 2 {
		t.Errorf("%d lines", n)
	}
	if b := k.ask(http.MethodGet, "/api/export?kind=hot&status=observed", nil).body; bytes.Count(b, []byte("\n")) != 1 || !bytes.Contains(b, []byte("frozen")) {
		t.Errorf("narrowed: %s", b)
	}
	k.ask(http.MethodGet, "/api/export", nil, "Accept", "application/json").problem(http.StatusNotAcceptable, "not_acceptable", "ndjson")
}

// An export of nothing is an answer as well, and the server has no fault to find with it.
func TestExportOfNothing(t *testing.T) {
	k := newKit(t)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k.api.ServeHTTP(w, r.WithContext(access.With(r.Context(), k.who)))
	}))
	var faults bytes.Buffer
	srv.Config.ErrorLog = slog.NewLogLogger(slog.NewTextHandler(&faults, nil), slog.LevelError)
	srv.Start()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/api/export", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode != http.StatusOK || len(body) > 0 {
		t.Errorf("%d, %q, %v", resp.StatusCode, body, err)
	}
	if srv.Close(); faults.Len() > 0 { // it waits for the handler
		t.Errorf("the server says %s", faults.String())
	}
}

// An export comes as it is read, and ends when its reader goes.
func TestExportIsAStream(t *testing.T) {
	k := newKit(t)
	importClaims(k, 3000)
	handled := make(chan any, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { handled <- recover() }()
		k.api.ServeHTTP(w, r.WithContext(access.With(r.Context(), k.who)))
	}))
	defer srv.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+"/api/export", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.ContentLength >= 0 {
		t.Errorf("it was made whole before it was sent: %d bytes", resp.ContentLength)
	}
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || !strings.Contains(line, "claim number") {
		t.Fatalf("%q, %v", line, err)
	}
	cancel()
	if got := <-handled; got != nil && got != http.ErrAbortHandler {
		t.Errorf("the handler ended with %v", got)
	}
}

// failing is a connection that breaks after some bytes.
type failing struct {
	*httptest.ResponseRecorder
	left int
}

var errBroken = errors.New("broken pipe")

func (f *failing) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errBroken
	}
	return f.ResponseRecorder.Write(b)
}

// An answer that can't be sent whole does not look whole: the connection is broken off.
func TestExportThatIsCutShortLooksSo(t *testing.T) {
	k := newKit(t)
	importClaims(k, 100)
	r := httptest.NewRequestWithContext(access.With(t.Context(), k.who), http.MethodGet, "/api/export", nil)
	var got any
	func() {
		defer func() { got = recover() }()
		k.api.ServeHTTP(&failing{httptest.NewRecorder(), 2000}, r)
	}()
	if got != http.ErrAbortHandler {
		t.Errorf("the handler ended with %v", got)
	}
	if !strings.Contains(k.log.String(), "cut short") {
		t.Errorf("log %s", k.log)
	}
}

// What goes wrong before anything was sent is a problem like any other.
func TestExportThatCannotBegin(t *testing.T) {
	k := newKit(t)
	ctx, cancel := context.WithCancel(access.With(t.Context(), k.who))
	k.learn("one")
	cancel()
	w := httptest.NewRecorder()
	k.api.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/export", nil))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Content-Type") != "application/problem+json" {
		b, _ := io.ReadAll(w.Body)
		t.Errorf("status %d: %s", w.Code, b)
	}
	if slices.Contains(strings.Split(k.log.String(), "\n"), "cut short") {
		t.Errorf("log %s", k.log)
	}
}
