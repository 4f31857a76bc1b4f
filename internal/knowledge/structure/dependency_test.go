package structure_test

import (
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
)

// Stores have these keys: with others, every dependency would be there twice.
func TestKeysOfDependencies(t *testing.T) {
	if k := structure.DependencyKey("a b", "uses", "c/d", ken.Scope{}); k != "dependency:a b\x1fuses\x1fc/d" {
		t.Errorf("%q", k)
	}
	if k := structure.DependencyKey("a", "owned_by", "b", ken.Scope{Type: ken.ScopeProject, ID: "shop"}); k != "dependency:a\x1fowned_by\x1fb\x1fproject:shop" {
		t.Errorf("%q", k)
	}
}
