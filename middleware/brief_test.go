package middleware_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/hook"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
)

// A conversation continues over processes that each handle one event of it. None of them
// ends it, no other process treats it as abandoned, and the user's statements are known at
// once.
func TestBriefLayersShareAConversation(t *testing.T) {
	root := t.TempDir()
	var ahead atomic.Int64 // nanoseconds; a layer reads the time in the background too
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	brief := func(question string) middleware.Assembly {
		l, err := middleware.Open(t.Context(), middleware.Options{Root: root, Config: settings(), Strict: true, Brief: true, Now: now})
		must(t, err)
		turn := asked(question)
		turn.Session = "s-1"
		a := l.Assemble(t.Context(), turn)
		must(t, l.Close())
		return a
	}
	brief("We decided to use PostgreSQL 15 for the ledger service, because of logical replication.")
	state := func(l *middleware.Layer) session.Info {
		_, err := l.Harvest(t.Context(), "")
		must(t, err)
		info, err := l.Operator().Journal("").Info(t.Context(), "s-1")
		must(t, err)
		return info
	}
	other := open(t, settings(), in(root), func(o *middleware.Options) { o.Now = now })
	if info := state(other); info.State != session.Open || info.Messages != 1 {
		t.Errorf("after the first process: %+v", info)
	}
	turn := asked("Which database did we choose for the ledger service?")
	turn.Session = "s-2"
	if a := other.Assemble(t.Context(), turn); len(a.Receipt.Items) == 0 {
		t.Errorf("what was stated is not known: %+v", a.Receipt)
	}
	brief("And the port is 7443.")
	ahead.Store(int64(3 * time.Hour))
	if info := state(other); info.State == session.Open || info.Reason != session.Idle {
		t.Errorf("when nothing was said for long: %+v", info)
	}
}

// The layer of the process that holds the store answers an event. Without such a process
// there is no answer.
func TestSendEvent(t *testing.T) {
	root, cfg := t.TempDir(), settings()
	send := func(c context.Context) (string, bool) {
		out, taken, err := hook.Send(c, root, *cfg, "", []byte("hello"))
		must(t, err)
		return string(out), taken
	}
	if out, taken := send(t.Context()); taken {
		t.Errorf("nobody answered %q", out)
	}
	l := open(t, cfg, in(root), func(o *middleware.Options) {
		o.OnEvent = func(_ context.Context, l *middleware.Layer, owner string, body []byte) ([]byte, error) {
			return []byte(owner + " " + l.Config().Knowledge.Owner + " " + string(body)), nil
		}
	})
	if out, taken := send(t.Context()); !taken || out != ken.DefaultOwner+" "+ken.DefaultOwner+" hello" {
		t.Errorf("%q, %v", out, taken)
	}
	must(t, l.Close())
	if out, taken := send(t.Context()); taken {
		t.Errorf("the closed layer answered %q", out)
	}
}
