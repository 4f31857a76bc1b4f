// Package trained judges statements with three small models, made from examples that people would
// agree on rather than from lists of words.
//
//   - [Worth] is how likely a sentence of a user is worth knowing in a later session and can be
//     understood by itself.
//   - [Replaces] is how likely a later statement replaces an earlier one, wholly or in one value.
//   - [Subject] is which words of a sentence are what it is about.
//
// The examples are in testdata/worlds: small worlds (a to i), each with what people said in two or
// three sessions, and contrasts (p to u), in which several statements follow the same one. Their
// authors knew neither the rules of the harvest nor its evaluation. TestModels measures on worlds
// that the model at hand was not trained on; with -update it trains on all.
//
// A model is a sum of weights over features, which are found by the hashes of their names: words
// that name nothing as they are, other words by their stems or their kind (a name, a number, a
// date), what two statements share and where they differ, and likeness by the built-in embedding
// table.
//
// Caveats. All judge words, not the world: a joke told in earnest is worth keeping. The languages
// of the examples are English and, with half as many together, German, French, Spanish, Portuguese,
// Chinese and Japanese.
package trained

import (
	"bytes"
	"compress/gzip"
	_ "embed" // for the models
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
)

// Worth returns how likely a sentence of a user is worth knowing later, from 0 to 1. It is safe
// for concurrent use.
func Worth(sentence string) float64 {
	return worthModel().score(worthFeatures(sentence))
}

// Replaces returns how likely the statement after replaces the statement before, wholly or in one
// value, from 0 to 1. It is safe for concurrent use.
func Replaces(before, after string) float64 {
	return replacesModel().score(pairFeatures(before, after))
}

//go:embed worth.model
var worthFile []byte

//go:embed subject.model
var subjectFile []byte

//go:embed replaces.model
var replacesFile []byte

var (
	worthModel    = sync.OnceValue(func() *model { return mustDecode(worthFile) })
	subjectModel  = sync.OnceValue(func() *model { return mustDecode(subjectFile) })
	replacesModel = sync.OnceValue(func() *model { return mustDecode(replacesFile) })
)

// model is the weights of sparse features, and what they are added to.
type model struct {
	bias    float32
	weights []float32
}

// score returns a probability.
func (m *model) score(list []feature) float64 {
	z := m.bias
	for _, f := range list {
		z += m.weights[int(f.at)%len(m.weights)] * f.x
	}
	return 1 / (1 + math.Exp(-float64(z)))
}

// shares returns the probability of each alternative, of which one is right.
func (m *model) shares(alternatives [][]feature) []float64 {
	p := make([]float64, len(alternatives))
	sum, most := 0.0, math.Inf(-1)
	for i, list := range alternatives {
		z := float32(0)
		for _, f := range list {
			z += m.weights[int(f.at)%len(m.weights)] * f.x
		}
		p[i] = float64(z)
		most = max(most, p[i])
	}
	for i := range p {
		p[i] = math.Exp(p[i] - most)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// magic begins a model's file.
const magic = "ken-trained-1\n"

// encode writes a model: its weights in 8 bits each, compressed. The square root spends the bits
// on the many small weights.
func (m *model) encode() []byte {
	most := float32(math.SmallestNonzeroFloat32)
	for _, w := range m.weights {
		most = max(most, float32(math.Abs(float64(w))))
	}
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	_, _ = io.WriteString(z, magic)
	_ = binary.Write(z, binary.LittleEndian, header{uint32(len(m.weights)), m.bias, most})
	for _, w := range m.weights {
		q := math.Copysign(math.Round(127*math.Sqrt(math.Abs(float64(w/most)))), float64(w))
		_, _ = z.Write([]byte{byte(int8(q))})
	}
	_ = z.Close()
	return b.Bytes()
}

type header struct {
	Weights    uint32
	Bias, Most float32
}

// mostWeights bounds what decode takes.
const mostWeights = 1 << 20

func decode(data []byte) (*model, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(z, head); err != nil || string(head) != magic {
		return nil, errors.Join(errors.New("no model of this package"), err)
	}
	var h header
	if err := binary.Read(z, binary.LittleEndian, &h); err != nil {
		return nil, err
	}
	if h.Weights == 0 || h.Weights > mostWeights {
		return nil, fmt.Errorf("a model of %d weights", h.Weights)
	}
	q := make([]byte, h.Weights)
	if _, err := io.ReadFull(z, q); err != nil {
		return nil, err
	}
	m := &model{bias: h.Bias, weights: make([]float32, h.Weights)}
	for i, b := range q {
		x := float32(int8(b)) / 127
		m.weights[i] = x * float32(math.Abs(float64(x))) * h.Most
	}
	return m, nil
}

// mustDecode reads a model that comes with the program.
func mustDecode(data []byte) *model {
	m, err := decode(data)
	if err != nil {
		panic("internal/trained: " + err.Error())
	}
	return m
}
