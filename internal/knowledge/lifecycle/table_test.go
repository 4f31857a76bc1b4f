package lifecycle_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/decision"
	"github.com/kenlayer/ken/internal/knowledge/lifecycle"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
)

// project is a folder with files whose times the test sets.
type project struct {
	*kit
	root string
}

func (p *project) put(name, text string, age time.Duration) {
	p.Helper()
	full := filepath.Join(p.root, filepath.FromSlash(name))
	p.must(os.MkdirAll(filepath.Dir(full), 0o755))
	p.must(os.WriteFile(full, []byte(text), 0o644))
	at := p.now().Add(-age)
	p.must(os.Chtimes(full, at, at))
}

func (p *project) has(name string) bool {
	_, err := os.Lstat(filepath.Join(p.root, filepath.FromSlash(name)))
	return err == nil
}

func projects(t *testing.T, run func(p *project)) {
	each(t, func(k *kit) { run(&project{k, t.TempDir()}) })
}

// ofRule are the ids of a rule's changes, by kind.
func ofRule(changes []lifecycle.Change, r lifecycle.Rule) (ids []string) {
	for _, c := range changes {
		if c.Rule == r {
			ids = append(ids, c.Kind+" "+c.ID)
		}
	}
	return ids
}

func adr(status, rest string) string {
	return "---\nstatus: " + status + "\n---\n# Use a queue\n\n## Context\n\nLoad.\n\n## Decision\n\nA queue.\n" + rest
}

// Superseded decisions move to the archive beside them, links follow, and a second run
// has nothing to do.
func TestDecisionsAreArchived(t *testing.T) {
	projects(t, func(p *project) {
		t := p.T
		p.put("docs/adr/0001-queue.md", adr("superseded by ADR-0002", "\nSee [the next](0002-log.md).\n"), 40*day)
		p.put("docs/adr/0002-log.md", adr("superseded by ADR-0003", "\nReplaces [the queue](0001-queue.md).\n"), 40*day)
		p.put("docs/adr/0003-bus.md", adr("accepted", "\nReplaces [the log](0002-log.md).\n"), 40*day)
		p.put("docs/adr/0004-old.md", adr("rejected", ""), 400*day)
		p.put("docs/adr/0005-fresh.md", adr("superseded by ADR-0003", ""), 2*day)
		reg, err := decision.Open(t.Context(), p.root, decision.Options{Now: p.now})
		p.must(err)
		defer reg.Close()
		p.deps.Decisions = reg
		plan := p.plan(lifecycle.Default())
		want := []string{"record docs/adr/0001-queue.md", "record docs/adr/0002-log.md"}
		if got := ofRule(plan, lifecycle.ArchiveDecisions); !slices.Equal(got, want) || !p.has("docs/adr/0001-queue.md") {
			t.Fatalf("%q", got)
		}
		if r := p.apply(plan); len(r.Done) != 2 || len(r.Skipped) > 0 {
			t.Fatalf("%+v", r)
		}
		if !p.has("docs/adr/archive/0001-queue.md") || !p.has("docs/adr/archive/0002-log.md") || p.has("docs/adr/0001-queue.md") || p.has("docs/adr/0002-log.md") {
			t.Error("the files are elsewhere")
		}
		b, err := os.ReadFile(filepath.Join(p.root, "docs/adr/0003-bus.md"))
		p.must(err)
		if !strings.Contains(string(b), "(archive/0002-log.md)") {
			t.Errorf("%s", b)
		}
		if found := reg.Search(decision.Query{Words: "queue"}); found.Total == 0 {
			t.Error("nothing is found any more")
		}
		if got := ofRule(p.plan(lifecycle.Default()), lifecycle.ArchiveDecisions); len(got) > 0 {
			t.Errorf("again: %q", got)
		}
		off := lifecycle.Default()
		off.ArchiveDecisionsDays = lifecycle.Never
		p.set(p.now().Add(100 * day))
		if got := ofRule(p.plan(off), lifecycle.ArchiveDecisions); len(got) > 0 {
			t.Errorf("switched off: %q", got)
		}
	})
}

// A decision that somebody edits after the plan is left alone.
func TestADecisionThatMoved(t *testing.T) {
	projects(t, func(p *project) {
		t := p.T
		p.put("docs/adr/0001-queue.md", adr("superseded", ""), 40*day)
		reg, err := decision.Open(t.Context(), p.root, decision.Options{})
		p.must(err)
		defer reg.Close()
		p.deps.Decisions = reg
		plan := p.plan(lifecycle.Default())
		p.put("docs/adr/0001-queue.md", adr("superseded", "\nBut see below.\n"), 0)
		_, err = reg.Refresh(t.Context())
		p.must(err)
		if r := p.apply(plan); len(r.Skipped) != 1 || !p.has("docs/adr/0001-queue.md") {
			t.Errorf("%+v", r)
		}
	})
}

// What is in the graph of files that are no more goes, and the graph is saved without.
func TestTheGraphIsPruned(t *testing.T) {
	projects(t, func(p *project) {
		t := p.T
		p.put("go.mod", "module example.org/pay\n", 0)
		p.put("pay.go", "package pay\n\nfunc Retry() { helper() }\n", 0)
		p.put("helper.go", "package pay\n\nfunc helper() {}\n", 0)
		open := func() *codebase.Codebase {
			c, err := codebase.Open(t.Context(), codebase.Options{Root: p.root, State: filepath.Join(p.root, ".ken/state")})
			p.must(err)
			p.must(c.Load(t.Context()))
			return c
		}
		c := open()
		_, err := c.Build(t.Context())
		p.must(err)
		p.deps.Graph = c
		if got := ofRule(p.plan(lifecycle.Default()), lifecycle.PruneOrphans); len(got) > 0 {
			t.Fatalf("nothing is gone: %q", got)
		}
		p.must(os.Remove(filepath.Join(p.root, "helper.go")))
		plan := p.plan(lifecycle.Default())
		if got := ofRule(plan, lifecycle.PruneOrphans); !slices.Equal(got, []string{"graph helper.go", "nodes graph"}) {
			t.Fatalf("%q", got)
		}
		nodes := c.View().Counts().Nodes
		if r := p.apply(plan); len(r.Done) != 2 {
			t.Fatalf("%+v", r)
		}
		p.must(c.Close())
		c = open()
		defer c.Close()
		if now := c.View().Counts().Nodes; now >= nodes {
			t.Errorf("%d nodes of %d", now, nodes)
		}
		p.deps.Graph = c
		if got := ofRule(p.plan(lifecycle.Default()), lifecycle.PruneOrphans); len(got) > 0 {
			t.Errorf("again: %q", got)
		}
	})
}

// A verdict whose time is over is archived, and is found by who asks for it.
func TestExpiredProvenanceIsArchived(t *testing.T) {
	each(t, func(k *kit) {
		t := k.T
		s, ok := k.stock.(interface {
			provenance.Store
			provenance.Reader
		})
		if !ok {
			t.Fatal("not a store of provenance")
		}
		r, err := provenance.Record(t.Context(), s, provenance.Check{Validator: "go test", Target: "pay", Statement: "pay passes", Passed: true,
			Evidence: []ken.Evidence{ken.FromExitCode("go test", 0)}, ExpiresAt: k.now().Add(day)}, k.now())
		k.must(err)
		k.set(k.now().Add(3 * day))
		plan := k.plan(lifecycle.Default())
		if got := ofRule(plan, lifecycle.ArchiveExpired); !slices.Equal(got, []string{"finding " + r.ID}) {
			t.Fatalf("%q", got)
		}
		k.apply(plan)
		o := provenance.Options{Now: k.now}
		v, err := provenance.Of(t.Context(), s, provenance.Query{Target: "pay", Expired: true}, o)
		k.must(err)
		if len(v.Claims) != 1 || v.Claims[0].ArchivedAt.IsZero() || !v.Claims[0].Expired {
			t.Errorf("%+v", v.Claims)
		}
		if v, err = provenance.Of(t.Context(), s, provenance.Query{Target: "pay"}, o); err != nil || len(v.Claims) != 0 || v.LeftOut.Expired != 1 {
			t.Errorf("%+v, %v", v, err)
		}
	})
}

// Only what is marked goes, only from the folder state, and never what is kept.
func TestEphemeralState(t *testing.T) {
	projects(t, func(p *project) {
		t := p.T
		p.deps.KenDir = filepath.Join(p.root, ".ken")
		all := []string{"state/findings.json", "state/cache/a/b.tmp", "state/keep.tmp", "state/default/ken.db", "state/default/index/x", "state/default/vectors/v",
			"state/default/holder.json", "state/default/calibration.json", "state/provenance.archive.json", "state/.processes/1", "state/.decisions.lock", "state/.gitignore",
			"state/repository.graph", "state/embedder.ken", "state/MEMORY.md", "knowledge/MEMORY.md", "knowledge/lifecycle.yaml", "config.yaml"}
		for _, name := range all {
			p.put(".ken/"+name, name, day)
		}
		p.put("outside/a.tmp", "mine", day)
		p.must(os.Symlink(filepath.Join(p.root, "outside"), filepath.Join(p.root, ".ken/state/link")))
		p.must(os.Symlink("../../outside/a.tmp", filepath.Join(p.root, ".ken/state/link.tmp")))
		if got := ofRule(p.plan(lifecycle.Default()), lifecycle.DeleteEphemeral); len(got) > 0 {
			t.Fatalf("without marks: %q", got)
		}
		p.put(".ken/.kenignore", "state/**\nknowledge/\nconfig.yaml\n../outside/\n!keep.tmp\n", 0)
		want := []string{"state state/cache/a/b.tmp", "state state/default/calibration.json", "state state/findings.json"}
		plan := p.plan(lifecycle.Default())
		if got := ofRule(plan, lifecycle.DeleteEphemeral); !slices.Equal(sorted(got), want) {
			t.Fatalf("%q", got)
		}
		for _, name := range all {
			if !p.has(".ken/" + name) {
				t.Fatalf("a plan deleted %s", name)
			}
		}
		p.put(".ken/state/findings.json", "written meanwhile", 0)
		if r := p.apply(plan); len(r.Failed) > 0 {
			t.Fatalf("%+v", r.Failed)
		}
		for _, name := range all {
			gone := name == "state/cache/a/b.tmp" || name == "state/default/calibration.json"
			if p.has(".ken/"+name) == gone {
				t.Errorf("%s: gone is %v", name, !gone)
			}
		}
		if !p.has("outside/a.tmp") || !p.has(".ken/state/link") {
			t.Error("a link was followed, or deleted")
		}
		if r := p.apply(plan); len(r.Failed) > 0 || !p.has(".ken/state/findings.json") {
			t.Errorf("again: %+v", r)
		}
		week := lifecycle.Default()
		week.EphemeralStateDays = 7
		if got := ofRule(p.plan(week), lifecycle.DeleteEphemeral); len(got) > 0 {
			t.Errorf("too young: %q", got)
		}
	})
}

// A folder that becomes a link between plan and apply leads nowhere.
func TestEphemeralStateBehindANewLink(t *testing.T) {
	projects(t, func(p *project) {
		t := p.T
		p.deps.KenDir = filepath.Join(p.root, ".ken")
		p.put(".ken/.kenignore", "state/cache/\n", 0)
		p.put(".ken/state/cache/a.tmp", "same", day)
		p.put("outside/a.tmp", "same", day)
		plan := p.plan(lifecycle.Default())
		p.must(os.RemoveAll(filepath.Join(p.root, ".ken/state/cache")))
		p.must(os.Symlink(filepath.Join(p.root, "outside"), filepath.Join(p.root, ".ken/state/cache")))
		r, _ := lifecycle.Apply(t.Context(), p.deps, plan, nil)
		if len(r.Done) > 0 || !p.has("outside/a.tmp") {
			t.Errorf("%+v", r)
		}
	})
}

// unsaved is a graph that can't be saved.
type unsaved struct{ lifecycle.Graph }

func (unsaved) Save() error { return errors.New("the disk is full") }

func TestAGraphThatCannotBeSaved(t *testing.T) {
	projects(t, func(p *project) {
		t := p.T
		p.put("a.go", "package a\n", 0)
		c, err := codebase.Open(t.Context(), codebase.Options{Root: p.root, State: t.TempDir()})
		p.must(err)
		defer c.Close()
		_, err = c.Build(t.Context())
		p.must(err)
		p.must(os.Remove(filepath.Join(p.root, "a.go")))
		p.deps.Graph = unsaved{c}
		plan := p.plan(lifecycle.Default())
		r, err := lifecycle.Apply(context.Background(), p.deps, plan, nil)
		if err == nil || len(r.Failed) != len(ofRule(plan, lifecycle.PruneOrphans)) {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func sorted(list []string) []string { slices.Sort(list); return list }
