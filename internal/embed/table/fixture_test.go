package table_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/embed/table"
)

const english = "the of to and a in is on it deploy pipeline runs every push main cats sleep for most day func open path string error cat sat mat new york"

// tokens are letters, digits and some words.
func tokens() []string {
	var all []string
	for r := 'b'; r <= 'z'; r++ {
		all = append(all, string(r))
	}
	for r := '0'; r <= '9'; r++ {
		all = append(all, string(r))
	}
	return append(append(all, strings.Fields(english)...), "new york")
}

// model is a small model with random rows.
func model(t testing.TB, dim int) *table.Model {
	t.Helper()
	toks := tokens()
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([]float32, len(toks)*dim)
	for i := range rows {
		rows[i] = float32(r.NormFloat64())
	}
	m, err := table.New(toks, rows, dim, table.Info{About: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
