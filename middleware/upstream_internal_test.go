package middleware

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"unsafe"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// answers is an answer that says something.
func answers(text string) func() wire.Observed {
	return func() wire.Observed {
		return wire.Observed{OK: true, Answer: wire.Answer{Message: ken.Message{Role: "assistant", Text: text}}}
	}
}

// thread puts one that goes on from another, and settles it.
func (ts *threads) add(parent *thread, owner, id, said string, keys ...string) *thread {
	t := &thread{parent: parent, owner: owner, keys: keys, messages: []ken.Message{{Role: "user", Text: "q"}}}
	ts.put(t, id, answers(said))
	ts.resolve(t)
	return t
}

func TestThreadsAreBounded(t *testing.T) {
	ts := &threads{}
	var last *thread
	for i := range maxThreads + 100 { // one conversation
		last = ts.add(last, "o", fmt.Sprint(i), "a")
	}
	if ts.names.Len() != maxThreads {
		t.Errorf("%d names", ts.names.Len())
	}
	if ts.find(responseKey("o", "0")) != nil || ts.find(responseKey("o", fmt.Sprint(maxThreads+99))) != last {
		t.Error("not the oldest names were forgotten")
	}
	if msgs, _ := last.conversation(); len(msgs) != 2*(maxThreads+100) {
		t.Errorf("the newest knows %d messages", len(msgs)) // the thread of a name is complete
	}
	big := strings.Repeat("x", maxThreadBytes/8)
	for i := range 32 {
		ts.add(nil, "o", fmt.Sprint("big", i), big)
	}
	if ts.bytes > maxThreadBytes || ts.bytes < maxThreadBytes/2 || ts.names.Len() > 8 {
		t.Errorf("%d bytes by %d names", ts.bytes, ts.names.Len())
	}
	ts.add(nil, "o", "whale", strings.Repeat("x", 2*maxThreadBytes))
	if ts.bytes != 0 || ts.names.Len() != 0 {
		t.Errorf("after one that is too big by itself: %d bytes by %d names", ts.bytes, ts.names.Len())
	}
}

// A thread without names is dropped, whatever the order in which its names were removed.
func TestThreadsAreGivenUp(t *testing.T) {
	ts := &threads{}
	a := ts.add(nil, "o", "a", "x", "conv")
	b := ts.add(a, "o", "b", "x", "conv")
	c := ts.add(a, "o", "c", "x")
	if ts.find("conv") != b || ts.bytes != a.size+b.size+c.size || a.refs != 3 {
		t.Fatalf("%d bytes, %d refs", ts.bytes, a.refs)
	}
	for _, key := range []string{responseKey("o", "a"), responseKey("o", "b"), responseKey("o", "c")} {
		ts.remove(key)
	}
	if c.size != 0 || a.size == 0 || b.size == 0 || ts.bytes != a.size+b.size {
		t.Errorf("%d bytes", ts.bytes)
	}
	ts.remove("conv")
	if ts.bytes != 0 {
		t.Errorf("%d bytes for nobody", ts.bytes)
	}
	ts.put(&thread{owner: "o"}, "", answers("x")) // without a name
	ts.put(&thread{owner: "o"}, strings.Repeat("x", maxIDBytes+1), answers("x"))
	if ts.names.Len() != 0 {
		t.Errorf("%d names", ts.names.Len())
	}
}

// A thread's messages are its own: the guard may still read the turn's while the answer
// is settled.
func TestThreadsLeaveTheTurnAlone(t *testing.T) {
	body := []byte("the words of a request")
	turn := []ken.Message{{Role: "user", Text: unsafe.String(&body[0], len(body))}}
	th := &thread{owner: "o", messages: turn[:1:1], read: answers("x")}
	if !th.resolved() || len(th.messages) != 2 {
		t.Fatalf("%+v", th.messages)
	}
	if &th.messages[0] == &turn[0] || unsafe.StringData(turn[0].Text) != &body[0] || unsafe.StringData(th.messages[0].Text) == &body[0] {
		t.Error("the turn's messages were changed, or the thread holds the request's body")
	}
}

// One that failed is forgotten, before and after it is settled.
func TestThreadsThatFailed(t *testing.T) {
	ts := &threads{}
	a := ts.add(nil, "o", "a", "x", "conv")
	for _, answer := range []wire.Answer{{Finish: "failed"}, {Finish: "cancelled"}, {Err: "no"}} {
		f := &thread{parent: a, owner: "o", keys: []string{"conv"}}
		ts.put(f, "f", func() wire.Observed { return wire.Observed{Answer: answer, OK: true} })
		for _, when := range []string{"before", "after"} {
			if ts.find(responseKey("o", "f")) != nil || ts.find("conv") != a {
				t.Errorf("%+v: found %s it was settled", answer, when)
			}
			ts.resolve(f)
		}
		if ts.names.Len() != 2 || ts.bytes != a.size || a.refs != 2 {
			t.Errorf("%d names, %d bytes, %d refs", ts.names.Len(), ts.bytes, a.refs)
		}
	}
	// A first one that failed leaves a conversation that is not known.
	f := &thread{owner: "o", keys: []string{"other"}}
	ts.put(f, "", func() wire.Observed { return wire.Observed{Answer: wire.Answer{Finish: "failed"}} })
	if ts.resolve(f); ts.find("other") != nil {
		t.Error("a conversation that never was")
	}
}

// A server may close what a client still reads; the body is handed on once.
func TestATapHandsOnOnce(t *testing.T) {
	n := 0
	tp := &bodyTee{body: io.NopCloser(strings.NewReader("abc")), onDone: func(b []byte) {
		if n++; string(b) != "ab" {
			t.Errorf("handed on %q", b)
		}
	}}
	if _, err := io.ReadFull(tp, make([]byte, 2)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := tp.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := io.ReadAll(tp); err != nil || string(b) != "c" || n != 1 {
		t.Errorf("read %q, %v; handed on %d times", b, err, n)
	}
}

// A string and one part of text are the same said: clients make one of the other to
// mark it for the provider's cache, and back.
func TestAMarkMovesNoBlock(t *testing.T) {
	at := func(m ken.Message) fingerprint { return fingerprintsOf(&ken.Turn{Messages: []ken.Message{m}}).full[0] }
	plain := ken.Message{Role: "user", Text: "q"}
	part := ken.Message{Role: "user", Text: "q", Parts: []ken.Part{{Type: "text", Text: "q"}}}
	two := ken.Message{Role: "user", Text: "q", Parts: []ken.Part{{Type: "text", Text: "q"}, {Type: "image", Ref: "x"}}}
	if at(plain) != at(part) || at(part) == at(two) || at(plain) == at(ken.Message{Role: "user"}) {
		t.Error("what was said the same way is told apart, or the other way round")
	}
}
