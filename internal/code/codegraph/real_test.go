package codegraph_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/golang"
	"github.com/kenlayer/ken/internal/race"
)

// later returns a time long after all files were written, so that a second run can rely on modification times.
func later() time.Time { return time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC) }

// TestThisRepository builds the graph of this project and queries it. KEN_GRAPH_ROOT names another folder, whose
// figures are logged.
func TestThisRepository(t *testing.T) {
	race.SkipLong(t)
	root, other := "../../..", os.Getenv("KEN_GRAPH_ROOT")
	if other != "" {
		root = other
	}
	o := codegraph.Options{Now: later, Extractors: map[string]codegraph.Extractor{".go": golang.New(golang.FindModules(os.DirFS(root)))}}
	g := codegraph.New()
	r, err := g.Build(t.Context(), root, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files, %+v, head only %d, problems %d", r.Files, r.Counts, len(r.HeadOnly), r.ProblemsTotal)
	if again, err := g.Build(t.Context(), root, o); err != nil || again.Unchanged < r.Files*9/10 { // somebody may be editing
		t.Errorf("the second time %+v, %v", again, err)
	}
	if other != "" {
		return
	}
	v := g.View()
	id := func(text string) string {
		n, err := v.One(text)
		if err != nil {
			t.Fatal(err)
		}
		return n.ID
	}
	if got := id("ken.Claim"); got != "type:github.com/kenlayer/ken.Claim" {
		t.Errorf("ken.Claim is %s", got)
	}
	refs, err := v.Refs("repository.Files", []codegraph.EdgeKind{codegraph.Calls}, codegraph.Page{})
	if err != nil || !slices.ContainsFunc(refs.Refs, func(r codegraph.Ref) bool { return r.From.Name == "update" && r.How == codegraph.Exact }) {
		t.Errorf("who calls repository.Files: %+v, %v", refs, err)
	}
	deps, err := v.Dependents("package:github.com/kenlayer/ken/breaker", 1, codegraph.Page{Limit: codegraph.MaxLimit})
	if err != nil || !slices.ContainsFunc(deps.Dependents, func(d codegraph.Dependent) bool {
		return d.ID == "package:github.com/kenlayer/ken/internal/embed/guard"
	}) {
		t.Errorf("what depends on breaker: %d, %v", deps.Total, err)
	}
	found, _ := v.Search("codegraph apply", nil, 3)
	if len(found) == 0 || found[0].ID != "method:github.com/kenlayer/ken/internal/code/codegraph.Graph.Apply" {
		t.Errorf("codegraph apply is found as %+v", found)
	}
}
