package structure_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/knowledge/structure/classify"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

var monday = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// told opens a layer with all records written, and returns the keys of its claims and
// those that became rules.
func (w *world) told(t testing.TB, change func(*config.Config)) (l *middleware.Layer, keys map[string]string, ruled map[string]bool) {
	t.Helper()
	c := config.Default()
	c.Repository.Index, c.Middleware.Events, c.Session.Receipts = false, false, 0
	c.Knowledge.Nearest = 0
	c.Retrieval.Deadline = 30 * time.Second // results must not depend on the load of the machine
	change(&c)
	ctx := context.Background()
	at := monday
	l, err := middleware.Open(ctx, middleware.Options{Root: t.TempDir(), Config: &c, Foreground: true, Strict: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	s, release, err := l.Store(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	keys, ruled = map[string]string{}, map[string]bool{}
	var in []store.Incoming
	ed := edit.New(s, edit.Options{Now: func() time.Time { return at }, Actor: ken.Actor{Type: "user", ID: "priya"},
		Evidence: []ken.Evidence{ken.FromHumanAssertion("priya", at, "")}})
	var tasks []*record
	for i := range w.facts {
		r := &w.facts[i]
		at = at.Add(time.Minute)
		if r.kind == "task" {
			tasks = append(tasks, r)
			continue
		}
		k := r.claim(t)
		k.CreatedAt = at
		in = append(in, store.Incoming{Claim: k})
	}
	var ids []string
	for i, o := range s.Import(ctx, in) {
		if o.Err != nil {
			t.Fatalf("%s: %v", in[i].Claim.Key, o.Err)
		}
		keys[o.ID] = in[i].Claim.Key
		ids = append(ids, o.ID)
	}
	if err := classify.Derive(ctx, s, ids...); err != nil {
		t.Fatal(err)
	}
	for _, r := range tasks {
		made, err := ed.CreateTask(ctx, edit.NewTask{Title: r.text})
		if err != nil {
			t.Fatalf("%s: %v", r.key, err)
		}
		keys[made.ClaimID] = r.key
	}
	for _, n := range w.names {
		_, err := ed.Alias(ctx, n.entity, n.other, "the team calls it so")
		if errors.Is(err, ken.ErrNotFound) { // no claim is filed under it, so its existence is written as a claim too
			if _, err = ed.Describe(ctx, n.entity, "system", ""); err == nil {
				_, err = ed.Alias(ctx, n.entity, n.other, "the team calls it so")
			}
		}
		if err != nil {
			t.Fatalf("%s is %s: %v", n.other, n.entity, err)
		}
	}
	if _, err := s.EmbedMissing(ctx); err != nil {
		t.Fatal(err)
	}
	for c, err := range s.Claims(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Constraint {
			ruled[keys[c.ID]] = true
		}
	}
	return l, keys, ruled
}

// score holds the results of the questions of one slice.
type score struct {
	questions        int
	first, block     float64 // the part of the answering records among the first ten items, rules beside what answers apart, and in the block
	rules, missed    int     // that had to be there, and were not
	injected         int     // turns with a block
	chars            int
	missing, omitted []string
	owed             []string // rules that were omitted and must not be
}

func (s *score) ask(w *world, q *question, r *ken.Receipt, keys map[string]string, ruled map[string]bool) {
	s.questions++
	s.chars += r.Chars
	if r.Block != "" {
		s.injected++
	}
	at := map[string]int{}
	place := 0
	for _, it := range r.Items {
		if key := keys[it.ID]; !it.Constraint || slices.Contains(q.gold, key) { // rules have no limit, so they take no other claim's place
			place++
		}
		at[keys[it.ID]] = max(place, 1)
	}
	for _, key := range q.gold {
		if at[key] > 0 {
			s.block += 1 / float64(len(q.gold))
		} else {
			s.missing = append(s.missing, key+" for: "+q.text)
		}
		if at[key] > 0 && at[key] <= 10 {
			s.first += 1 / float64(len(q.gold))
		}
	}
	for _, key := range w.rules(q) {
		s.rules++
		if at[key] == 0 {
			s.missed++
			s.omitted = append(s.omitted, key+" for: "+q.text)
		}
	}
	for _, key := range w.owed(q) {
		if at[key] == 0 && ruled[key] {
			s.owed = append(s.owed, key+" for: "+q.text)
		}
	}
}

func (s *score) row(name string) string {
	recall := func(sum float64) string {
		if name == "none" {
			return "-"
		}
		return fmt.Sprintf("%.3f", sum/float64(s.questions))
	}
	rules := "-"
	if s.rules > 0 {
		rules = fmt.Sprintf("%.3f", 1-float64(s.missed)/float64(s.rules))
	}
	return fmt.Sprintf("%-12s %9d %9s %7s %7s %8d %6d\n", name, s.questions, recall(s.first), recall(s.block), rules, s.injected, s.chars/s.questions)
}

// plain is retrieval by words and by meaning, as it is without structure.
func plain(c *config.Config) { c.Structure.Enabled = false }

// Traversal first, against words and meaning alone. The tables are what the documents
// quote:
//
//	go test ./internal/evals/structure -run TraversalFirst -update
func TestTraversalFirstAgainstSearchAlone(t *testing.T) {
	for _, dir := range race.Pick(projects, projects[:1]) {
		t.Run(dir, func(t *testing.T) { compareOn(t, dir) })
	}
}

func compareOn(t *testing.T, dir string) {
	w := project(t, dir)
	binding := 0
	for _, r := range w.facts {
		if r.binds != "-" {
			binding++
		}
	}
	var out strings.Builder
	totals := map[string]*score{}
	for _, v := range []struct {
		name   string
		change func(*config.Config)
		weight ken.Weight
	}{
		{"keyword and vector", plain, ken.WeightDefault},
		{"traversal first", func(*config.Config) {}, ken.WeightDefault},
		{"traversal first, weight high", func(*config.Config) {}, ken.WeightHigh},
	} {
		l, keys, ruled := w.told(t, v.change)
		taken := 0
		for _, r := range w.facts {
			if r.binds != "-" && ruled[r.key] {
				taken++
			}
		}
		var order []string
		of := map[string]*score{}
		for i := range w.questions {
			q := &w.questions[i]
			r := l.Assemble(t.Context(), ken.Turn{Weight: v.weight, Messages: []ken.Message{{Role: "user", Text: q.text}}}).Receipt
			if len(r.Degraded) > 0 {
				t.Errorf("%s: %q: %v", v.name, q.text, r.Degraded)
			}
			names := []string{q.slice}
			if q.slice != "none" {
				names = append(names, "all")
			}
			for _, name := range names {
				if of[name] == nil {
					of[name] = &score{}
					order = append(order, name)
				}
				of[name].ask(&w, q, &r, keys, ruled)
			}
		}
		order = slices.DeleteFunc(order, func(s string) bool { return s == "all" })
		fmt.Fprintf(&out, "%s, %d of %d rules taken for rules\n%-12s %9s %9s %7s %7s %8s %6s\n", v.name, taken, binding, "slice", "questions", "recall@10", "block", "rules", "injected", "chars")
		for _, name := range append(order, "all") {
			out.WriteString(of[name].row(name))
		}
		out.WriteByte('\n')
		totals[v.name] = of["all"]
		for _, m := range of["all"].missing {
			t.Logf("%s: missing %s", v.name, m)
		}
		for _, m := range of["all"].omitted {
			t.Logf("%s: rule omitted %s", v.name, m)
		}
	}
	t.Log("\n" + out.String())
	for _, name := range []string{"traversal first", "traversal first, weight high"} {
		for _, omitted := range totals[name].owed {
			t.Errorf("%s: rule omitted %s", name, omitted)
		}
	}
	if a, b := totals["traversal first"].block, totals["keyword and vector"].block; a < b {
		t.Errorf("traversal finds less than search alone: %.3f and %.3f of %d", a, b, totals["traversal first"].questions)
	}
	golden := "testdata/" + dir + "/report.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), out.String()); d != "" {
		t.Errorf("report (-want +got):\n%s", d)
	}
}

// BenchmarkProject is a turn in the project, with and without traversal.
func BenchmarkProject(b *testing.B) {
	w := project(b, "project")
	for name, change := range map[string]func(*config.Config){"search": plain, "traversal": func(*config.Config) {}} {
		b.Run(name, func(b *testing.B) {
			l, _, _ := w.told(b, change)
			i := 0
			for b.Loop() {
				l.Assemble(b.Context(), ken.Turn{Messages: []ken.Message{{Role: "user", Text: w.questions[i%len(w.questions)].text}}})
				i++
			}
		})
	}
}
