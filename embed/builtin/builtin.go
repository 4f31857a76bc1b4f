// Package builtin is the embedding table that comes with Ken. MODEL_CARD.md in its
// folder says what it was trained on, under which licences, and how good it is.
package builtin

import (
	_ "embed" // for model
	"sync"

	"github.com/kenlayer/ken/internal/embed/table"
)

//go:embed model.ken
var model []byte

// Open returns the built-in table, the same one each time. The first call takes some
// milliseconds.
func Open() (*table.Model, error) { return open() }

var open = sync.OnceValues(func() (*table.Model, error) { return table.Open(model) })
