package static_test

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/embed/static"
	"github.com/kenlayer/ken/internal/evaldata"
	"github.com/kenlayer/ken/internal/race"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSuite(t *testing.T) {
	embedtest.Run(t, func(t *testing.T) embed.Embedder { return tiny(t) })
}

func TestTinyModel(t *testing.T) {
	m := tiny(t)
	if m.Dim() != 64 || !embed.IsLocal(m) || !strings.HasPrefix(m.Model(), "static:") {
		t.Errorf("%d dimensions, local %v, %s", m.Dim(), embed.IsLocal(m), m.Model())
	}
	for _, tt := range []struct{ a, near, far string }{
		{"The cat sat on the sofa.", "A kitten slept on the couch.", "The central bank raised interest rates."},
		{"open a connection to the database", "connect to the SQL server", "bake bread with flour and water"},
		{"the football team won the match", "players scored goals in the game", "a theorem about prime numbers"},
		{"doctors treat the disease with drugs", "the patient takes medicine in hospital", "the train leaves the station at noon"},
	} {
		v := embedAll(t, m, tt.a, tt.near, tt.far)
		if near, far := dot(v[0], v[1]), dot(v[0], v[2]); near <= far {
			t.Errorf("%q is nearer to %q (%.3f) than to %q (%.3f)", tt.a, tt.far, far, tt.near, near)
		}
	}
}

// The beginnings of vectors that another implementation, written from the
// published description in another language, gives for the sample model.
func TestSameVectorsAsAnotherImplementation(t *testing.T) {
	m := tiny(t)
	for text, want := range map[string][4]float64{
		"hello world":                       {-0.000602, -0.329684, 0.311832, -0.103585},
		"Der Café-Besitzer öffnet um 9:30!": {0.329823, 0.261401, 0.026536, -0.01105},
		"getUserName(user_id) // 日本語":       {0.238871, 0.187565, -0.120414, -0.309076},
	} {
		v := embedAll(t, m, text)[0]
		for i, w := range want {
			if math.Abs(float64(v[i])-w) > 2e-6 {
				t.Errorf("%q: %v, want %v", text, v[:4], want)
				break
			}
		}
	}
}

func TestLongTextIsCutNotRefused(t *testing.T) {
	m := tiny(t)
	v := embedAll(t, m, strings.Repeat("hello ", 100_000), "hello", strings.Repeat("日", 50_000)+"hello")
	if got := dot(v[0], v[1]); got < 0.999 {
		t.Errorf("a word repeated has cosine %.4f to the word, want 1", got)
	}
	if v[2] == nil {
		t.Error("no vector for a text that is cut within a character")
	}
}

func TestTextWithoutKnownTokensHasNoVector(t *testing.T) {
	m := open(t, wordPieceJSON, map[string]tensor{"embeddings": f32(8, 2, 0, 0, 1, 0, 0, 1, 1, 1, 1, 2, 1, 3, 1, 4, 0, 0)})
	for _, text := range []string{"", "   ", "xyzzy", "zero"} {
		if v := embedAll(t, m, text); v[0] != nil {
			t.Errorf("%q has the vector %v", text, v[0])
		}
	}
}

// The recall that this deliberately coarse model is known to reach: a fault in
// the tokenizer or the mapping shows as a fall, noise does not.
func TestRecallOnCodeSearch(t *testing.T) {
	race.SkipLong(t)
	if testing.Short() {
		t.Skip("embeds 6,000 functions")
	}
	m, folder := tiny(t), evaldata.Dir(t, "cosqa-dev")
	docIDs, docs := readTexts(t, filepath.Join(folder, "corpus.jsonl"))
	queryIDs, queries := readTexts(t, filepath.Join(folder, "queries.jsonl"))
	gold := readGold(t, filepath.Join(folder, "qrels", "test.tsv"))
	queries = queries[:200] // enough for a floor, and the race detector is slow
	vectors, questions := embedAll(t, m, docs...), embedAll(t, m, queries...)
	hits := 0
	for q, question := range questions {
		order := make([]int, len(docs))
		scores := make([]float64, len(docs))
		for i := range docs {
			order[i] = i
			if vectors[i] != nil {
				scores[i] = dot(question, vectors[i])
			}
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
		for _, i := range order[:10] {
			if gold[queryIDs[q]] == docIDs[i] {
				hits++
			}
		}
	}
	recall := float64(hits) / float64(len(queries))
	t.Logf("recall@10 = %.3f over %d queries and %d functions", recall, len(queries), len(docs))
	if recall < recallFloor {
		t.Errorf("recall@10 = %.3f, want at least %v", recall, recallFloor)
	}
}

const recallFloor = 0.08

// The quantised vocabulary: tokens share rows and have weights of their own.
func TestMappingAndWeights(t *testing.T) {
	rows := f32(2, 2, 1, 0, 0, 1)
	mapping := tensor{dtype: "I32", shape: []int{8}}
	mapping64 := tensor{dtype: "I64", shape: []int{8}}
	weights := tensor{dtype: "F64", shape: []int{8}}
	for id, row := range []uint32{0, 0, 1, 1, 0, 0, 0, 0} {
		mapping.data = binary.LittleEndian.AppendUint32(mapping.data, row)
		mapping64.data = binary.LittleEndian.AppendUint64(mapping64.data, uint64(row))
		weights.data = binary.LittleEndian.AppendUint64(weights.data, math.Float64bits(float64(id+1)))
	}
	// cat has row 0 and weight 2, dog row 1 and weight 3, ##s row 1 and weight 4.
	for name, tt := range map[string]struct {
		tensors map[string]tensor
		text    string
		x, y    float64 // before scaling
	}{
		"both":               {map[string]tensor{"embeddings": rows, "mapping": mapping, "weights": weights}, "cat dogs", 2, 7},
		"64-bit mapping":     {map[string]tensor{"embeddings": rows, "mapping": mapping64, "weights": weights}, "cat dogs", 2, 7},
		"mapping alone":      {map[string]tensor{"embeddings": rows, "mapping": mapping}, "cat dogs", 1, 2},
		"unknown is skipped": {map[string]tensor{"embeddings": rows, "mapping": mapping}, "cat xyzzy dogs", 1, 2},
	} {
		v := embedAll(t, open(t, wordPieceJSON, tt.tensors), tt.text)[0]
		n := math.Hypot(tt.x, tt.y)
		if math.Abs(float64(v[0])-tt.x/n) > 1e-6 || math.Abs(float64(v[1])-tt.y/n) > 1e-6 {
			t.Errorf("%s: %v, want the direction of (%v, %v)", name, v, tt.x, tt.y)
		}
	}
}

func TestNumberTypes(t *testing.T) {
	le := binary.LittleEndian
	for dtype, number := range map[string]func(b []byte, v float64) []byte{
		"F64":  func(b []byte, v float64) []byte { return le.AppendUint64(b, math.Float64bits(v)) },
		"F32":  func(b []byte, v float64) []byte { return le.AppendUint32(b, math.Float32bits(float32(v))) },
		"BF16": func(b []byte, v float64) []byte { return le.AppendUint16(b, uint16(math.Float32bits(float32(v))>>16)) },
		"F16": func(b []byte, v float64) []byte {
			return le.AppendUint16(b, map[float64]uint16{3: 0x4200, -4: 0xC400}[v])
		},
		"I8": func(b []byte, v float64) []byte { return append(b, byte(int8(v))) },
	} {
		table := tensor{dtype: dtype, shape: []int{8, 2}}
		for range 8 {
			table.data = number(number(table.data, 3), -4)
		}
		v := embedAll(t, open(t, wordPieceJSON, map[string]tensor{"embeddings": table}), "cat")[0]
		if math.Abs(float64(v[0])-0.6) > 1e-6 || math.Abs(float64(v[1])+0.8) > 1e-6 {
			t.Errorf("%s: %v, want [0.6 -0.8]", dtype, v)
		}
	}
}

func TestReplacedModelIsAnotherSpace(t *testing.T) {
	a := open(t, wordPieceJSON, map[string]tensor{"embeddings": f32(8, 1, 1, 2, 3, 4, 5, 6, 7, 8)})
	same := open(t, wordPieceJSON, map[string]tensor{"embeddings": f32(8, 1, 1, 2, 3, 4, 5, 6, 7, 8)})
	other := open(t, wordPieceJSON, map[string]tensor{"embeddings": f32(8, 1, 1, 2, 3, 4, 5, 6, 7, 9)})
	if a.Model() != same.Model() || a.Model() == other.Model() {
		t.Errorf("names %s, %s, %s: equal files must have equal names, others not", a.Model(), same.Model(), other.Model())
	}
}

func TestOpenRefusesWithAReason(t *testing.T) {
	good := map[string]tensor{"embeddings": f32(8, 1, 1, 2, 3, 4, 5, 6, 7, 8)}
	sound := string(safetensors(good))
	with := func(name string, x tensor) string {
		return string(safetensors(map[string]tensor{"embeddings": good["embeddings"], name: x}))
	}
	header := func(json string) string {
		return string(binary.LittleEndian.AppendUint64(nil, uint64(len(json)))) + json
	}
	tests := map[string]struct {
		tensors, tokenizer string
		code               ken.Code
		msg                string
	}{
		"no tensors":             {"", wordPieceJSON, ken.CodeInvalid, "has no model.safetensors"},
		"no tokenizer":           {sound, "", ken.CodeInvalid, "has no tokenizer.json"},
		"cut off":                {sound[:len(sound)-1], wordPieceJSON, ken.CodeCorrupt, "range"},
		"a header too long":      {"\xff\xff\xff\xff\xff\xff\xff\xff{}", wordPieceJSON, ken.CodeCorrupt, "a header of"},
		"seven bytes":            {"1234567", wordPieceJSON, ken.CodeCorrupt, "shorter"},
		"no JSON":                {header("{"), wordPieceJSON, ken.CodeCorrupt, "read header"},
		"shape and bytes differ": {header(`{"embeddings":{"dtype":"F32","shape":[8,1],"data_offsets":[0,0]}}`), wordPieceJSON, ken.CodeCorrupt, "0 bytes for F32 [8 1]"},
		"an endless shape":       {header(`{"embeddings":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,0]}}`), wordPieceJSON, ken.CodeCorrupt, "shape"},
		"a range backwards":      {header(`{"embeddings":{"dtype":"F32","shape":[],"data_offsets":[4,0]}}`), wordPieceJSON, ken.CodeCorrupt, "range"},
		"no embeddings":          {string(safetensors(map[string]tensor{"x": good["embeddings"]})), wordPieceJSON, ken.CodeCorrupt, "no tensor embeddings"},
		"numbers of 4 bits":      {header(`{"embeddings":{"dtype":"F4","shape":[8,1],"data_offsets":[0,0]}}`), wordPieceJSON, ken.CodeCorrupt, "two dimensions"},
		"too few rows":           {string(safetensors(map[string]tensor{"embeddings": f32(2, 1, 1, 2)})), wordPieceJSON, ken.CodeCorrupt, "2 rows for the tokenizer's 8 tokens"},
		"NaN":                    {string(safetensors(map[string]tensor{"embeddings": f32(8, 1, 1, 2, 3, 4, 5, 6, 7, float32(math.NaN()))})), wordPieceJSON, ken.CodeCorrupt, "NaN"},
		"a mapping beyond":       {with("mapping", tensor{"I32", []int{1}, []byte{9, 0, 0, 0}}), wordPieceJSON, ken.CodeCorrupt, "row 9 of 8"},
		"a negative mapping":     {with("mapping", tensor{"I32", []int{1}, []byte{255, 255, 255, 255}}), wordPieceJSON, ken.CodeCorrupt, "row -1 of 8"},
		"a mapping too short":    {with("mapping", tensor{"I32", []int{1}, []byte{0, 0, 0, 0}}), wordPieceJSON, ken.CodeCorrupt, "1 rows for"},
		"weights too short":      {with("weights", tensor{"F32", []int{1}, []byte{0, 0, 0, 0}}), wordPieceJSON, ken.CodeCorrupt, "1 weights for"},
		"weights of bytes":       {with("weights", tensor{"I64", []int{1}, make([]byte, 8)}), wordPieceJSON, ken.CodeInvalid, `type "I64": not supported`},
		"not a tokenizer":        {sound, `[]`, ken.CodeCorrupt, "tokenizer.json"},
		"byte pairs":             {sound, `{"model":{"type":"BPE"}}`, ken.CodeInvalid, `type "BPE": not supported`},
		"another normaliser":     {sound, `{"normalizer":{"type":"ByteLevel"},"model":{}}`, ken.CodeInvalid, `type "ByteLevel"`},
		"a damaged charsmap":     {sound, `{"normalizer":{"type":"Precompiled","precompiled_charsmap":"//8AAA=="},"model":{}}`, ken.CodeCorrupt, "charsmap"},
		"another pattern":        {sound, `{"normalizer":{"type":"Replace","pattern":{"Regex":"a|b"},"content":""}}`, ken.CodeInvalid, "a pattern other"},
		"another pre-tokenizer":  {sound, `{"pre_tokenizer":{"type":"ByteLevel"},"model":{}}`, ken.CodeInvalid, `type "ByteLevel"`},
		"bytes as tokens":        {sound, `{"model":{"type":"Unigram","byte_fallback":true,"vocab":[["a",0]]}}`, ken.CodeInvalid, "byte_fallback"},
		"an empty vocabulary":    {sound, `{"model":{"type":"WordPiece","vocab":{}}}`, ken.CodeCorrupt, "no vocabulary"},
		"a negative token":       {sound, `{"model":{"type":"WordPiece","vocab":{"a":-1}}}`, ken.CodeCorrupt, "number -1"},
		"a huge token":           {sound, `{"model":{"type":"WordPiece","vocab":{"a":2000000000}}}`, ken.CodeCorrupt, "number 2000000000"},
		"a score that is none":   {sound, `{"model":{"type":"Unigram","vocab":[["a","b"]]}}`, ken.CodeCorrupt, "entry 0"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			files := map[string][]byte{}
			if tt.tensors != "" {
				files["model.safetensors"] = []byte(tt.tensors)
			}
			if tt.tokenizer != "" {
				files["tokenizer.json"] = []byte(tt.tokenizer)
			}
			_, err := static.Open(write(t, files))
			var kenErr *ken.Error
			if !errors.As(err, &kenErr) {
				t.Fatalf("error %v, want a *ken.Error", err)
			}
			if kenErr.Code != tt.code || kenErr.Try == "" || !strings.Contains(err.Error(), tt.msg) {
				t.Errorf("%s: %v (try %q); want %s with %q", kenErr.Code, err, kenErr.Try, tt.code, tt.msg)
			}
		})
	}
}

func ExampleOpen() {
	_, err := static.Open("no-such-folder")
	fmt.Println(err != nil, ken.Hint(err))
	// Output: true Name a folder that holds the model.safetensors and tokenizer.json of a model2vec model.
}

const words100 = `the connection pool keeps idle connections open so that a request does not pay for a new handshake each time it
reaches the database and when the server closes one of them the next request notices and opens another one in its place without an
error for the caller who only sees a slightly longer latency in the histogram that we export to the dashboard every minute while the
limit on open connections protects the server from being overloaded by a burst of requests after a deployment or when a cache expires
for many keys at once in the same second of the day`

func BenchmarkQuestion(b *testing.B) {
	benchmark(b, "how do we limit open connections to the database server")
}
func BenchmarkChunk(b *testing.B) { benchmark(b, words100) }
func BenchmarkBatch(b *testing.B) { benchmark(b, slices.Repeat([]string{words100}, 256)...) }

func benchmark(b *testing.B, texts ...string) {
	m := tiny(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Embed(b.Context(), texts); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(texts)), "us/text")
}

func BenchmarkOpen(b *testing.B) {
	folder := evaldata.Dir(b, "model2vec-tiny")
	for b.Loop() {
		if _, err := static.Open(folder); err != nil {
			b.Fatal(err)
		}
	}
}
