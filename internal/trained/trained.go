// Package trained judges statements with three small models. They were trained on examples whose
// labels people would agree on, and use no hand-written word lists of cues.
//
//   - [Worth] is the probability that a user's sentence is worth knowing in a later session
//     and can be understood on its own.
//   - [Replaces] is the probability that a later statement replaces an earlier one,
//     completely or in one value.
//   - [Subject] finds the words of a sentence that say what it is about.
//
// The examples are in testdata/worlds. There are small worlds (a to i), each with what people said
// in two or three sessions, and contrasts (p to u), in which several statements follow the same
// one. Their authors knew neither the rules of the harvest nor its evaluation. TestModels measures
// each model on worlds that it was not trained on; with -update it trains on all.
//
// A model is a sum of weights over features, which are identified by the hashes of their names.
// Features are: function words as they are, other words by stem or kind (a name, a number, a
// date), what two statements have in common and where they differ, and similarity by the built-in
// embedding table.
//
// Caveats. The models judge words and know nothing about the world: a joke without a sign of one
// may be kept. The examples are in English and, half as many in total, in German, French, Spanish,
// Portuguese, Chinese and Japanese.
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

// Worth returns the probability, 0 to 1, that a user's sentence is worth knowing later. It is safe
// for concurrent use.
func Worth(sentence string) float64 {
	return worthModel().score(worthFeatures(sentence))
}

// Replaces returns the probability, 0 to 1, that the statement after replaces the statement
// before, completely or in one value. It is safe for concurrent use.
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

// model holds the weights of hashed features, and the bias.
type model struct {
	bias    float32
	weights []float32
}

// score returns the probability for a list of features.
func (m *model) score(list []feature) float64 {
	return 1 / (1 + math.Exp(-float64(m.sum(m.bias, list))))
}

// sum adds the weights of features to z.
func (m *model) sum(z float32, list []feature) float32 {
	for _, f := range list {
		z += m.weights[int(f.at)%len(m.weights)] * f.x
	}
	return z
}

// shares returns the probability of each alternative, exactly one of which is right.
func (m *model) shares(alternatives [][]feature) []float64 {
	p := make([]float64, len(alternatives))
	sum, most := 0.0, math.Inf(-1)
	for i, list := range alternatives {
		p[i] = float64(m.sum(0, list))
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

// magic is the beginning of a model's file.
const magic = "ken-trained-1\n"

type header struct {
	Weights    uint32
	Bias, Most float32
}

// mostWeights is the maximum number of weights that decode accepts.
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

// mustDecode decodes an embedded model. It panics if the file is invalid.
func mustDecode(data []byte) *model {
	m, err := decode(data)
	if err != nil {
		panic("internal/trained: " + err.Error())
	}
	return m
}
