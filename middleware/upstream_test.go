package middleware_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/middleware"
)

// receipts opens a layer that keeps what its receipts say.
func receipts(t *testing.T) (*middleware.Layer, func() ken.Receipt) {
	var last ken.Receipt
	l := open(t, settings(), func(o *middleware.Options) { o.OnReceipt = func(_ context.Context, r ken.Receipt) { last = r } })
	learn(t, l, fact(t, "%s", retryFact), fact(t, "Quokka listens on port 7001."))
	return l, func() ken.Receipt { return last }
}

const (
	port    = "Which port does quokka listen on?"
	goesOn  = `"previous_response_id":"id_%d",`
	inside  = `"conversation":"conv_1",`
	results = `{"type":"function_call_output","call_id":"c1","output":"retry.go:1"}`
)

// The provider stores the past of the conversation. Each request has only the new
// messages, and the layer still knows all of them. What was injected before is not
// sent again, nor found anew.
func TestAConversationThatGoesOnFromAResponse(t *testing.T) {
	for _, stream := range []bool{false, true} {
		for _, by := range []string{goesOn, inside} {
			t.Run(fmt.Sprintf("stream=%v,%s", stream, by[:5]), func(t *testing.T) {
				l, receipt := receipts(t)
				d := testDialects[1]
				m := serveModel(t, d, stream, "I look it up.", "Three times.", "Port 7001.", "Three, as I said.")
				c := dial(t, l, m, ken.Turn{Session: "s1"})
				link := func(n int) string {
					if by == goesOn && n == 0 {
						return ""
					}
					return strings.Replace(by, "%d", fmt.Sprint(n), 1)
				}
				post := func(n, blocks int, items ...string) {
					t.Helper()
					body := d.body(`"instructions":"Be brief.",`+link(n), items...)
					added(t, body, c.post(body), blocks)
				}
				post(0, 1, d.user(question))
				first := receipt()
				// The tool's result belongs to the same turn, whose block is upstream.
				post(1, 0, results)
				if r := receipt(); !r.Reused || r.Block != first.Block || len(r.Degraded) > 0 || r.CachedBytes < first.NewBytes {
					t.Errorf("the tool's turn: %+v", r)
				}
				post(2, 1, d.user(port))
				// What the context holds already is not brought again.
				post(3, 0, d.user(question))
				if r := receipt(); r.Block != "" || r.Reused {
					t.Errorf("brought again: %+v", r)
				}
				wantSaid(t, l, "s1", "user: "+question, "assistant: I look it up.", "tool: retry.go:1", "assistant: Three times.", "user: "+port,
					"assistant: Port 7001.", "user: "+question, "assistant: Three, as I said.")
			})
		}
	}
}

// A request that is sent again, and one that goes another way from the same
// response, go on from there.
func TestOneResponseMayBeGoneOnFromTwice(t *testing.T) {
	l, receipt := receipts(t)
	d := testDialects[1]
	m := serveModel(t, d, false, "Hello.", "Three times.")
	c := dial(t, l, m, ken.Turn{Session: "s1"})
	c.post(d.body("", d.user("Hello")))
	body := d.body(`"previous_response_id":"id_1",`, d.user(question))
	first := c.post(body)
	if again := c.post(body); again != first || !receipt().Reused {
		t.Errorf("sent again: %s, then %s", first, again)
	}
	other := d.body(`"previous_response_id":"id_1",`, d.user(port))
	added(t, other, c.post(other), 1)
}

// A response that is not known, was not stored, failed, or is another owner's is
// none to go on from; the receipt says so.
func TestWhatCannotBeGoneOnFrom(t *testing.T) {
	d := testDialects[1]
	next := func(t *testing.T, l *middleware.Layer, m *model, turn ken.Turn, id string, receipt func() ken.Receipt) {
		t.Helper()
		body := d.body(`"previous_response_id":"`+id+`",`, d.user(question))
		added(t, body, dial(t, l, m, turn).post(body), 1)
		if r := receipt(); len(r.Degraded) != 1 || !strings.HasPrefix(r.Degraded[0], "conversation: ") {
			t.Errorf("receipt: %+v", r.Degraded)
		}
	}
	for name, fields := range map[string]string{"never seen": "", "not stored": `"store":false,`} {
		t.Run(name, func(t *testing.T) {
			l, receipt := receipts(t)
			m := serveModel(t, d, true, "Three times.")
			id := "id_1"
			if fields == "" {
				id = "id_of_before_the_restart"
			}
			dial(t, l, m, ken.Turn{}).post(d.body(fields, d.user(question)))
			next(t, l, m, ken.Turn{}, id, receipt)
		})
	}
	t.Run("another owner's", func(t *testing.T) {
		l, receipt := receipts(t)
		m := serveModel(t, d, false, "Three times.")
		dial(t, l, m, ken.Turn{Owner: "ada"}).post(d.body("", d.user("My name is Ada.")))
		next(t, l, m, ken.Turn{}, "id_1", receipt)
		if r := receipt(); strings.Contains(fmt.Sprintf("%+v", r), "Ada") {
			t.Errorf("receipt: %+v", r)
		}
	})
	t.Run("failed", func(t *testing.T) {
		l, receipt := receipts(t)
		x := begin(t, l, d, d.body("", d.user(question)), ken.Turn{})
		resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, ContentLength: -1, Body: io.NopCloser(strings.NewReader(
			"event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"id\":\"id_7\",\"status\":\"failed\",\"error\":{\"message\":\"no\"}}}\n\n"))}
		x.Listen(resp, nil)
		io.Copy(io.Discard, resp.Body)
		next(t, l, serveModel(t, d, false, "x"), ken.Turn{}, "id_7", receipt)
	})
}

// After a failed response, a conversation is in its earlier state.
func TestAConversationOutlivesAFailure(t *testing.T) {
	l, receipt := receipts(t)
	d := testDialects[1]
	m := serveModel(t, d, false, "Three times.")
	c := dial(t, l, m, ken.Turn{Session: "s"})
	c.post(d.body(inside, d.user(question)))
	x := begin(t, l, d, d.body(inside, d.user(port)), ken.Turn{Session: "s"})
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, ContentLength: -1, Body: io.NopCloser(strings.NewReader(`{"id":"id_9","status":"failed","error":{"message":"no"},"output":[]}`))}
	x.Listen(resp, nil)
	io.Copy(io.Discard, resp.Body)
	added(t, d.body(inside, d.user(question)), c.post(d.body(inside, d.user(question))), 0)
	if r := receipt(); r.Block != "" {
		t.Errorf("what is known was brought again: %+v", r)
	}
}

// A session that a request does not name follows from the response that it goes on
// from, and is no other owner's.
func TestASessionFollowsFromTheResponse(t *testing.T) {
	l, _ := receipts(t)
	d := testDialects[1]
	m := serveModel(t, d, false, "Three times.")
	turn := func(owner, body string) ken.Turn {
		x, err := l.Operator().Begin(t.Context(), d.Dialect, []byte(body), func(r *wire.Request) ken.Turn {
			return ken.Turn{Owner: owner, Session: wire.SessionOf(owner, "", r)}
		})
		if err != nil {
			t.Fatal(err)
		}
		resp := send(t, m, x)
		x.Listen(resp, nil)
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return x.Turn
	}
	first := turn("o", d.body("", d.user(question)))
	second := turn("o", d.body(`"previous_response_id":"id_1",`, d.user(port)))
	third := turn("o", d.body(`"previous_response_id":"id_2","user":"ada",`, d.user("Why?")))
	if first.Session == "" || second.Session != first.Session || third.Session != first.Session {
		t.Errorf("sessions %q, %q, %q", first.Session, second.Session, third.Session)
	}
	if len(third.Messages) != 5 {
		t.Errorf("the third turn knows %+v", third.Messages)
	}
	if other := turn("p", d.body(`"previous_response_id":"id_2",`, d.user("Why?"))); other.Session == first.Session || len(other.Messages) != 1 {
		t.Errorf("another owner's turn: %+v", other)
	}
}

// A conversation can continue from an answer as soon as the client has all of
// it, before the response is over.
func TestGoingOnBeforeTheResponseIsOver(t *testing.T) {
	for name, body := range map[string]string{"stream": testDialects[1].stream("id_1", "Hello."), "whole": testDialects[1].whole("id_1", "Hello.") + "\n"} {
		t.Run(name, func(t *testing.T) {
			l, receipt := receipts(t)
			d := testDialects[1]
			x := begin(t, l, d, d.body("", d.user("Hello")), ken.Turn{Session: "s"})
			in, out := io.Pipe()
			resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, ContentLength: -1, Body: in}
			x.Listen(resp, nil)
			go io.WriteString(out, body)
			if _, err := io.ReadFull(resp.Body, make([]byte, len(body))); err != nil {
				t.Fatal(err)
			}
			next := begin(t, l, d, d.body(`"previous_response_id":"id_1",`, d.user(question)), ken.Turn{Session: "s"})
			if len(next.Turn.Messages) != 3 || next.Turn.Messages[1].Text != "Hello." || len(receipt().Degraded) > 0 {
				t.Errorf("the turn knows %+v; %v", next.Turn.Messages, receipt().Degraded)
			}
			out.Close()
			resp.Body.Close()
		})
	}
}

// The memory of turns keeps no request alive.
func TestRequestsAreNotKeptForTheirTurns(t *testing.T) {
	l, _ := receipts(t)
	d := testDialects[1]
	held := func() uint64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	pad := strings.Repeat("x", 1<<20)
	before := held()
	var heard sync.WaitGroup
	requests := race.Pick(100, 60) // more megabytes than may be held
	for i := range requests {
		body := d.body(fmt.Sprintf(`"model":"m%d","prompt_cache_key":"c%d","pad":"%s",`, i, i, pad), d.user(question))
		x := begin(t, l, d, body, ken.Turn{Session: fmt.Sprint(i)})
		resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(d.whole(fmt.Sprint("r", i), "Three times.")))}
		heard.Add(1)
		x.Listen(resp, func(wire.Observed) { heard.Done() })
		io.Copy(io.Discard, resp.Body)
	}
	heard.Wait()
	if err := l.End(t.Context(), "", "no such session"); err != nil { // waits for the journal
		t.Fatal(err)
	}
	if after := held(); after > before+50<<20 {
		t.Errorf("%d MB are held after %d requests of 1 MB", (after-before)>>20, requests)
	}
}

// Clients that go on from the same responses at once, each in its own way.
func TestManyGoOnAtOnce(t *testing.T) {
	l := open(t, settings())
	learn(t, l, fact(t, "%s", retryFact))
	d := testDialects[1]
	answer := func(x *middleware.Exchange, id, text string) {
		resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, ContentLength: -1, Body: io.NopCloser(strings.NewReader(d.stream(id, text)))}
		x.Listen(resp, nil)
		io.Copy(io.Discard, resp.Body)
	}
	turn := ken.Turn{Session: "s"}
	answer(begin(t, l, d, d.body("", d.user("Hello")), turn), "r0", "Hi.")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			before := "r0"
			for n := range 8 {
				x := begin(t, l, d, d.body(`"conversation":"conv_1","previous_response_id":"`+before+`",`, d.user(fmt.Sprintf("Question %d of %d", n, i))), turn)
				msgs := x.Turn.Messages
				if len(msgs) != 2*n+3 || n > 0 && msgs[len(msgs)-2].Text != fmt.Sprintf("Answer %d to %d", n-1, i) {
					t.Errorf("turn %d of %d knows %+v", n, i, msgs)
					return
				}
				before = fmt.Sprintf("r%d-%d", i, n)
				answer(x, before, fmt.Sprintf("Answer %d to %d", n, i))
			}
		})
	}
	all.Wait()
}
