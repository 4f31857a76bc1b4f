package codegraph

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// TestShop compares the resolved names with a golden file. A difference is a change in behaviour.
func TestShop(t *testing.T) {
	got := export(t, newShop().View())
	name := filepath.Join("testdata", "shop.json")
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var doc struct {
		Version int
		Nodes   []map[string]any
		Edges   []map[string]any
	}
	if err := json.Unmarshal([]byte(got), &doc); err != nil {
		t.Fatal(err)
	}
	if c := newShop().View().Counts(); doc.Version != exportVersion || len(doc.Nodes) != c.Nodes || len(doc.Edges) != c.Edges {
		t.Errorf("version %d, %d nodes, %d edges; counts %+v", doc.Version, len(doc.Nodes), len(doc.Edges), c)
	}
	if strings.Contains(got, "AKIA") {
		t.Error("a secret got into the graph")
	}
}
