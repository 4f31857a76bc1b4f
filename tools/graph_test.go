package tools_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/tools"
)

func TestGraphTools(t *testing.T) {
	k := newKit(t)
	k.files(shop())
	var found tools.NodesOutput
	k.call(&found, "graph_search", `{"query":"sum","kinds":["function"],"exported":true}`)
	if len(found.Nodes) != 1 || found.Nodes[0].ID != "function:example.com/shop/money.Sum" || found.Nodes[0].Line != 7 {
		t.Errorf("found %+v", found)
	}
	if k.call(&found, "graph_search", `{"query":"sum","path":"cart"}`); len(found.Nodes) != 0 || found.Total != 0 {
		t.Errorf("elsewhere: %+v", found)
	}
	var refs tools.RefsOutput
	res := k.call(&refs, "graph_refs", `{"name":"money.Amount"}`)
	governed := false
	for _, r := range refs.Refs {
		governed = governed || r.Kind == "adr_governs" && r.From.ID == "adr:ADR-0001" && r.How == "exact"
	}
	if !governed || refs.Total != len(refs.Refs) || !strings.Contains(res.Text, "adr:ADR-0001 at docs/adr/0001-cents.md:9") {
		t.Errorf("%+v\n%s", refs, res.Text)
	}
	var deps tools.DependentsOutput
	res = k.call(&deps, "graph_dependents", `{"name":"money.Sum","depth":1}`)
	if len(deps.Dependents) != 1 || deps.Dependents[0].Node.ID != "method:example.com/shop/cart.Cart.Total" || !strings.Contains(res.Text, "1 step away") {
		t.Errorf("%+v\n%s", deps, res.Text)
	}
	if told := k.fails(ken.CodeNotFound, "graph_refs", `{"name":"money.Nothing"}`); !strings.Contains(told, "graph_search") {
		t.Errorf("told %q", told)
	}
}

// An answer is not behind the files by more than looking costs; a name that is two
// things says which.
func TestGraphToolsFollowFiles(t *testing.T) {
	k := newKit(t)
	now := time.Now()
	k.registry = tools.New(k.layer, func(o *tools.Options) { o.Now = func() time.Time { return now } })
	k.files(shop())
	var refs tools.RefsOutput
	k.call(&refs, "graph_refs", `{"name":"Sum"}`)
	k.files(map[string]string{"cart/more.go": "package cart\n\nfunc Sum() {}\n"})
	now = now.Add(2 * time.Second)
	told := k.fails(ken.CodeInvalid, "graph_refs", `{"name":"Sum"}`)
	for _, id := range []string{"function:example.com/shop/money.Sum", "function:example.com/shop/cart.Sum"} {
		if !strings.Contains(told, id) {
			t.Errorf("%q does not name %s", told, id)
		}
		k.call(&refs, "graph_refs", `{"name":"`+id+`"}`)
	}
}

func TestGraphPages(t *testing.T) {
	k := newKit(t)
	k.files(crowded(strings.Repeat("x ", 300)))
	seen := map[string]bool{}
	for offset := 0; ; {
		var refs tools.RefsOutput
		k.call(&refs, "graph_refs", mustJSON(map[string]any{"name": "vault.Open", "kinds": []string{"calls"}, "limit": 50, "offset": offset}))
		for _, r := range refs.Refs {
			if seen[r.From.ID] {
				t.Fatalf("%s twice", r.From.ID)
			}
			seen[r.From.ID] = true
		}
		if refs.Next == 0 {
			break
		}
		offset = refs.Next
	}
	if len(seen) != 120 {
		t.Errorf("%d of 120 callers", len(seen))
	}
}
