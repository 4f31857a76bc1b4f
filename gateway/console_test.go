package gateway_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
)

// A browser has no key in a header: the console is asked all the same, and finds nobody.
// With a key that nobody has it is not asked.
func TestConsoleAsksByItself(t *testing.T) {
	up := upstreamtest.New(t)
	known, key := keyFor("ana", "ana", "read")
	var seen []access.Principal
	g := start(t, layer(t, nil), up.URL, withKeys(known), func(o *gateway.Options) {
		o.Operator().Console = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = append(seen, access.From(r.Context())) })
	})
	for _, tt := range []struct {
		path, key string
		want      int
		owner     string
	}{
		{"/console/", "", 200, ""},
		{"/console", "", 200, ""},
		{"/console/claims", key, 200, "ana"},
		{"/console/claims", "ken_unknown", 401, "-"},
		{"/consoles", key, 403, "-"}, // the upstream's, and the key may not chat
	} {
		header := []string{"X-Ken-Key", tt.key}
		if tt.key == "" {
			header = nil
		}
		before := len(seen)
		got := post(t, g.URL+tt.path, "", header...)
		owner := "-"
		if len(seen) > before {
			owner = seen[before].Owner
		}
		if got.StatusCode != tt.want || owner != tt.owner {
			t.Errorf("%s with key %q: %d as %q, want %d as %q", tt.path, tt.key, got.StatusCode, owner, tt.want, tt.owner)
		}
	}
	if n := len(up.Requests()); n > 0 {
		t.Errorf("%d requests went on", n)
	}
}

// Without keys it is for whoever is here, by a name of this machine.
func TestConsoleWithoutKeys(t *testing.T) {
	asked := 0
	g := start(t, layer(t, nil), "", func(o *gateway.Options) {
		o.Operator().Console = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if asked++; access.From(r.Context()).Can(access.Operate) {
				asked += 10
			}
		})
	})
	if got := post(t, g.URL+"/console/", ""); got.StatusCode != http.StatusOK || asked != 11 {
		t.Errorf("%d, %d", got.StatusCode, asked)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.URL+"/console/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "rebound.example"
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusMisdirectedRequest || asked != 11 {
		t.Errorf("by another name: %d, %d", res.StatusCode, asked)
	}
	http.DefaultClient.CloseIdleConnections()
}

// A page that follows changes does not hold up the end.
func TestConsoleStreamsEndWithTheGateway(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	g := start(t, layer(t, nil), "", func(o *gateway.Options) {
		o.Operator().Console = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			close(begun)
			<-r.Context().Done()
			close(ended)
		})
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, g.URL+"/console/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	<-begun
	g.stop()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("the stream goes on")
	}
	_, _ = io.Copy(io.Discard, res.Body) // it ends, however it does
	http.DefaultClient.CloseIdleConnections()
}
