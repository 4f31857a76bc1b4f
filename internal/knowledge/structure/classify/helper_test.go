package classify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/classify"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var monday = time.Date(2026, 5, 18, 9, 0, 0, 0, time.UTC)

// input is the request that a model is shown.
type input struct {
	Things []thing
	Facts  []question
}

type thing struct {
	Name, Type                string
	Aspects, Suggested, Known []string
}

type question struct {
	I           int
	About, Text string
}

func (in *input) thing(name string) thing {
	for _, t := range in.Things {
		if t.Name == name {
			return t
		}
	}
	return thing{}
}

// scripted is a model that answers by script and remembers what it was asked.
type scripted struct {
	mu       sync.Mutex // guards the rest
	requests []classify.Request
	answer   func(in input) (string, error)
}

func (m *scripted) ask(ctx context.Context, r classify.Request) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	var in input
	if err := json.Unmarshal([]byte(strings.TrimSuffix(r.User, "\n/no_think")), &in); err != nil {
		return "", err
	}
	m.mu.Lock()
	m.requests = append(m.requests, r)
	answer := m.answer
	m.mu.Unlock()
	return answer(in)
}

func (m *scripted) then(answer func(in input) (string, error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answer = answer
}

func (m *scripted) asked() (out []input) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.requests {
		var in input
		_ = json.Unmarshal([]byte(strings.TrimSuffix(r.User, "\n/no_think")), &in)
		out = append(out, in)
	}
	return out
}

// says answers with a row for each fact, by what row returns for its text; "" leaves
// it out.
func says(row func(text string) string) func(input) (string, error) {
	return func(in input) (string, error) {
		var rows []string
		for _, f := range in.Facts {
			if r := row(f.Text); r != "" {
				rows = append(rows, fmt.Sprintf(`{"i":%d,%s}`, f.I, r))
			}
		}
		return `{"facts":[` + strings.Join(rows, ",") + `]}`, nil
	}
}

// filer files everything under one aspect, and ties nothing.
func filer(aspect string) func(input) (string, error) {
	return says(func(string) string { return under(aspect) })
}

// under is a row that files a fact as an attribute.
func under(aspect string) string {
	return `"aspect":"` + aspect + `","kind":"attribute","dep_target":null,"dep_type":null`
}

// ruled is a row that files a fact as a rule.
func ruled(aspect string) string { return strings.Replace(under(aspect), "attribute", "constraint", 1) }

// tied is a row that files a fact and ties its thing to another.
func tied(aspect, target, kind string) string {
	return `"aspect":"` + aspect + `","kind":"attribute","dep_target":"` + target + `","dep_type":"` + kind + `"`
}

var errDown = &ken.Error{Code: ken.CodeUnavailable, Msg: "the endpoint is down"}

// rig is a store with everything around it.
type rig struct {
	*classify.Classifier
	t     testing.TB
	s     *bolt.Store
	q     *jobs.Queue
	model *scripted
	o     classify.Options
}

func newStore(t testing.TB, assign bool) *bolt.Store {
	t.Helper()
	o := bolt.Options{NoSync: true}
	if assign {
		o.Assign = func(s store.Structure, c *ken.Claim) { reading.Assign(c, s) }
	}
	s, err := bolt.Open(t.Context(), t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// newRig is a store with pass 1 and a model.
func newRig(t testing.TB, answer func(input) (string, error)) *rig {
	t.Helper()
	r := &rig{t: t, s: newStore(t, true), model: &scripted{answer: answer}}
	r.q = jobs.NewQueue(r.s.Shelf(), jobs.Options{Jitter: func() float64 { return 0 }})
	r.o = classify.Options{Ask: r.model.ask, Model: "m"}
	r.Classifier = classify.New(r.s, r.o)
	return r
}

// fact is what the user said.
func fact(t testing.TB, text string, entities ...string) ken.Claim {
	t.Helper()
	c, err := ken.NewClaim(text, ken.FromHumanAssertion("ada", time.Time{}, ""))
	if err != nil {
		t.Fatal(err)
	}
	c.Entities = entities
	return c
}

// outside is what a page says.
func outside(t testing.TB, text string, entities ...string) ken.Claim {
	c := fact(t, text, entities...)
	c.Evidence = []ken.Evidence{ken.FromURL("http://example.com", monday, "")}
	return c
}

func (r *rig) write(claims ...ken.Claim) (ids []string) {
	r.t.Helper()
	return write(r.t, r.s, claims...)
}

func write(t testing.TB, s *bolt.Store, claims ...ken.Claim) (ids []string) {
	t.Helper()
	in := make([]store.Incoming, len(claims))
	for i := range claims {
		in[i].Claim = claims[i]
	}
	for i, out := range s.Import(t.Context(), in) {
		if out.Err != nil {
			t.Fatalf("write %q: %v", claims[i].Text, out.Err)
		}
		ids = append(ids, out.ID)
	}
	return ids
}

// run does all that is to be done, jobs included.
func (r *rig) run() jobs.Report {
	r.t.Helper()
	if err := r.CatchUp(r.t.Context()); err != nil {
		r.t.Fatalf("catch up: %v", err)
	}
	rep, err := r.Drain(r.t.Context(), r.q)
	if err != nil {
		r.t.Fatalf("drain: %v", err)
	}
	return rep
}

func (r *rig) get(id string) ken.Claim {
	r.t.Helper()
	c, err := r.s.Get(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func (r *rig) counts() classify.Counts {
	r.t.Helper()
	s, err := classify.Status(r.t.Context(), r.s.Shelf())
	if err != nil {
		r.t.Fatal(err)
	}
	return s.Counts
}

// dependencies lists those that stand, by their text.
func dependencies(t testing.TB, s *bolt.Store) []string {
	t.Helper()
	out := map[string]bool{}
	for c, err := range s.Scan(t.Context(), &ken.Filter{Kinds: []ken.Kind{ken.KindDependency}}, nil) {
		if err != nil {
			t.Fatal(err)
		}
		out[c.Text] = true
	}
	return slices.Sorted(maps.Keys(out))
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func alias(t testing.TB, r *rig, entity, other string) string {
	t.Helper()
	c := fact(t, other+" is another name of "+entity, entity, other)
	c.Kind, c.Key = ken.KindAlias, "alias:"+other
	return r.write(c)[0]
}

// know has things known beforehand.
func (r *rig) know(names ...string) {
	r.t.Helper()
	for _, n := range names {
		c := fact(r.t, n, n)
		c.Kind, c.Key = ken.KindEntity, "entity:"+n
		r.write(c)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
