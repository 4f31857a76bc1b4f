package memorytests

import (
	"testing"

	"github.com/kenlayer/ken/evals/cases"
	"github.com/kenlayer/ken/evals/cases/casestest"
)

// A Go program tests what its agent remembers beside its code.
func TestMemory(t *testing.T) {
	casestest.Run(t, cases.Options{}, "cases.yaml")
}
