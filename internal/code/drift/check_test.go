package drift_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kenlayer/ken/internal/code/drift"
)

// TestLanguages checks a small project in each language: its violations, and that its proposal has none.
func TestLanguages(t *testing.T) {
	files, err := filepath.Glob("testdata/languages/*.txtar")
	if err != nil || len(files) < 7 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			root := project(t, archive(t, "languages/"+filepath.Base(name)))
			m, err := drift.Read(root, "architecture.yaml")
			if err != nil {
				t.Fatal(err)
			}
			g := graph(t, root)
			r := drift.Check(g, m, drift.Options{})
			var got []string
			for _, v := range r.Violations {
				got = append(got, fmt.Sprintf("%s:%d %s > %s (%s) %s", v.File, v.Line, v.Layer, v.Import, v.ImportLayer, v.How))
				if len(v.Fingerprint) != 32 || !strings.HasPrefix(v.Hash, "sha256:") || v.Language == "" {
					t.Errorf("%+v", v)
				}
			}
			want, err := read(root, "want")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(strings.TrimSpace(want), "\n"), got); diff != "" {
				t.Error(diff)
			}
			if len(r.Warnings) > 0 {
				t.Error(r.Warnings)
			}
			text := drift.Propose(g)
			if r := drift.Check(g, parse(t, string(text)), drift.Options{}); len(r.Violations) > 0 || r.Unassigned > 0 {
				t.Errorf("%+v of\n%s", r, text)
			}
		})
	}
}

const shop = `
-- go.mod --
module shop
-- core/a.go --
package core
import "shop/web"
var A = web.A
-- core/a_test.go --
package core
import "shop/web/page"
-- web/web.go --
package web
import "shop/tool"
var A = tool.A
-- web/page/page.go --
package page
import "shop/core"
var A = core.A
-- tool/tool.go --
package tool
import "shop/core"
var A = core.A
-- docs/x.md --
# Not code
`

func check(t *testing.T, manifest string, o drift.Options) drift.Report {
	t.Helper()
	return drift.Check(graph(t, project(t, txtar.Parse([]byte(shop)))), parse(t, manifest), o)
}

func places(vs []drift.Violation) (out []string) {
	for _, v := range vs {
		out = append(out, fmt.Sprintf("%s:%d %s", v.File, v.Line, v.Imports()))
	}
	return out
}

func TestRules(t *testing.T) {
	for _, tt := range []struct {
		name, manifest string
		want           []string
		unassigned     int
	}{
		{"tests are looked at unless the manifest says otherwise", "layers: [{name: core, paths: [core]}, {name: web, paths: [web], may_depend_on: [core]}]",
			[]string{"core/a.go:2 shop/web", "core/a_test.go:2 shop/web/page"}, 1},
		{"without tests", "tests: false\nlayers: [{name: core, paths: [core]}, {name: web, paths: [web], may_depend_on: [core]}]",
			[]string{"core/a.go:2 shop/web"}, 1},
		{"what is in no layer is nobody's business", "layers: [{name: core, paths: [core/]}]", nil, 3},
		{"unless it is strict", "strict: true\nlayers: [{name: core, paths: [core/]}, {name: tool, paths: [tool]}]",
			[]string{"tool/tool.go:2 shop/core", "web/page/page.go:1 ", "web/web.go:1 "}, 2},
		{"the longest path", "tests: no\nlayers: [{name: all, paths: [.]}, {name: page, paths: [web/page]}]",
			[]string{"web/page/page.go:2 shop/core"}, 0},
		{"everything", "layers: [{name: all, paths: [/], may_depend_on: '*'}, {name: page, paths: [./web/page/], may_depend_on: ['*']}]", nil, 0},
		{"not through others", "tests: no\nlayers: [{name: core, paths: [core], may_depend_on: [web]}, {name: web, paths: [web], may_depend_on: [core]}, {name: tool, paths: [tool]}]",
			[]string{"tool/tool.go:2 shop/core", "web/web.go:2 shop/tool"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := check(t, tt.manifest, drift.Options{})
			if diff := cmp.Diff(tt.want, places(r.Violations)); diff != "" || r.Unassigned != tt.unassigned {
				t.Errorf("%d in no layer, %s", r.Unassigned, diff)
			}
			if !slices.IsSortedFunc(r.Violations, func(a, b drift.Violation) int { return strings.Compare(a.File, b.File) }) {
				t.Error("not in order")
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	r := check(t, "layers: [{name: a, paths: [core], may_depend_on: [b]}, {name: b, paths: [web], may_depend_on: [a]}, {name: c, paths: [gone, docs]}]", drift.Options{})
	want := []string{"the layers a and b may depend on each other: there is no order among them", "the layer c has no source files: check its paths"}
	if diff := cmp.Diff(want, r.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestBaseline(t *testing.T) {
	const before = "layers: [{name: core, paths: [core]}, {name: web, paths: [web], may_depend_on: [core]}]"
	r := check(t, before, drift.Options{})
	b := drift.NewBaseline(&r)
	again, err := drift.ParseBaseline("b.json", b.JSON())
	if err != nil || len(again.Entries) != 2 {
		t.Fatal(err, again)
	}
	if diff := cmp.Diff(string(b.JSON()), string(again.JSON())); diff != "" {
		t.Error(diff)
	}
	// A violation with another name or line is the same one. Tests are not looked at any more.
	r = check(t, "# below a comment\ntests: false\nlayers: [{name: kernel, paths: [core]}, {name: tool, paths: [tool]}, {name: site, paths: [web], may_depend_on: [kernel]}]", drift.Options{Baseline: again})
	if diff := cmp.Diff([]string{"core/a.go:2 shop/web"}, places(r.Known)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"tool/tool.go:2 shop/core", "web/web.go:2 shop/tool"}, places(r.Violations)); diff != "" {
		t.Error(diff)
	}
	if len(r.Unchecked) != 1 || r.Unchecked[0].File != "core/a_test.go" || r.Unchecked[0].Import != "package:shop/web/page" || len(r.Fixed)+len(r.Permitted) > 0 {
		t.Errorf("%+v", r)
	}
	if n := len(drift.NewBaseline(&r).Entries); n != 3 {
		t.Errorf("%d entries", n)
	}
	for text, want := range map[string]string{
		"": "is not a baseline", "[]": "is not a baseline", `{"version": 2}`: "has version 2", `{"version":1,"violations":[{}]}`: "no fingerprint",
		"{\n<<<<<<< ours\n": "merge conflict",
	} {
		if _, err := drift.ParseBaseline("b.json", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
