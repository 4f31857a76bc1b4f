package memorytests

import (
	"testing"

	"github.com/kenlayer/ken/evals"
)

// A Go program tests what its agent remembers beside its code.
func TestMemory(t *testing.T) {
	evals.Run(t, evals.Options{}, "cases.yaml")
}
