// Package itemid reads and makes the short ids of a block's items.
package itemid

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
)

// Kinds of items whose short id comes from a hash.
const (
	KindObjectives ken.Kind = "objectives"
	KindSymbol     ken.Kind = "symbol"
)

// Bare returns an id in lower case and without the marks that a block puts around it, as
// in "[k:0e7f75]".
func Bare(id string) string {
	id = strings.TrimPrefix(strings.TrimSuffix(strings.TrimSpace(id), "]"), "[")
	return strings.TrimPrefix(strings.ToLower(id), guardrail.ItemMark[1:])
}

// Ending returns the string whose end is an item's short id. That is the id or, for a symbol and the
// objectives, a hash of the id, because the end of the id itself would begin in the middle of a word.
func Ending(id string, kind ken.Kind) string {
	if kind != KindSymbol && kind != KindObjectives {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}
