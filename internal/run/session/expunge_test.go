package session_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
)

// holding are the traces of a word.
func holding(word string, claims ...string) session.Traces {
	in := func(s string) bool { return strings.Contains(s, word) }
	return session.Traces{Message: func(_ string, e *session.Entry) bool { return in(e.Message.Text) }, Text: in, Claims: claims}
}

// Of a session that goes on or waits for its harvest, what holds it goes alone; a
// client that sends it again changes nothing, even after a restart and a sweep.
func TestExpungeCutsAnOpenSession(t *testing.T) {
	for _, ended := range []bool{false, true} {
		b := newBench(t, session.Options{})
		all := []ken.Message{user("hello there"), assistant("the number is 4711"), user("and the weather?"), calls("c1", "look", `{}`), tool("c1", "sunny 4711"), assistant("sunny")}
		b.append(t, "s", all...)
		if err := b.Injected(t.Context(), "s", []ken.Item{{ID: "k1", Text: "about 4711"}, {ID: "k2", Text: "said otherwise"}, {ID: "k3", Text: "harmless"}}); err != nil {
			t.Fatal(err)
		}
		b.step(t, "s", "who has 4711?")
		if ended {
			b.end(t, "s", session.Closed)
		}
		n, err := b.Expunge(t.Context(), holding("4711", "k2"))
		if n.Messages != 2 || !slices.Equal(n.Sessions, []string{"s"}) || err != nil {
			t.Fatalf("%+v, %v", n, err)
		}
		if got := b.bytes(t); strings.Contains(got, "4711") || strings.Contains(got, "otherwise") || !strings.Contains(got, "harmless") {
			t.Errorf("on the shelf:\n%s", got)
		}
		if info := b.info(t, "s"); info.Messages != 4 || info.Last != 6 || (info.State == session.Ended) != ended {
			t.Errorf("%+v", info)
		}
		if _, ok, err := b.Checkpoint(t.Context(), "s"); ok || err != nil {
			t.Errorf("the checkpoint is there: %v, %v", ok, err)
		}
		b.restart(session.Options{})
		if fresh := b.append(t, "s", append(all, user("thanks"))...); len(fresh) != 1 || fresh[0].Message.Text != "thanks" {
			t.Errorf("kept again: %q", texts(fresh))
		}
		b.end(t, "s", session.Closed)
		if err := b.Harvested(t.Context(), "s", 7, session.Outcome{}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Sweep(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		b.restart(session.Options{})
		if fresh := b.append(t, "s", append(all, user("thanks"), user("more"))...); len(fresh) != 1 {
			t.Errorf("kept again after the sweep: %q", texts(fresh))
		}
		if n, err := b.Expunge(t.Context(), holding("4711", "k2")); n.Messages != 0 || err != nil {
			t.Errorf("a second time: %v, %v", n, err)
		}
	}
}

// Of a session that was harvested all messages go, and of one that holds nothing
// none.
func TestExpungeSweepsAHarvestedSession(t *testing.T) {
	b := newBench(t, session.Options{})
	for id, text := range map[string]string{"s": "the number is 4711", "other": "nothing"} {
		b.append(t, id, user("hello"), assistant(text))
		b.end(t, id, session.Closed)
		if err := b.Harvested(t.Context(), id, 2, session.Outcome{Episode: "e"}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := b.Expunge(t.Context(), holding("4711")); n.Messages != 2 || err != nil {
		t.Errorf("%v, %v", n, err)
	}
	if info := b.info(t, "s"); info.Messages != 0 || info.Outcome == nil || info.State != session.Harvested {
		t.Errorf("%+v", info)
	}
	if info := b.info(t, "other"); info.Messages != 2 {
		t.Errorf("%+v", info)
	}
}

// When all that was said is gone, there is nothing to harvest.
func TestExpungeOfEverything(t *testing.T) {
	b := newBench(t, session.Options{})
	b.append(t, "s", user("4711"), assistant("4711"))
	if n, err := b.Expunge(t.Context(), holding("4711")); n.Messages != 2 || err != nil {
		t.Fatalf("%v, %v", n, err)
	}
	b.end(t, "s", session.Closed)
	if info := b.info(t, "s"); info.State != session.Harvested || info.Outcome.Note == "" {
		t.Errorf("%+v", info)
	}
}
