package static_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/embed/static"
	"github.com/kenlayer/ken/internal/evaldata"
)

// sample is the sample model, read once for all tests.
var sample struct {
	once  sync.Once
	model embed.Embedder
	err   error
}

func tiny(t testing.TB) embed.Embedder {
	t.Helper()
	folder := evaldata.Dir(t, "model2vec-tiny")
	sample.once.Do(func() { sample.model, sample.err = static.Open(folder) })
	if sample.err != nil {
		t.Fatal(sample.err)
	}
	return sample.model
}

func embedAll(t testing.TB, m embed.Embedder, texts ...string) [][]float32 {
	t.Helper()
	vectors, err := m.Embed(context.Background(), texts)
	if err != nil {
		t.Fatal(err)
	}
	return vectors
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func readTexts(t *testing.T, path string) (ids, texts []string) {
	t.Helper()
	for line := range lines(t, path) {
		var d struct {
			ID   string `json:"_id"`
			Text string `json:"text"`
		}
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		ids, texts = append(ids, d.ID), append(texts, d.Text)
	}
	return ids, texts
}

func readGold(t *testing.T, path string) map[string]string {
	t.Helper()
	gold := map[string]string{}
	for line := range lines(t, path) {
		if f := strings.Fields(line); len(f) == 3 {
			gold[f[0]] = f[1]
		}
	}
	return gold
}

func lines(t *testing.T, path string) func(yield func(string) bool) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(string) bool) {
		s := bufio.NewScanner(bytes.NewReader(content))
		s.Buffer(nil, 16<<20)
		for s.Scan() && yield(s.Text()) {
		}
	}
}

// tensor is one entry of a safetensors file that a test writes.
type tensor struct {
	dtype string
	shape []int
	data  []byte
}

func f32(rows, cols int, values ...float32) tensor {
	t := tensor{dtype: "F32", shape: []int{rows, cols}}
	for _, v := range values {
		t.data = binary.LittleEndian.AppendUint32(t.data, math.Float32bits(v))
	}
	return t
}

func safetensors(tensors map[string]tensor) []byte {
	header := map[string]any{"__metadata__": map[string]string{"format": "pt"}}
	var data []byte
	for name, t := range tensors {
		header[name] = map[string]any{"dtype": t.dtype, "shape": t.shape, "data_offsets": []int{len(data), len(data) + len(t.data)}}
		data = append(data, t.data...)
	}
	h, err := json.Marshal(header)
	if err != nil {
		panic(err)
	}
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(h))), h...), data...)
}

func write(t testing.TB, files map[string][]byte) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func open(t testing.TB, tokenizer string, tensors map[string]tensor) embed.Embedder {
	t.Helper()
	m, err := static.Open(write(t, map[string][]byte{"tokenizer.json": []byte(tokenizer), "model.safetensors": safetensors(tensors)}))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const wordPieceJSON = `{"normalizer":{"type":"BertNormalizer"},"pre_tokenizer":{"type":"BertPreTokenizer"},
"model":{"type":"WordPiece","unk_token":"[UNK]","vocab":{"[UNK]":0,"cat":1,"dog":2,"##s":3,"!":4,"a":5,"b":6,"zero":7}}}`
