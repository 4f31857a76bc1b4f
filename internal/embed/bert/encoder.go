package bert

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"

	"github.com/kenlayer/ken/internal/embed/kernel"
	"github.com/kenlayer/ken/internal/embed/safetensors"
	"github.com/kenlayer/ken/internal/embed/tokenizer"
)

// Encoder is a model in memory. It is safe for concurrent use.
type Encoder struct {
	config    *config
	weights   *weights
	tokenizer *tokenizer.Tokenizer
	name      string
	memory    sync.Pool // of *memory
}

// Read reads the model in a folder, with its weights in float32 or in 8 bits. Errors name the
// file and the part that is wrong. For valid files that are not supported, they wrap
// ErrUnsupported, safetensors.ErrUnsupported or tokenizer.ErrUnsupported.
func Read(folder string, int8s bool) (*Encoder, error) {
	c, err := readConfig(folder)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %d %d %v %v %d %q %q\n", c.Kind, c.Layers, c.Heads, c.first, c.Epsilon, c.maxTokens, c.query, c.passage)
	t, file, err := readTokenizer(folder)
	if err != nil {
		return nil, err
	}
	sum.Write(file)
	before, after := t.Around()
	if t.Size() > c.Vocabulary {
		return nil, fmt.Errorf("the tokenizer has %d tokens and config.json %d", t.Size(), c.Vocabulary)
	}
	if c.maxTokens <= len(before)+len(after) || c.first && len(before) == 0 {
		return nil, fmt.Errorf("a text of %d tokens with %d special ones", c.maxTokens, len(before)+len(after))
	}
	if file, err = readFile(folder, "model.safetensors", safetensors.MaxBytes); err != nil {
		return nil, err
	}
	sum.Write(file)
	w, err := readWeights(file, c, int8s)
	if err != nil {
		return nil, fmt.Errorf("model.safetensors: %w", err)
	}
	e := &Encoder{config: c, weights: w, tokenizer: t}
	e.name = modelName(folder, c) + ":" + hex.EncodeToString(sum.Sum(nil)[:8])
	if int8s {
		e.name += ":int8"
	}
	e.memory.New = func() any { return new(memory) }
	return e, nil
}

// modelName returns a readable name: the folder's, or the one in config.json if the folder is
// named by a hash.
func modelName(folder string, c *config) string {
	name := filepath.Base(folder)
	if abs, err := filepath.Abs(folder); err == nil {
		name = filepath.Base(abs)
	}
	if _, err := hex.DecodeString(name); err == nil && c.Path != "" {
		name = filepath.Base(filepath.ToSlash(c.Path))
	}
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_.", r) {
			return r
		}
		return '-'
	}, name)
}

// readTokenizer reads tokenizer.json, or if it is missing, vocab.txt with tokenizer_config.json.
func readTokenizer(folder string) (*tokenizer.Tokenizer, []byte, error) {
	file, err := readFile(folder, "tokenizer.json", maxTokenizer)
	var t *tokenizer.Tokenizer
	if err == nil {
		if t, err = tokenizer.Parse(file); err != nil {
			return nil, nil, fmt.Errorf("tokenizer.json: %w", err)
		}
	} else {
		lines, verr := readFile(folder, "vocab.txt", maxTokenizer)
		if verr != nil {
			return nil, nil, err // the error about tokenizer.json
		}
		s := struct {
			Lower   bool  `json:"do_lower_case"`
			Chinese bool  `json:"tokenize_chinese_chars"`
			Strip   *bool `json:"strip_accents"`
		}{Lower: true, Chinese: true}
		if err := readJSON(folder, "tokenizer_config.json", &s); err != nil {
			return nil, nil, err
		}
		v := tokenizer.Vocabulary{Lines: lines, Lower: s.Lower, StripAccents: s.Lower, Chinese: s.Chinese}
		if s.Strip != nil {
			v.StripAccents = *s.Strip
		}
		if t, err = v.Parse(); err != nil {
			return nil, nil, fmt.Errorf("vocab.txt: %w", err)
		}
		file = fmt.Appendf(lines, "\n%v", s.Lower)
	}
	t.KeepUnknown()
	return t, file, nil
}

// Name returns the model's name and a hash of everything that affects its vectors.
func (e *Encoder) Name() string { return e.name }

// Dim returns the number of dimensions.
func (e *Encoder) Dim() int { return e.config.Hidden }

// Bytes returns the memory size of the weights.
func (e *Encoder) Bytes() int { return e.weights.bytes }

// Prefixes returns the prefixes for a question and for a text that is searched.
func (e *Encoder) Prefixes() (query, passage string) { return e.config.query, e.config.passage }

// maxText is the number of bytes of a text that are read. A model's longest text, some 512
// tokens, is shorter, unless its words have hundreds of letters.
const maxText = 64 << 10

// Tokens returns the tokens of a text, special ones included, cut at the model's maximum.
func (e *Encoder) Tokens(text string) []int32 {
	if len(text) > maxText {
		text = text[:maxText] // an incomplete character at the end is dropped as invalid
	}
	before, after := e.tokenizer.Around()
	ids := e.tokenizer.Tokens(new(tokenizer.Memory), text, append([]int32(nil), before...))
	return append(ids[:min(len(ids), e.config.maxTokens-len(after))], after...)
}

// Blank reports whether tokens are only the special ones.
func (e *Encoder) Blank(tokens []int32) bool {
	before, after := e.tokenizer.Around()
	return len(tokens) <= len(before)+len(after)
}

// memory is the working memory of one call: some 14 KB per token at a hidden size of 384, and the
// square of the longest text.
type memory struct {
	x, y, qkv, up, scores []float32
	keys, values          kernel.Floats
	left                  kernel.Left
}

func grow(x *[]float32, n int) []float32 {
	if cap(*x) < n {
		*x = make([]float32, n)
	}
	*x = (*x)[:n]
	return *x
}

// Encode returns the vectors of texts, without scaling to unit length, computed on the calling
// goroutine. The tokens must come from Tokens. It checks ctx between layers.
func (e *Encoder) Encode(ctx context.Context, texts [][]int32) ([][]float32, error) {
	m := e.memory.Get().(*memory)
	defer e.memory.Put(m)
	c, w := e.config, e.weights
	h, total := c.Hidden, 0
	for _, ids := range texts {
		total += len(ids)
	}
	x := grow(&m.x, total*h)
	y := grow(&m.y, total*h)
	clear(x)
	clear(y)
	row := 0
	for _, ids := range texts {
		for i, id := range ids {
			at := x[row*h:][:h]
			w.words.add(at, int(id))
			kernel.Normalize(at, w.positions[(i+c.positionOffset())*h:][:h], w.first.gamma, w.first.beta, c.Epsilon)
			row++
		}
	}
	qkv, up := grow(&m.qkv, total*3*h), grow(&m.up, total*c.Intermediate)
	for i := range w.layers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		l := &w.layers[i]
		l.qkv.apply(m, qkv, 3*h, x, h, total)
		row = 0
		for _, ids := range texts {
			e.attend(m, y[row*h:], qkv[row*3*h:], len(ids))
			row += len(ids)
		}
		out := qkv[:total*h]
		l.out.apply(m, out, h, y, h, total)
		normalize(x, out, &l.attention, c)
		l.up.apply(m, up, c.Intermediate, x, h, total)
		kernel.GELU(up)
		l.down.apply(m, out, h, up, c.Intermediate, total)
		normalize(x, out, &l.last, c)
	}
	return e.pool(texts, x), nil
}

// apply sets the n rows of y, of out numbers each, to the layer's output for the rows of x.
func (l *linear) apply(m *memory, y []float32, out int, x []float32, in, n int) {
	if l.bytes != nil {
		m.left.Quantize(x, n, in)
		l.bytes.Multiply(y, out, &m.left, l.bias)
		return
	}
	l.floats.Multiply(y, out, x, in, n, l.bias)
}

// normalize adds y to x and normalizes the rows.
func normalize(x, y []float32, s *scaling, c *config) {
	for at := 0; at < len(x); at += c.Hidden {
		kernel.Normalize(x[at:][:c.Hidden], y[at:][:c.Hidden], s.gamma, s.beta, c.Epsilon)
	}
}

// attend computes the attention of one text of n tokens: for each head softmax(q kᵀ/√d) v.
func (e *Encoder) attend(m *memory, y, qkv []float32, n int) {
	h, d := e.config.Hidden, e.config.Hidden/e.config.Heads
	padded := kernel.Padded(n)
	scores := grow(&m.scores, n*padded)
	zeros := make([]float32, max(padded, kernel.Padded(d)))
	hidden := float32(math.Inf(-1))
	result := make([]float32, n*kernel.Padded(d))
	for at := 0; at < h; at += d {
		m.keys.Reset(d, n)
		m.values.Reset(padded, d)
		for i := range n {
			m.keys.SetColumn(i, qkv[i*3*h+h+at:][:d])
			m.values.SetRow(i, qkv[i*3*h+2*h+at:][:d])
		}
		m.keys.Multiply(scores, padded, qkv[at:], 3*h, n, zeros)
		for i := range n {
			row := scores[i*padded:][:padded]
			for j := n; j < padded; j++ {
				row[j] = hidden
			}
			kernel.Softmax(row, float32(1/math.Sqrt(float64(d))))
		}
		m.values.Multiply(result, kernel.Padded(d), scores, padded, n, zeros)
		for i := range n {
			copy(y[i*h+at:][:d], result[i*kernel.Padded(d):])
		}
	}
}

// pool returns one vector per text.
func (e *Encoder) pool(texts [][]int32, x []float32) [][]float32 {
	h := e.config.Hidden
	out := make([][]float32, len(texts))
	for t, ids := range texts {
		v := make([]float32, h)
		rows := len(ids)
		if e.config.first {
			rows = min(rows, 1)
		}
		for r := range rows {
			for i, n := range x[r*h:][:h] {
				v[i] += n
			}
		}
		out[t], x = v, x[len(ids)*h:]
	}
	return out
}
