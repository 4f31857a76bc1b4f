package consoletest

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/evals/sweep"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

var someDay = time.Date(2026, 6, 3, 9, 30, 0, 0, time.UTC)

// furnished is one project for all tests, which only look at it.
var furnished = sync.OnceValues(func() (Project, error) {
	dir, err := os.MkdirTemp("", "consoletest-")
	if err != nil {
		return Project{}, err
	}
	model = dir
	return Furnish(context.Background(), dir, Options{Now: someDay, Claims: 300})
})

var model string // where furnished is; "" before

func TestMain(m *testing.M) {
	code := m.Run()
	if model != "" {
		_ = os.RemoveAll(model)
	}
	os.Exit(code)
}

// look opens a layer on the project as of the end of its story.
func look(t *testing.T) (Project, *middleware.Layer) {
	t.Helper()
	race.SkipLong(t)
	p, err := furnished()
	if err != nil {
		t.Fatal(err)
	}
	l, err := middleware.Open(t.Context(), middleware.Options{Root: p.Dir, Strict: true, Foreground: true, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return someDay }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, l
}

func open(t *testing.T, l *middleware.Layer, owner string) store.Engine {
	t.Helper()
	s, release, err := l.Store(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return s
}

func claims(t *testing.T, s store.Engine) (out []ken.Claim) {
	t.Helper()
	for c, err := range s.Claims(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

// Everything that a facet can name is there.
func TestEveryValueOfEveryFacet(t *testing.T) {
	_, l := look(t)
	have := map[string]bool{}
	s := open(t, l, "")
	for ref := range s.Refs() { // a row knows which files have changed
		if r, ok := s.Row(store.Ref(ref)); ok && r.Facts.Kind != ken.KindDocument {
			have[r.Support.Tier.String()] = true
			have[r.Support.Trust.String()] = true
		}
	}
	for _, c := range claims(t, s) {
		for _, s := range []string{string(c.Kind), string(c.Status), string(c.Scope.Type), string(c.AssignedBy)} {
			have[s] = true
		}
		for _, e := range c.Evidence {
			have["evidence "+string(e.Kind)] = true
		}
		have["tagged"] = have["tagged"] || len(c.Tags) > 0
		have["expiring"] = have["expiring"] || !c.ExpiresAt.IsZero()
		have["constraint"] = have["constraint"] || c.Constraint
	}
	want := []string{"tagged", "expiring", "constraint"}
	for _, k := range []ken.Kind{ken.KindFact, ken.KindHot, ken.KindEpisode, ken.KindPlaybook, ken.KindFinding, ken.KindPattern, ken.KindDecision, ken.KindObjective,
		ken.KindEntity, ken.KindDependency, ken.KindAlias} {
		want = append(want, string(k))
	}
	for _, s := range ken.Statuses() {
		want = append(want, string(s))
	}
	for _, tier := range []ken.Tier{ken.Guessed, ken.Assumed, ken.Inferred, ken.Verified} {
		want = append(want, tier.String())
	}
	for _, trust := range []ken.Trust{ken.TrustExternal, ken.TrustAgent, ken.TrustOperator} {
		want = append(want, trust.String())
	}
	for _, s := range []ken.ScopeType{ken.ScopeProject, ken.ScopeRepo, ken.ScopeAgent, ken.ScopeRun} {
		want = append(want, string(s))
	}
	for _, k := range ken.EvidenceKinds() {
		want = append(want, "evidence "+string(k))
	}
	for _, w := range want {
		if !have[w] {
			t.Errorf("there is no %s", w)
		}
	}
}

func TestSupersessionChain(t *testing.T) {
	p, l := look(t)
	s := open(t, l, "")
	for _, pair := range [][2]string{{retryFive, retryFour}, {retryFour, retryThree}} {
		c, err := s.Get(t.Context(), p.Claims[pair[0]])
		if err != nil || c.SupersededBy != p.Claims[pair[1]] || c.Status != ken.StatusSuperseded {
			t.Errorf("%s: %s, superseded by %s, %v", pair[0], c.Status, c.SupersededBy, err)
		}
	}
	h, err := s.History(t.Context(), p.Claims[retryFive])
	if err != nil || len(h) != 2 || !h[0].At.Equal(someDay.Add(-110*day)) || !h[1].At.Equal(someDay.Add(-80*day+time.Hour)) {
		t.Errorf("the history of %s: %+v, %v", retryFive, h, err)
	}
}

func TestAttention(t *testing.T) {
	_, l := look(t)
	s := open(t, l, "")
	items, err := attention.List(t.Context(), s, s.Shelf(), attention.Options{})
	if err != nil {
		t.Fatal(err)
	}
	have := map[attention.Event]int{}
	for _, i := range items {
		have[i.Event]++
	}
	for _, e := range []attention.Event{attention.Disputed, attention.Contradicts, attention.Superseded, attention.Unsure, attention.Rejected, attention.ForgetRequested, attention.DisputeRequested} {
		if have[e] == 0 {
			t.Errorf("nothing is %s: %v", e, have)
		}
	}
}

func TestCandidates(t *testing.T) {
	p, l := look(t)
	s := open(t, l, "")
	last := 1 << 30
	for _, id := range p.Patterns {
		c, err := s.Get(t.Context(), id)
		if err != nil || c.Kind != ken.KindPattern || c.Status != ken.StatusHypothesis || c.Reinforcements >= last {
			t.Errorf("%s: %s %s, seen again %d times after %d, %v", c.Text, c.Kind, c.Status, c.Reinforcements, last, err)
		}
		last = c.Reinforcements
	}
	if len(p.Patterns) != 12 {
		t.Errorf("%d candidates", len(p.Patterns))
	}
}

// One file changed since it was cited; the other one did not.
func TestStaleEvidence(t *testing.T) {
	p, l := look(t)
	s := open(t, l, "")
	for i, want := range []provenance.State{provenance.Changed, provenance.Stands} {
		v, err := provenance.Of(t.Context(), s, provenance.Query{Target: p.Files[i]}, provenance.Options{Root: p.Dir, Now: func() time.Time { return someDay }})
		if err != nil {
			t.Fatal(err)
		}
		var have []provenance.State
		for _, c := range v.Claims {
			for _, e := range c.Evidence {
				if e.Matches {
					have = append(have, e.State)
				}
			}
		}
		if !slices.Contains(have, want) {
			t.Errorf("%s: %v, want one that is %s", p.Files[i], have, want)
		}
	}
}

func TestTurns(t *testing.T) {
	p, l := look(t)
	page, _, err := l.Operator().Receipts("").List(t.Context(), receipt.Query{Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	modes, injected, agents := map[ken.Mode]int{}, 0, map[string]int{}
	for i := range page {
		modes[page[i].Mode]++
		injected += len(page[i].Items)
	}
	for _, m := range []ken.Mode{ken.ModeNone, ken.ModeKeyword, ken.ModeHybrid} {
		if modes[m] < 3 {
			t.Errorf("%d turns of mode %s", modes[m], m)
		}
	}
	if len(page) < 40 || injected < 100 {
		t.Errorf("%d turns with %d items", len(page), injected)
	}
	infos, err := l.Operator().Journal("").List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range infos {
		if i.State != session.Harvested || i.Outcome == nil {
			t.Errorf("session %s is %s", i.ID, i.State)
		}
		agents[i.Agent]++
	}
	if len(infos) != 7 || agents[builder] != 3 || agents[reviewer] != 3 {
		t.Errorf("%d sessions by %v", len(infos), agents)
	}
	s := open(t, l, "")
	for _, name := range []string{"onboarding", "incident", "mail"} {
		if len(p.Learned[name]) == 0 {
			t.Errorf("nothing was learned in %s", name)
		}
		for _, id := range p.Learned[name] {
			if c, err := s.Get(t.Context(), id); err != nil || c.Session != p.Sessions[name] {
				t.Errorf("%s of %s: session %q, %v", id, name, c.Session, err)
			}
		}
	}
	// The first task: an agent received a wrong claim.
	e, err := l.Operator().Explain(t.Context(), "", p.Turns["today 2"], p.Claims[wrong])
	if err != nil || e.Verdict != inspect.Injected {
		t.Errorf("%s: %+v, %v", wrong, e, err)
	}
}

func TestJobs(t *testing.T) {
	_, l := look(t)
	list, err := l.Operator().Jobs("").List(t.Context(), jobs.Dead, jobs.Queued)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, j := range list {
		have = append(have, fmt.Sprint(j.State, " ", j.Key))
	}
	slices.Sort(have)
	if !slices.Equal(have, []string{"dead s-lost/1/12", "queued s-later/1/3"}) {
		t.Errorf("%v", have)
	}
}

func TestStructure(t *testing.T) {
	p, l := look(t)
	s := open(t, l, "")
	g, err := entity.Neighbourhood(t.Context(), s, p.Entities[0], 2, &ken.Filter{Structural: true, Now: someDay})
	if err != nil || len(g.Nodes) < 10 || len(g.Edges) < 12 {
		t.Errorf("%d nodes and %d edges around %s, %v", len(g.Nodes), len(g.Edges), p.Entities[0], err)
	}
}

func TestSweeps(t *testing.T) {
	p, _ := look(t)
	var reports []*sweep.Report
	for _, name := range p.Sweeps {
		f, err := os.Open(filepath.Join(p.Dir, Sweeps, name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r, err := sweep.Read(f)
		if err != nil {
			t.Fatal(err)
		}
		reports = append(reports, r)
	}
	c, err := sweep.Compare(reports[0], reports[1], 1)
	if err != nil || c.Questions != 10 {
		t.Errorf("%+v, %v", c, err)
	}
}

// The store has difficult texts for pages, as far as it accepts them.
func TestHostile(t *testing.T) {
	p, l := look(t)
	s := open(t, l, "")
	get := func(name string) ken.Claim {
		c, err := s.Get(t.Context(), p.Claims[name])
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := get("hostile script")
	for _, field := range []string{c.Text, c.Heading, c.Tags[0], c.Entities[0], c.Aspect, c.Source, c.Session, c.Project, c.Domain, c.Scope.ID, c.Branch, c.Actor.ID} {
		if !strings.Contains(field, "pwned=1") {
			t.Errorf("%q is harmless", field)
		}
	}
	if c := get("hostile links"); c.Evidence[0].URL != link {
		t.Errorf("%q", c.Evidence[0].URL)
	}
	if n := len(get("hostile huge").Text); n < huge-1000 {
		t.Errorf("the huge one has %d bytes", n)
	}
	if n := len(get("hostile word").Text); n != longWord {
		t.Errorf("the long word has %d bytes", n)
	}
	if c := get("hostile unseen"); !strings.ContainsRune(c.Evidence[0].URL, '\u202e') || !strings.ContainsRune(c.Evidence[1].SessionID, '\u202e') {
		t.Errorf("the store cleans references now: %q; leave them out here", c.Evidence[0].URL)
	}
	if _, err := os.Stat(filepath.Join(p.Dir, hostileFile)); err != nil {
		t.Error(err)
	}
}

// No word of one owner is in the other's claims, blocks or messages.
func TestOwnersAreApart(t *testing.T) {
	p, l := look(t)
	for owner, words := range map[string][2]string{"": {OwnWord, BobWord}, Bob: {BobWord, OwnWord}} {
		var all strings.Builder
		s := open(t, l, owner)
		for _, c := range claims(t, s) {
			fmt.Fprintf(&all, "%+v\n", c)
		}
		infos, err := l.Operator().Journal(owner).List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range infos {
			tr, err := l.Operator().Journal(owner).Read(t.Context(), i.ID)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&all, "%+v\n", tr)
		}
		if n := strings.Count(all.String(), words[0]); n < 5 {
			t.Errorf("owner %q has its word %d times", owner, n)
		}
		if strings.Contains(all.String(), words[1]) {
			t.Errorf("owner %q knows %s", owner, words[1])
		}
	}
	if len(p.Others) != 6 {
		t.Errorf("%d claims of Bob's", len(p.Others))
	}
}

func TestKeys(t *testing.T) {
	p, _ := look(t)
	path, _ := config.Find(p.Dir)
	c, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Gateway.Keys) != 4 {
		t.Fatalf("%d keys", len(c.Gateway.Keys))
	}
	for i, k := range []struct{ key, owner, rights string }{{p.Keys.Operator, "default", "chat read write operate"}, {p.Keys.Reader, "default", "read"}, {p.Keys.Other, Bob, "chat read write operate"},
		{p.Keys.Developer, "default", "chat read write"}} {
		got := c.Gateway.Keys[i]
		if got.Hash != access.HashKey(k.key).String() || got.Owner != k.owner || strings.Join(got.Rights, " ") != k.rights {
			t.Errorf("key %d: %+v", i, got)
		}
	}
}

func TestSynthetic(t *testing.T) {
	_, l := look(t)
	n := 0
	for _, c := range claims(t, open(t, l, "")) {
		if strings.Contains(c.Text, "see ticket") {
			n++
		}
	}
	if n != 300 {
		t.Errorf("%d synthetic claims", n)
	}
}

// The same options give the same names and ids, and others others.
func TestSameAgain(t *testing.T) {
	race.SkipLong(t)
	p, err := furnished()
	if err != nil {
		t.Fatal(err)
	}
	for seed, same := range map[uint64]bool{0: true, 1: false} {
		again, err := Furnish(t.Context(), filepath.Join(t.TempDir(), "project"), Options{Now: someDay, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		if maps.Equal(p.Claims, again.Claims) != same || maps.Equal(p.Turns, again.Turns) != same || (p.Keys == again.Keys) != same {
			t.Errorf("with seed %d: %v, want %v", seed, !same, same)
		}
	}
}

func TestFolderMustBeEmpty(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Furnish(t.Context(), dir, Options{}); err == nil {
		t.Error("it wrote into a folder that is somebody's")
	}
}
