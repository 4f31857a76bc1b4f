package structure

import (
	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

// DependencyTypes lists how one thing may depend on another. The caller owns the
// slice.
func DependencyTypes() []string {
	return []string{reading.Uses, reading.Requires, reading.OwnedBy, reading.Blocks, reading.Informs}
}

// DependencyKey is the key of the claim that source depends on target in that way, so
// that there is one in each scope, whoever writes it. Both are spelled as
// analysis.Entity does.
func DependencyKey(source, typ, target string, scope ken.Scope) string {
	return Scoped("dependency:"+source+separator+typ+separator+target, scope)
}

// Scoped is a key within a scope: what one says of a name must not overwrite what
// another does. Without a scope it is the key itself.
func Scoped(key string, scope ken.Scope) string {
	if scope.IsZero() {
		return key
	}
	return key + separator + scope.String()
}

// separator stands between the parts of a key: no name holds it.
const separator = "\x1f"

// Sentence says a dependency in words: payments is owned by ada.
func Sentence(source, typ, target string) string {
	if typ == reading.OwnedBy {
		typ = "is owned by"
	}
	return source + " " + typ + " " + target
}
