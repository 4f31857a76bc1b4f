package bert

import (
	"fmt"
	"strings"

	"github.com/kenlayer/ken/internal/embed/kernel"
	"github.com/kenlayer/ken/internal/embed/safetensors"
)

// linear holds the weights of a layer, in float32 or in 8 bits, and its bias, padded.
type linear struct {
	floats *kernel.Floats
	bytes  *kernel.Bytes
	bias   []float32
}

// scaling holds the weights of a layer normalisation.
type scaling struct{ gamma, beta []float32 }

type layer struct {
	qkv, out, up, down linear
	attention, last    scaling
}

// words is the table of token vectors, in float32 or in 8 bits with a scale for each row.
type words struct {
	floats []float32
	bytes  []int8
	scale  []float32
}

// add adds the vector of a token to x.
func (w *words) add(x []float32, token int) {
	n := len(x)
	if w.bytes == nil {
		for i, v := range w.floats[token*n:][:n] {
			x[i] += v
		}
		return
	}
	for i, v := range w.bytes[token*n:][:n] {
		x[i] += float32(v) * w.scale[token]
	}
}

func (w *words) quantize(n int) {
	w.bytes, w.scale = make([]int8, len(w.floats)), make([]float32, len(w.floats)/n)
	for r := range w.scale {
		row := w.floats[r*n:][:n]
		largest := float32(0)
		for _, v := range row {
			largest = max(largest, v, -v)
		}
		if largest == 0 {
			continue
		}
		w.scale[r] = largest / 127
		for i, v := range row {
			q := v / w.scale[r]
			if q >= 0 {
				q += 0.5
			} else {
				q -= 0.5
			}
			w.bytes[r*n+i] = int8(q)
		}
	}
	w.floats = nil
}

// weights holds the numbers of model.safetensors, packed for the kernels.
type weights struct {
	words     words
	positions []float32 // with the vector of the first token type, row after row
	first     scaling
	layers    []layer
	bytes     int
}

// tensors extracts tensors from a file by name and shape, and keeps the first error.
type tensors struct {
	all    map[string]safetensors.Tensor
	prefix string
	err    error
}

func (t *tensors) take(name string, shape ...int) []float32 {
	n := 1
	for _, d := range shape {
		n *= d
	}
	fail := func(format string, args ...any) []float32 {
		if t.err == nil {
			t.err = fmt.Errorf("tensor %s: "+format, append([]any{t.prefix + name}, args...)...)
		}
		return make([]float32, n)
	}
	if t.err != nil {
		return make([]float32, n)
	}
	x, ok := t.all[t.prefix+name]
	if !ok { // the name in the first BERT checkpoints
		old := strings.NewReplacer("LayerNorm.weight", "LayerNorm.gamma", "LayerNorm.bias", "LayerNorm.beta").Replace(name)
		x, ok = t.all[t.prefix+old]
	}
	if !ok {
		return fail("missing")
	}
	if fmt.Sprint(x.Shape) != fmt.Sprint(shape) {
		return fail("its shape is %v and config.json says %v", x.Shape, shape)
	}
	v, err := x.Floats()
	if err != nil {
		return fail("%w", err)
	}
	return v
}

func (t *tensors) scaling(name string, n int) scaling {
	return scaling{t.take(name+".LayerNorm.weight", n), t.take(name+".LayerNorm.bias", n)}
}

// readWeights reads the tensors that c requires.
func readWeights(file []byte, c *config, int8s bool) (*weights, error) {
	all, err := safetensors.Parse(file)
	if err != nil {
		return nil, err
	}
	t := &tensors{all: all}
	for _, prefix := range []string{"", "bert.", "roberta.", "model."} {
		if _, ok := all[prefix+"embeddings.word_embeddings.weight"]; ok {
			t.prefix = prefix
		}
	}
	h := c.Hidden
	w := &weights{}
	w.words.floats = t.take("embeddings.word_embeddings.weight", c.Vocabulary, h)
	w.positions = t.take("embeddings.position_embeddings.weight", c.Positions, h)
	if kind, ok := all[t.prefix+"embeddings.token_type_embeddings.weight"]; ok && len(kind.Shape) == 2 {
		first := t.take("embeddings.token_type_embeddings.weight", kind.Shape[0], h)
		if kind.Shape[0] > 0 && len(first) >= h {
			for i := range w.positions {
				w.positions[i] += first[i%h]
			}
		}
	}
	w.first = t.scaling("embeddings", h)
	pack := func(floats []float32, out, in int, bias []float32) linear {
		l := linear{bias: make([]float32, kernel.Padded(out))}
		copy(l.bias, bias)
		if int8s {
			l.bytes = kernel.PackBytes(floats, out, in)
			w.bytes += l.bytes.Bytes()
		} else {
			l.floats = kernel.Pack(floats, out, in)
			w.bytes += l.floats.Bytes()
		}
		return l
	}
	dense := func(name string, out, in int) linear {
		return pack(t.take(name+".weight", out, in), out, in, t.take(name+".bias", out))
	}
	for i := range c.Layers {
		at := fmt.Sprintf("encoder.layer.%d.", i)
		var qkv, bias []float32
		for _, name := range []string{"query", "key", "value"} {
			qkv = append(qkv, t.take(at+"attention.self."+name+".weight", h, h)...)
			bias = append(bias, t.take(at+"attention.self."+name+".bias", h)...)
		}
		w.layers = append(w.layers, layer{qkv: pack(qkv, 3*h, h, bias),
			out: dense(at+"attention.output.dense", h, h), attention: t.scaling(at+"attention.output", h),
			up: dense(at+"intermediate.dense", c.Intermediate, h), down: dense(at+"output.dense", h, c.Intermediate), last: t.scaling(at+"output", h)})
		if t.err != nil {
			return nil, t.err
		}
	}
	if int8s {
		w.words.quantize(h)
	}
	w.bytes += 4*len(w.words.floats) + len(w.words.bytes) + 4*len(w.words.scale) + 4*len(w.positions)
	return w, nil
}
