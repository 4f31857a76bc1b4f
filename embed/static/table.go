package static

import (
	"fmt"

	"github.com/kenlayer/ken/internal/embed/safetensors"
)

// table is the vectors of the tokens. With a quantised vocabulary, tokens share
// rows and differ in weight.
type table struct {
	dim    int
	values []float32 // row after row
	row    []int32   // by token; nil: a token's row is its number
	weight []float32 // by token; nil: all 1
}

// parseTable reads model.safetensors for a vocabulary of so many tokens.
func parseTable(file []byte, tokens int) (*table, error) {
	tensors, err := safetensors.Parse(file)
	if err != nil {
		return nil, err
	}
	e, ok := tensors["embeddings"]
	if !ok {
		e, ok = tensors["embedding.weight"] // as sentence-transformers names it
	}
	if !ok || len(e.Shape) != 2 || e.Shape[1] == 0 {
		return nil, fmt.Errorf("no tensor embeddings of two dimensions")
	}
	t := &table{dim: e.Shape[1]}
	if t.values, err = e.Floats(); err != nil {
		return nil, fmt.Errorf("embeddings: %w", err)
	}
	rows := e.Shape[0]
	if m, ok := tensors["mapping"]; ok {
		if t.row, err = m.Rows(rows); err != nil {
			return nil, fmt.Errorf("mapping: %w", err)
		}
		rows = len(t.row)
	}
	if rows < tokens {
		return nil, fmt.Errorf("%d rows for the tokenizer's %d tokens", rows, tokens)
	}
	if w, ok := tensors["weights"]; ok {
		if t.weight, err = w.Floats(); err != nil {
			return nil, fmt.Errorf("weights: %w", err)
		}
		if len(t.weight) < tokens {
			return nil, fmt.Errorf("%d weights for the tokenizer's %d tokens", len(t.weight), tokens)
		}
	}
	return t, nil
}

// mean adds the weighted vectors of the tokens, nil for no tokens. It is not
// divided by their number: the caller scales it to unit length.
func (t *table) mean(ids []int32) []float32 {
	if len(ids) == 0 {
		return nil
	}
	sum := make([]float32, t.dim)
	for _, id := range ids {
		row, weight := int(id), float32(1)
		if t.row != nil {
			row = int(t.row[id])
		}
		if t.weight != nil {
			weight = t.weight[id]
		}
		addScaled(sum, t.values[row*t.dim:][:t.dim], weight)
	}
	return sum
}

// addScaled adds k*v to sum. Four at a time is twice as fast as one.
func addScaled(sum, v []float32, k float32) {
	v = v[:len(sum)]
	for len(sum) >= 4 {
		a, b := sum[:4:4], v[:4:4]
		a[0] += k * b[0]
		a[1] += k * b[1]
		a[2] += k * b[2]
		a[3] += k * b[3]
		sum, v = sum[4:], v[4:]
	}
	for i := range sum {
		sum[i] += k * v[i]
	}
}
