package static

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/embed/safetensors"
	"github.com/kenlayer/ken/internal/embed/tokenizer"
)

var _ embed.Embedder = (*model)(nil)

// Limits on input: the largest published models are well below.
const (
	maxTokenizer = 32 << 20 // bytes of tokenizer.json
	maxText      = 32 << 10 // bytes of a text; the rest is not embedded
)

// model is the embed.Embedder of one table of token vectors.
type model struct {
	name      string
	tokenizer *tokenizer.Tokenizer
	table     *table
	scratch   sync.Pool // of *scratch
}

// scratch is the working memory of one text.
type scratch struct {
	tokenizing tokenizer.Memory
	ids        []int32
}

// Open reads a model2vec folder. The embedder keeps its table in memory, 4 bytes per number, and
// is safe for concurrent use. Errors are *ken.Error: invalid when the folder isn't a model2vec
// folder or its tokenizer has an unsupported type, corrupt when a file is inconsistent.
func Open(folder string) (embed.Embedder, error) {
	tensors, err := safetensors.ReadFile(filepath.Join(folder, "model.safetensors"), safetensors.MaxBytes)
	if err != nil {
		return nil, notAModel(folder, err)
	}
	tokens, err := safetensors.ReadFile(filepath.Join(folder, "tokenizer.json"), maxTokenizer)
	if err != nil {
		return nil, notAModel(folder, err)
	}
	tok, err := tokenizer.Parse(tokens)
	if err != nil {
		return nil, explain(filepath.Join(folder, "tokenizer.json"), err)
	}
	table, err := parseTable(tensors, tok.Size())
	if err != nil {
		return nil, explain(filepath.Join(folder, "model.safetensors"), err)
	}
	sum := sha256.New()
	sum.Write(tensors)
	sum.Write(tokens)
	m := &model{name: "static:" + hex.EncodeToString(sum.Sum(nil)[:8]), tokenizer: tok, table: table}
	m.scratch.New = func() any { return new(scratch) }
	return m, nil
}

func notAModel(folder string, err error) error {
	msg := folder + " can't be read as a model2vec folder"
	if missing, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrNotExist) {
		msg = folder + " has no " + filepath.Base(missing.Path)
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: "knowledge.embed_path", Msg: msg, Err: err,
		Try: "Name a folder that holds the model.safetensors and tokenizer.json of a model2vec model."}
}

func explain(path string, err error) error {
	if errors.Is(err, tokenizer.ErrUnsupported) || errors.Is(err, safetensors.ErrUnsupported) {
		return &ken.Error{Code: ken.CodeInvalid, Field: "knowledge.embed_path", Msg: "read " + path, Err: err,
			Try: "Choose a model2vec model with a WordPiece or Unigram tokenizer, such as potion-base-8M."}
	}
	return &ken.Error{Code: ken.CodeCorrupt, Field: "knowledge.embed_path", Msg: "read " + path, Err: err,
		Try: "Copy the model again: the file is damaged or incomplete."}
}

// Model implements embed.Embedder: "static:" and a hash of the two files. So a model that
// replaces another one under the same path is a different space.
func (m *model) Model() string { return m.name }

// Dim implements embed.Embedder.
func (m *model) Dim() int { return m.table.dim }

// Local reports true: nothing leaves the process.
func (m *model) Local() bool { return true }

// Embed implements embed.Embedder. Large batches use all cores.
func (m *model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return embed.Batch(ctx, texts, func(text string) []float32 {
		s := m.scratch.Get().(*scratch)
		defer m.scratch.Put(s)
		return m.embed(s, text)
	})
}

func (m *model) embed(s *scratch, text string) []float32 {
	if len(text) > maxText {
		text = text[:maxText] // an incomplete character at the end is dropped as invalid
	}
	if strings.TrimSpace(text) == "" {
		return nil // some tokenizers have a token for a space
	}
	s.ids = m.tokenizer.Tokens(&s.tokenizing, text, s.ids[:0])
	v := m.table.mean(s.ids)
	if v == nil || embed.Unit(v) != nil { // nil also if the vectors of the tokens cancel out
		return nil
	}
	return v
}

// table holds the vectors of the tokens. With a quantised vocabulary, tokens share rows and
// differ in weight.
type table struct {
	dim    int
	values []float32 // row after row
	row    []int32   // by token; nil: a token's row is its number
	weight []float32 // by token; nil: all 1
}

// parseTable reads model.safetensors for a vocabulary of the given number of tokens.
func parseTable(file []byte, tokens int) (*table, error) {
	tensors, err := safetensors.Parse(file)
	if err != nil {
		return nil, err
	}
	e, ok := tensors["embeddings"]
	if !ok {
		e, ok = tensors["embedding.weight"] // the name in sentence-transformers
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

// mean returns the sum of the weighted vectors of the tokens, nil for no tokens. It doesn't
// divide by their number: the caller scales it to unit length.
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

// addScaled adds k*v to sum. Four numbers at a time is twice as fast as one.
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
