package edit_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var day = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// clock is a settable one.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

var (
	ada   = ken.Actor{Type: "user", ID: "ada"}
	robot = ken.Actor{Type: "agent", ID: "robot"}
)

// kit is a store, and an operator and an agent who edit it.
type kit struct {
	testing.TB
	ctx   context.Context
	s     store.Engine
	clock *clock
	*edit.Editor
	agent *edit.Editor
}

func newKit(t testing.TB, change ...func(*bolt.Options)) *kit {
	t.Helper()
	c := &clock{at: day}
	o := bolt.Options{NoSync: true, Now: c.now, Assign: func(s store.Structure, c *ken.Claim) { reading.Assign(c, s) }}
	for _, f := range change {
		f(&o)
	}
	s, err := bolt.Open(context.Background(), filepath.Join(t.TempDir(), "store"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	k := &kit{TB: t, ctx: context.Background(), s: s, clock: c}
	k.Editor = edit.New(s, k.operator())
	k.agent = edit.New(s, k.machine())
	return k
}

func (k *kit) operator() edit.Options {
	return edit.Options{Now: k.clock.now, Actor: ada, Evidence: []ken.Evidence{ken.FromHumanAssertion("ada", day, "")}}
}

func (k *kit) machine() edit.Options {
	return edit.Options{Now: k.clock.now, Actor: robot, Evidence: []ken.Evidence{ken.FromAgentAssertion("robot", "I looked")}}
}

// fact writes a claim about entities.
func (k *kit) fact(text string, entities ...string) string {
	k.Helper()
	c, err := ken.NewClaim(text, ken.FromHumanAssertion("ada", time.Time{}, ""))
	if err != nil {
		k.Fatal(err)
	}
	c.Entities = entities
	id, err := k.s.WriteClaim(k.ctx, c)
	if err != nil {
		k.Fatal(err)
	}
	return id
}

func (k *kit) get(id string) ken.Claim {
	k.Helper()
	c, err := k.s.Get(k.ctx, id)
	if err != nil {
		k.Fatal(err)
	}
	return c
}

// history is a claim's, as words.
func (k *kit) history(id string) string {
	k.Helper()
	events, err := k.s.History(k.ctx, id)
	if err != nil {
		k.Fatal(err)
	}
	var out []string
	for _, e := range events {
		s := strings.TrimPrefix(string(e.Type), "claim.")
		if e.Type == ken.EventTransitioned {
			s = fmt.Sprintf("%s because %s", e.To, e.Reason)
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

// view is what stands of an entity.
func (k *kit) view(name string) entity.View {
	k.Helper()
	v, err := entity.Show(k.ctx, k.s, name, &ken.Filter{Unscoped: true}, func(o *entity.Options) { o.Now = k.clock.now })
	if err != nil {
		k.Fatalf("show %s: %v", name, err)
	}
	return v
}

// rules are the texts of the constraints that hold for an entity, sorted.
func (k *kit) rules(name string) []string {
	k.Helper()
	var out []string
	for _, c := range k.view(name).Constraints {
		out = append(out, c.Text)
	}
	slices.Sort(out)
	return out
}

func (k *kit) wantRules(name string, want ...string) {
	k.Helper()
	slices.Sort(want)
	if got := k.rules(name); !slices.Equal(got, want) {
		k.Errorf("rules of %s are %q, want %q", name, got, want)
	}
}

// must is for what has to work.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatalf("%v (%s)", err, ken.Hint(err))
		}
		return v
	}
}

// wantError checks an error's code and words that it says.
func wantError(t testing.TB, err error, code ken.Code, words ...string) {
	t.Helper()
	var e *ken.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("got %v, want %s", err, code)
		return
	}
	told := err.Error() + " " + ken.Hint(err)
	for _, w := range words {
		if !strings.Contains(told, w) {
			t.Errorf("%q does not say %q", told, w)
		}
	}
}
