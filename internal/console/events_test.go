package console_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
)

// listen opens a stream for a visitor, and returns its topics one by one.
func listen(t *testing.T, c *rig, topics string, who access.Principal) (said <-chan string, status int, kind string) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if who.Name != "" {
			r = r.WithContext(access.With(r.Context(), who))
		}
		c.con.ServeHTTP(w, r)
	}))
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+"/console/events?topics="+topics, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := srv.Client().Do(r) //nolint:bodyclose // the cleanup below closes it
	if err != nil {
		t.Fatal(err)
	}
	topic := make(chan string, 64)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(topic)
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			if name, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				topic <- name
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		_ = res.Body.Close()
		<-done
		srv.Close()
	})
	return topic, res.StatusCode, res.Header.Get("Content-Type")
}

// hears waits for a topic from a stream.
func hears(t *testing.T, said <-chan string, want string) {
	t.Helper()
	for end := time.After(30 * time.Second); ; {
		select {
		case got, ok := <-said:
			if !ok {
				t.Fatalf("the stream ended before it said %s", want)
			}
			if got == want {
				return
			}
		case <-end:
			t.Fatalf("it is never said that there are other %s", want)
		}
	}
}

func TestStreamTellsOfChanges(t *testing.T) {
	c := open(t, raced)
	said, status, kind := listen(t, c, "claims,turns,attention", reader)
	if status != http.StatusOK || kind != "text/event-stream" {
		t.Fatalf("%d %s", status, kind)
	}
	hears(t, said, "ready")
	c.learn(ken.DefaultOwner, "The stream says so.")
	hears(t, said, "claims")
	c.layer.Assemble(context.Background(), ken.Turn{Session: "live", Messages: []ken.Message{{Role: "user", Text: "how does the ledger retry?"}}})
	hears(t, said, "turns")
	c.learn(ken.DefaultOwner, "A candidate for review.", func(k *ken.Claim) { k.Kind, k.Status = ken.KindPattern, ken.StatusHypothesis })
	hears(t, said, "attention")
}

// Events of another owner are not sent.
func TestStreamTellsOfOneOwner(t *testing.T) {
	c := open(t, raced, bare)
	said, _, _ := listen(t, c, "claims", bob)
	hears(t, said, "ready")
	c.learn(ken.DefaultOwner, "Not for bob.")
	c.learn(bob.Owner, "For bob.")
	hears(t, said, "claims")
	select {
	case more := <-said:
		t.Errorf("after one change of bob's it also says %s", more)
	default:
	}
}

func TestStreamsAreForReaders(t *testing.T) {
	c := open(t, raced, bare)
	for _, who := range []access.Principal{nobody, {Name: "w", Owner: ken.DefaultOwner, Rights: []access.Right{access.Write}}} {
		if _, status, _ := listen(t, c, "claims", who); status != http.StatusForbidden {
			t.Errorf("%q gets %d", who.Name, status)
		}
	}
}

// A console that is closed ends its streams.
func TestStreamEndsWithTheConsole(t *testing.T) {
	c := open(t, raced, bare)
	said, _, _ := listen(t, c, "claims", operator)
	hears(t, said, "ready")
	if err := c.con.Close(); err != nil {
		t.Fatal(err)
	}
	for range said { // ends, or the test hangs
		continue
	}
}

// Changes between the page and its stream are sent at once.
func TestStreamTellsWhatWasMissed(t *testing.T) {
	c := open(t, raced, bare)
	_, p := get(t, c, "/console/claims")
	moment := attr(p.one("body"), "data-at")
	c.learn(ken.DefaultOwner, "In between.")
	said, _, _ := listen(t, c, "claims&at="+moment, operator)
	hears(t, said, "ready")
	hears(t, said, "claims")
	_, p = get(t, c, "/console/claims")
	said, _, _ = listen(t, c, "claims&at="+attr(p.one("body"), "data-at"), operator)
	hears(t, said, "ready")
	select {
	case topic := <-said:
		t.Errorf("nothing happened in between, and it says %s", topic)
	default:
	}
}
