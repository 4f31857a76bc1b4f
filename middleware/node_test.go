package middleware_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
	"github.com/kenlayer/ken/middleware"
)

// A claim that team forgets on one node is deleted from the records of a reader, even if that
// node has never opened the reader's store.
func TestForgettingReachesReadersOfOtherNodes(t *testing.T) {
	url := logtest.StartNATS(t, 1).URL()
	engine := func(c *config.Config) { c.Store.URL = url }
	one, other := open(t, settings(sharing, engine)), open(t, settings(sharing, engine))
	s, release, err := one.Store(t.Context(), "team")
	must(t, err)
	id, err := s.WriteClaim(t.Context(), humanClaim(t, retryFact))
	must(t, err)
	release()
	turn := asked(question)
	turn.Owner, turn.Session, turn.ID = "ana", "s", "first"
	if a := other.Assemble(t.Context(), turn); len(a.Insertions) != 1 {
		t.Fatalf("insertions %+v, degraded %q", a.Insertions, a.Receipt.Degraded)
	}
	records := func() string {
		kept, err := other.Operator().Turn(t.Context(), "ana", "first")
		must(t, err)
		tr, err := other.Operator().Transcript(t.Context(), "ana", "s")
		must(t, err)
		return written(t, kept) + written(t, tr.Injected)
	}
	if !strings.Contains(records(), "three times") {
		t.Fatal("the test looks for something that is not there")
	}
	if _, err := one.Forget(t.Context(), "team", id, "", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	if text := records(); strings.Contains(text, "three times") {
		t.Errorf("ana's records still tell it: %s", text)
	}
}

// A process that starts while the engine is down starts at once, and writes nothing into a store of its
// own. It goes on by itself when the engine is back.
func TestStartWhileTheEngineIsDown(t *testing.T) {
	nats := logtest.StartNATS(t, 1)
	nats.Kill(0)
	engine := func(c *config.Config) { c.Store.URL = nats.URL() }
	began := time.Now()
	l := open(t, settings(engine), func(o *middleware.Options) { o.Strict, o.Foreground = false, false })
	if took := time.Since(began); took > 8*time.Second { // a store is waited for for 10 s
		t.Errorf("the start took %s", took)
	}
	if _, _, err := l.Store(t.Context(), ""); !errors.Is(err, ken.ErrUnavailable) {
		t.Errorf("%v, want an error of the engine", err)
	}
	if files, _ := filepath.Glob(filepath.Join(l.Root(), ".ken", "state", "*", "ken.db")); len(files) > 0 {
		t.Errorf("there is %s", files)
	}
	nats.Start(0)
	for end := time.Now().Add(time.Minute); ; {
		_, release, err := l.Store(t.Context(), "")
		if err == nil {
			release()
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	learn(t, l, humanClaim(t, retryFact))
	if a := l.Assemble(t.Context(), asked(question)); len(a.Insertions) != 1 {
		t.Errorf("insertions %+v, degraded %q", a.Insertions, a.Receipt.Degraded)
	}
	if got, err := l.Operator().Owners(t.Context()); len(got) != 1 || err != nil {
		t.Errorf("the engine has %q, %v", got, err)
	}
}

// Without the engine, a command gets no store of the folder alone, whether or not turns get knowledge.
func TestNoStoreWithoutTheEngine(t *testing.T) {
	for _, on := range []bool{true, false} {
		c := settings(func(c *config.Config) { c.Store.URL, c.Middleware.Knowledge = "nats://127.0.0.1:1", on })
		l := open(t, c, func(o *middleware.Options) { o.Strict = false })
		if _, _, err := l.Store(t.Context(), ""); !errors.Is(err, ken.ErrUnavailable) {
			t.Errorf("knowledge %t: store: %v", on, err)
		}
		if _, err := l.Operator().Owners(t.Context()); !errors.Is(err, ken.ErrUnavailable) {
			t.Errorf("knowledge %t: owners: %v", on, err)
		}
		if err := l.Operator().CopyStore(t.Context(), "", t.TempDir()); !errors.Is(err, ken.ErrUnavailable) {
			t.Errorf("knowledge %t: copy: %v", on, err)
		}
	}
}
