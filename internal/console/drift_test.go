package console_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/code/drift"
	"github.com/kenlayer/ken/internal/console/consoletest"
)

// compared asks for the page of drift until something was found.
func (c *rig) compared(so func(p *page) bool) (p *page) {
	c.Helper()
	c.eventually("the layers are compared", func() bool {
		status, now := get(c.TB, c, "/console/drift")
		if status != http.StatusOK {
			c.Fatalf("%d: %s", status, now.text())
		}
		p = now
		return !now.has("[data-pending]") && so(now)
	})
	return p
}

func anything(*page) bool { return true }

// shop returns a project of three layers, with a forbidden import in one of them.
func shop(manifest string) map[string]string {
	return map[string]string{"go.mod": "module example.com/shop\n\ngo 1.26\n", drift.DefaultManifest: manifest,
		"web/web.go":     "package web\n\nimport \"example.com/shop/store\"\n\nvar W = store.S\n",
		"core/core.go":   "package core\n\nimport \"example.com/shop/web\"\n\nvar C = web.W\n",
		"store/store.go": "package store\n\nvar S = 1\n"}
}

const shopLayers = `layers:
  - {name: web, paths: [web/], may_depend_on: [core]}
  - {name: core, paths: [core/], may_depend_on: []}
  - {name: store, paths: [store/], may_depend_on: []}
`

func TestDrift(t *testing.T) {
	c := open(t, bare, with(shop(shopLayers)))
	p := c.compared(anything)
	p.says("2 new violations", "web → store", "core → web", "web/web.go:3", "layer web must not import example.com/shop/store (layer store): it may depend on core", "Compared just now")
	for _, to := range []string{"/console/files?path=web%2Fweb.go", "/console/code/symbol?id=package%3Aexample.com%2Fshop%2Fstore", "/console/drift?from=web&to=store"} {
		if !p.links(to) {
			t.Errorf("no link to %s", to)
		}
	}
	rows := p.all(".matrix tbody tr")
	if len(rows) != 3 {
		t.Fatalf("the matrix has %d rows", len(rows))
	}
	for i, want := range []string{"1 web itself •may 1 against the rules", "2 core 1 against the rules itself", "3 store itself"} {
		if got := text(rows[i]); got != want {
			t.Errorf("row %d of the matrix is %q, want %q", i, got, want)
		}
	}

	// One pair of layers by itself.
	_, p = get(t, c, "/console/drift?from=web&to=store")
	if groups := p.texts("main h3"); len(groups) != 1 || groups[0] != "web → store 1" || !p.links("/console/drift?to=store") {
		t.Errorf("between web and store: %q", groups)
	}
	_, p = get(t, c, "/console/drift?from=store")
	p.says("Nothing new between these")

	// With a baseline they are known, and new ones are marked.
	report := drift.Check(c.layer.Operator().Codebase().View(), c.manifest(), drift.Options{})
	report.Violations = report.Violations[:1]
	if _, err := drift.WriteBaseline(c.project.Dir, drift.DefaultBaseline, drift.NewBaseline(&report)); err != nil {
		t.Fatal(err)
	}
	p = c.compared(func(p *page) bool { return strings.Contains(p.text(), "In the baseline") })
	p.says("1 new violation", "1 in the baseline", "1 violation that the team knows of")

	// A file that was repaired is shown again once it was read.
	c.write("core/core.go", "package core\n\nvar C = 1\n")
	c.write("web/web.go", "package web\n\nvar W = 1\n")
	if _, err := c.layer.Operator().Codebase().Build(context.Background()); err != nil {
		t.Fatal(err)
	}
	p = c.compared(func(p *page) bool { return strings.Contains(p.text(), "Nothing new") })
	p.says("no new violations", "1 fixed")
}

func (c *rig) manifest() *drift.Manifest {
	c.Helper()
	m, err := drift.Read(c.project.Dir, drift.DefaultManifest)
	if err != nil {
		c.Fatal(err)
	}
	return m
}

func TestDrift_NoManifest(t *testing.T) {
	c := open(t, func(s *setup) { s.bare = true; s.files = shop(""); delete(s.files, drift.DefaultManifest) })
	p := c.compared(anything)
	p.says("There is no architecture file", "name: core", "may_depend_on: [web]")
	copied := attr(p.one("[data-copy]"), "data-copy")
	if _, err := drift.Parse(drift.DefaultManifest, []byte(copied)); err != nil {
		t.Errorf("what is copied: %v", err)
	}
	_, plain := get(t, c, "/console/drift/proposal")
	if plain.body != copied || plain.header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("as plain text: %v: %s", plain.header, plain.body)
	}
	if c.file(drift.DefaultManifest) != "" {
		t.Error("a page wrote the file")
	}
	c.write(drift.DefaultManifest, copied)
	p = c.compared(func(p *page) bool { return p.has(".matrix") })
	p.says("Nothing new")
	if status, _ := get(t, c, "/console/drift/proposal"); status != http.StatusNotFound {
		t.Errorf("proposed although there is one: %d", status)
	}
}

func TestDrift_BrokenFiles(t *testing.T) {
	c := open(t, bare, with(shop("layers:\n  - {name: web, paths: [web/], may_depend_on: [nowhere]}\n  - {name: web, paths: [/abs]}\n")))
	p := c.compared(anything)
	p.says("nowhere", "is defined twice")
	if n := len(p.all(`main [role="alert"]`)); n < 2 {
		t.Errorf("%d faults: %s", n, p.text())
	}
	c.write(drift.DefaultManifest, shopLayers)
	c.write(drift.DefaultBaseline, "no baseline")
	p = c.compared(func(p *page) bool { return strings.Contains(p.text(), drift.DefaultBaseline) })
	if p.has(".matrix") {
		t.Error("something is said without the baseline")
	}
}

func TestDrift_ManyAndHostile(t *testing.T) {
	files := map[string]string{"go.mod": "module example.com/shop\n\ngo 1.26\n", "b/b.go": "package b\n",
		drift.DefaultManifest: "layers:\n  - {name: '<script>window.pwned=1</script>', paths: [a/]}\n  - {name: b, paths: [b/]}\n"}
	for i := range 250 {
		name := strings.Repeat("x", i+1)
		if i > 200 {
			name = strings.Repeat("y", i-199)
		}
		files["a/<img src=z onerror=z>"+name+".go"] = "package a\n\nimport _ \"example.com/shop/b\"\n"
	}
	c := open(t, bare, with(files))
	p := c.compared(anything)
	p.hides("<script>window", "<img src=z")
	p.says("250 new violations", "<script>window.pwned=1</script> → b")
	if n := len(p.all("[data-item]")); n != 200 {
		t.Errorf("%d on the first page", n)
	}
	_, p = get(t, c, attr(p.one(`a[rel="next"]`), "href"))
	if n := len(p.all("[data-item]")); n != 250 {
		t.Errorf("%d after that", n)
	}
}

func TestDrift_NoCode(t *testing.T) {
	p := open(t, bare).compared(anything)
	p.says("There is no source file")
	if p.has("pre") {
		t.Error("layers are proposed for nothing")
	}
}

func TestDriftIsTheOwners(t *testing.T) {
	c := open(t)
	c.compared(anything)
	if status, p := get(t, c, "/console/drift", reader); status != http.StatusOK || p.has(`main form[method="post"]`) || !p.has(".matrix") {
		t.Errorf("a reader gets %d: %s", status, p.text())
	}
	status, p := get(t, c, "/console/drift", bob)
	if status != http.StatusOK || p.has("main table") {
		t.Errorf("bob gets %d: %s", status, p.text())
	}
	p.hides(consoletest.OwnWord, "handler/", "paymentsd")
	if status, _ := get(t, c, "/console/drift/proposal", bob); status != http.StatusForbidden {
		t.Errorf("bob's proposal: %d", status)
	}
	off := open(t, bare, func(s *setup) { s.config = config.Default(); s.config.Middleware.Graph = false })
	for _, path := range []string{"/console/drift", "/console/drift/proposal"} {
		if status, p := get(t, off, path); status != http.StatusServiceUnavailable {
			t.Errorf("switched off, %s: %d: %s", path, status, p.text())
		}
	}
}

// The event stream of the project's pages reports each of its files.
func TestProjectIsFollowed(t *testing.T) {
	c := open(t)
	if _, err := c.layer.Operator().ReadCode(t.Context()); err != nil {
		t.Fatal(err)
	}
	said, _, _ := listen(t, c, "project", reader)
	others, _, _ := listen(t, c, "project", bob)
	hears(t, said, "ready")
	hears(t, others, "ready")
	c.write(mail, c.file(mail)+"\nAnd more.\n")
	hears(t, said, "project")
	c.write(settling, strings.Replace(c.file(settling), "Settle", "Reckon", 1))
	hears(t, said, "project")
	c.write(drift.DefaultManifest, c.file(drift.DefaultManifest)+"\n# Looked at.\n")
	hears(t, said, "project")
	select {
	case topic := <-others:
		t.Errorf("bob hears of %s", topic)
	default:
	}
}
