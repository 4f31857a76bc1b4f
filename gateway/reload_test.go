package gateway_test

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
)

// Keys come and go while the gateway serves, and an answer that is under way for a key
// that has gone is not cut.
func TestReloadChangesWhoComesIn(t *testing.T) {
	up := upstreamtest.New(t)
	pace := make(chan struct{})
	slow := upstreamtest.Recording("chat_stream")
	slow.Pace = pace
	up.Next(slow)
	a, keyA := keyFor("a", "")
	b, keyB := keyFor("b", "")
	g := start(t, layer(t, nil), up.URL, withKeys(a))
	c := config.Default().Gateway
	resp, err := client(t).Do(request(t, http.MethodPost, g.URL+"/v1/chat/completions", chat(question), "X-Ken-Key", keyA))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for _, tt := range []struct {
		keys []config.GatewayKey
		want [3]int // with no key, with a's, with b's
	}{
		{[]config.GatewayKey{b}, [3]int{401, 401, 200}},
		{[]config.GatewayKey{a, b}, [3]int{401, 200, 200}},
		{nil, [3]int{200, 200, 200}},
		{[]config.GatewayKey{a}, [3]int{401, 200, 401}},
	} {
		c.Keys = tt.keys
		if _, err := g.Reload(c); err != nil {
			t.Fatal(err)
		}
		for i, key := range []string{"", keyA, keyB} {
			got := do(t, request(t, http.MethodGet, g.URL+"/v1/models", "", "X-Ken-Key", key))
			if got.StatusCode != tt.want[i] {
				t.Errorf("%d keys, request %d: %d, want %d", len(tt.keys), i, got.StatusCode, tt.want[i])
			}
		}
	}
	close(pace)
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != string(slow.Body()) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

// Of a configuration what can change does, the rest stays, and what is in force is told.
func TestReloadTellsWhatIsInForce(t *testing.T) {
	g := start(t, layer(t, nil), "")
	have := config.Default().Gateway
	have.Listen, have.Notice = "127.0.0.1:0", 0
	next := have
	next.Rate, next.Burst, next.InFlight, next.BodyBytes, next.Hosts = 0.001, 2, 7, 2048, []string{"a.example"}
	next.LookBytes = 5 << 20
	next.Stall, next.Drain, next.Notice = time.Minute, 2, 3
	want := next
	next.Listen, next.Console, next.Anthropic, next.Taint, next.Idle = "127.0.0.1:1", false, "http://x", config.TaintBlock, 1
	got, err := g.Reload(next)
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	for i, want := range []int{200, 200, 429} {
		if got := do(t, request(t, http.MethodGet, g.URL+"/v1/models", "")); got.StatusCode != want {
			t.Errorf("request %d: %d, want %d", i, got.StatusCode, want)
		}
	}
	next.Rate = 0
	if _, err := g.Reload(next); err != nil {
		t.Fatal(err)
	}
	if got := post(t, g.URL+"/v1/chat/completions", string(make([]byte, 2049))); got.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
}

// What can't be is refused whole.
func TestReloadOfWhatCantBe(t *testing.T) {
	k, _ := keyFor("k", "")
	g, err := gateway.New(layer(t, nil), gateway.Options{Log: quiet, Config: &config.Gateway{Keys: []config.GatewayKey{k}, InFlight: 9}})
	if err != nil {
		t.Fatal(err)
	}
	bad := k
	bad.Hash = "sha256:no"
	got, err := g.Reload(config.Gateway{Keys: []config.GatewayKey{bad}, InFlight: 1})
	if !errors.Is(err, ken.ErrInvalid) || got.InFlight != 9 || got.Keys[0].Hash != k.Hash {
		t.Errorf("%+v, %v", got, err)
	}
}

// Requests and reloads at once: each request is served on the one or the other.
func TestReloadsAmongRequests(t *testing.T) {
	a, keyA := keyFor("a", "")
	b, _ := keyFor("b", "")
	g := start(t, layer(t, nil), "", withKeys(a, b), configured(func(c *config.Gateway) { c.Rate, c.Burst = 1e6, 1e6 }))
	var wg sync.WaitGroup
	c := client(t)
	for range 4 {
		wg.Go(func() {
			for range 50 {
				resp, err := c.Do(request(t, http.MethodGet, g.URL+"/v1/models", "", "X-Ken-Key", keyA))
				if err != nil {
					t.Error(err)
					return
				}
				if resp.StatusCode != http.StatusOK {
					t.Errorf("%d", resp.StatusCode)
				}
				resp.Body.Close()
			}
		})
	}
	next := config.Default().Gateway
	for i := range 200 {
		next.Keys, next.Rate = []config.GatewayKey{b, a}[i%2:], float64(i%2)*1e6
		next.Burst = 1e6
		if _, err := g.Reload(next); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
}
