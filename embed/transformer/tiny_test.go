package transformer_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/embed/transformer"
)

// The models tiny-bert and tiny-xlm, and what PyTorch computes with them, are made by
// testdata/make.py.

func open(t testing.TB, folder string, o transformer.Options) embed.Embedder {
	t.Helper()
	e, err := transformer.Open(folder, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// files returns the files of a tiny model.
func files(t testing.TB, name string) map[string]string {
	t.Helper()
	all := map[string]string{}
	root := os.DirFS(filepath.Join("testdata", name))
	for _, file := range []string{"config.json", "tokenizer.json", "model.safetensors", "modules.json", "1_Pooling/config.json", "sentence_bert_config.json", "config_sentence_transformers.json"} {
		f, err := root.Open(file)
		if err != nil {
			continue
		}
		f.Close()
		content, err := os.ReadFile(filepath.Join("testdata", name, file))
		if err != nil {
			t.Fatal(err)
		}
		all[file] = string(content)
	}
	return all
}

func write(t testing.TB, files map[string]string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "model")
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// with returns files with one of them changed; a nil change removes it.
func with(files map[string]string, name string, change func(string) string) map[string]string {
	files = maps.Clone(files)
	if change == nil {
		delete(files, name)
	} else {
		files[name] = change(files[name])
	}
	return files
}

func replace(old, new string) func(string) string {
	return func(s string) string {
		if !strings.Contains(s, old) {
			panic("nothing to replace: " + old)
		}
		return strings.Replace(s, old, new, 1)
	}
}

func to(content string) func(string) string { return func(string) string { return content } }

// expected is a case of a tiny model.
type expected struct {
	Text        string
	Mean, First []float32
}

func cases(t *testing.T, name string) (all []expected) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestSameVectorsAsPyTorch(t *testing.T) {
	for _, tt := range []struct {
		name  string
		first bool
		files map[string]string
	}{
		{"tiny-bert", false, files(t, "tiny-bert")},
		{"tiny-bert", true, with(files(t, "tiny-bert"), "1_Pooling/config.json", to(`{"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":false}`))},
		{"tiny-bert", true, with(files(t, "tiny-bert"), "1_Pooling/config.json", to(`{"pooling_mode":"cls"}`))},
		{"tiny-bert", false, with(files(t, "tiny-bert"), "modules.json", nil)},
		{"tiny-xlm", true, files(t, "tiny-xlm")},
		{"tiny-xlm", false, with(files(t, "tiny-xlm"), "1_Pooling/config.json", to(`{"pooling_mode_mean_tokens":true}`))},
	} {
		for _, int8s := range []bool{false, true} {
			e := open(t, write(t, tt.files), transformer.Options{Int8: int8s})
			all := cases(t, tt.name)
			var texts []string
			for _, c := range all {
				texts = append(texts, c.Text)
			}
			got, err := e.Embed(t.Context(), texts)
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range all {
				want, least := c.Mean, 0.99999
				if tt.first {
					want = c.First
				}
				if int8s {
					least = 0.97 // with 32 random numbers, the loss is larger than in a real model
				}
				switch {
				case c.Text == "":
					if got[i] != nil {
						t.Errorf("%s: the empty text has a vector", tt.name)
					}
				case got[i] == nil:
					t.Errorf("%s: %q has no vector", tt.name, c.Text)
				case cosine(got[i], want) < least:
					t.Errorf("%s, first token %v, int8 %v: cosine %.6f for %q", tt.name, tt.first, int8s, cosine(got[i], want), c.Text)
				}
			}
		}
	}
}

// vocab.txt and tokenizer_config.json say the same as tokenizer.json.
func TestVocabularyAlone(t *testing.T) {
	whole := files(t, "tiny-bert")
	var spec struct {
		Model struct{ Vocab map[string]int }
	}
	if err := json.Unmarshal([]byte(whole["tokenizer.json"]), &spec); err != nil {
		t.Fatal(err)
	}
	lines := make([]string, len(spec.Model.Vocab))
	for token, id := range spec.Model.Vocab {
		lines[id] = token
	}
	old := with(with(with(whole, "tokenizer.json", nil), "vocab.txt", to(strings.Join(lines, "\n")+"\n")), "tokenizer_config.json", to(`{"do_lower_case":true}`))
	e := open(t, write(t, old), transformer.Options{})
	for _, c := range cases(t, "tiny-bert") {
		v, err := e.Embed(t.Context(), []string{c.Text})
		if err != nil || c.Text != "" && cosine(v[0], c.Mean) < 0.99999 {
			t.Errorf("%q: %v", c.Text, err)
		}
	}
}

func TestPrefixes(t *testing.T) {
	plain := open(t, write(t, with(files(t, "tiny-xlm"), "config_sentence_transformers.json", nil)), transformer.Options{})
	prompted := open(t, write(t, files(t, "tiny-xlm")), transformer.Options{})
	one := func(e embed.Embedder, text string) []float32 {
		v, err := e.Embed(t.Context(), []string{text})
		if err != nil {
			t.Fatal(err)
		}
		return v[0]
	}
	if embed.Queries(plain) != embed.Embedder(plain) {
		t.Error("without prompts, questions are embedded differently")
	}
	if c := cosine(one(embed.Queries(prompted), "restart"), one(plain, "how restart")); c < 0.99999 {
		t.Errorf("a question has not the prompt: cosine %f", c)
	}
	if c := cosine(one(prompted, "restart"), one(plain, "restart")); c < 0.99999 {
		t.Errorf("a passage has a prompt: cosine %f", c)
	}
	if embed.Queries(prompted).Model() != prompted.Model() || prompted.Model() == plain.Model() {
		t.Errorf("questions are of %s, passages of %s, and without prompts %s", embed.Queries(prompted).Model(), prompted.Model(), plain.Model())
	}
	e5 := filepath.Join(t.TempDir(), "multilingual-e5-small")
	if err := os.Rename(write(t, with(files(t, "tiny-bert"), "config_sentence_transformers.json", nil)), e5); err != nil {
		t.Fatal(err)
	}
	bert := open(t, filepath.Join("testdata", "tiny-bert"), transformer.Options{})
	if c := cosine(one(embed.Queries(open(t, e5, transformer.Options{})), "it"), one(bert, "query: it")); c < 0.99999 {
		t.Errorf("an E5 model has not its prefix: cosine %f", c)
	}
}

func TestTinySuite(t *testing.T) {
	for _, o := range []transformer.Options{{}, {Int8: true}} {
		t.Run(fmt.Sprintf("int8 %v", o.Int8), func(t *testing.T) {
			embedtest.Run(t, func(t *testing.T) embed.Embedder { return open(t, filepath.Join("testdata", "tiny-bert"), o) })
		})
	}
}

func TestNamesFollowFromTheFiles(t *testing.T) {
	whole := files(t, "tiny-bert")
	names := map[string]string{}
	for what, e := range map[string]embed.Embedder{
		"the model":           open(t, write(t, whole), transformer.Options{}),
		"in 8 bits":           open(t, write(t, whole), transformer.Options{Int8: true}),
		"another pooling":     open(t, write(t, with(whole, "1_Pooling/config.json", to(`{"pooling_mode":"cls"}`))), transformer.Options{}),
		"another length":      open(t, write(t, with(whole, "sentence_bert_config.json", to(`{"max_seq_length":20}`))), transformer.Options{}),
		"another tokenizer":   open(t, write(t, with(whole, "tokenizer.json", replace(`"max_input_chars_per_word":100`, `"max_input_chars_per_word":99`))), transformer.Options{}),
		"another weight":      open(t, write(t, with(whole, "model.safetensors", func(s string) string { return s[:len(s)-1] + "\x30" })), transformer.Options{}),
		"another head number": open(t, write(t, with(whole, "config.json", replace(`"num_attention_heads": 2`, `"num_attention_heads": 4`))), transformer.Options{}),
	} {
		if other, ok := names[e.Model()]; ok {
			t.Errorf("%s and %s are both named %s", what, other, e.Model())
		}
		names[e.Model()] = what
	}
	if again := open(t, write(t, whole), transformer.Options{}); names[again.Model()] != "the model" {
		t.Errorf("the same files are now named %s", again.Model())
	}
}

// tensorBytes returns a file in which the first number of a tensor is another half float.
func tensorBytes(name string, bits uint16) func(string) string {
	return func(file string) string {
		n := binary.LittleEndian.Uint64([]byte(file))
		var header map[string]struct {
			Offsets []int `json:"data_offsets"`
		}
		if err := json.Unmarshal([]byte(file[8:8+n]), &header); err != nil {
			panic(err)
		}
		b := []byte(file)
		binary.LittleEndian.PutUint16(b[8+int(n)+header[name].Offsets[0]:], bits)
		return string(b)
	}
}

func TestOpenRefusesWithAReason(t *testing.T) {
	whole := files(t, "tiny-bert")
	config := func(old, new string) map[string]string { return with(whole, "config.json", replace(old, new)) }
	for name, tt := range map[string]struct {
		files map[string]string
		code  ken.Code
		msg   string
	}{
		"no config":              {with(whole, "config.json", nil), ken.CodeInvalid, "has no config.json"},
		"no tokenizer":           {with(whole, "tokenizer.json", nil), ken.CodeInvalid, "has no tokenizer.json"},
		"no weights":             {with(whole, "model.safetensors", nil), ken.CodeInvalid, "has no model.safetensors"},
		"no pooling":             {with(whole, "1_Pooling/config.json", nil), ken.CodeInvalid, "has no config.json"},
		"config of no JSON":      {with(whole, "config.json", to("{")), ken.CodeCorrupt, "config.json"},
		"a decoder":              {config(`"bert"`, `"llama"`), ken.CodeInvalid, `"llama", not bert`},
		"another activation":     {config(`"gelu"`, `"relu"`), ken.CodeInvalid, `"relu"`},
		"no layers":              {config(`"num_hidden_layers": 2`, `"num_hidden_layers": 0`), ken.CodeCorrupt, "0 layers"},
		"more layers":            {config(`"num_hidden_layers": 2`, `"num_hidden_layers": 3`), ken.CodeCorrupt, "encoder.layer.2.attention.self.query.weight: missing"},
		"more numbers":           {config(`"hidden_size": 32`, `"hidden_size": 64`), ken.CodeCorrupt, "its shape is [76 32]"},
		"huge numbers":           {config(`"hidden_size": 32`, `"hidden_size": 3200000000000`), ken.CodeCorrupt, "layers of 3200000000000"},
		"odd heads":              {config(`"num_attention_heads": 2`, `"num_attention_heads": 3`), ken.CodeCorrupt, "32 numbers for 3 heads"},
		"negative padding":       {config(`"pad_token_id": 0`, `"pad_token_id": -3`), ken.CodeCorrupt, "layers of"},
		"fewer tokens":           {config(`"vocab_size": 76`, `"vocab_size": 75`), ken.CodeCorrupt, "the tokenizer has 76 tokens and config.json 75"},
		"a dense module":         {with(whole, "modules.json", replace("models.Normalize", "models.Dense")), ken.CodeInvalid, "Dense"},
		"a folder outside":       {with(whole, "modules.json", replace("1_Pooling", "../1_Pooling")), ken.CodeCorrupt, "../1_Pooling"},
		"maximum pooling":        {with(whole, "1_Pooling/config.json", to(`{"pooling_mode":"max"}`)), ken.CodeInvalid, `"max"`},
		"two poolings":           {with(whole, "1_Pooling/config.json", to(`{"pooling_mode_max_tokens":true,"pooling_mode_mean_tokens":true}`)), ken.CodeInvalid, "2 poolings at once (max_tokens, mean_tokens)"},
		"no room for words":      {with(whole, "sentence_bert_config.json", to(`{"max_seq_length":2}`)), ken.CodeCorrupt, "2 tokens with 2 special"},
		"byte pairs":             {with(whole, "tokenizer.json", to(`{"model":{"type":"BPE"}}`)), ken.CodeInvalid, `"BPE": not supported`},
		"another template":       {with(whole, "tokenizer.json", replace("TemplateProcessing", "Other")), ken.CodeInvalid, `"Other"`},
		"weights cut off":        {with(whole, "model.safetensors", func(s string) string { return s[:len(s)-1] }), ken.CodeCorrupt, "range"},
		"half a header":          {with(whole, "model.safetensors", func(s string) string { return s[:100] }), ken.CodeCorrupt, "a header of"},
		"weights of another":     {with(whole, "model.safetensors", to(files(t, "tiny-xlm")["model.safetensors"])), ken.CodeCorrupt, "its shape is"},
		"NaN":                    {with(whole, "model.safetensors", tensorBytes("encoder.layer.1.output.dense.weight", 0x7e00)), ken.CodeCorrupt, "encoder.layer.1.output.dense.weight: a number that is NaN"},
		"NaN among words":        {with(whole, "model.safetensors", tensorBytes("embeddings.word_embeddings.weight", 0x7e00)), ken.CodeCorrupt, "embeddings.word_embeddings.weight: a number that is NaN"},
		"a first token of none":  {with(with(whole, "1_Pooling/config.json", to(`{"pooling_mode":"cls"}`)), "tokenizer.json", replace(`"TemplateProcessing","single":[{"SpecialToken":{"id":"[CLS]","type_id":0}},`, `"TemplateProcessing","single":[`)), ken.CodeCorrupt, "special"},
		"an enormous prompt":     {with(whole, "config_sentence_transformers.json", to(`{"prompts":{"query":"`+strings.Repeat("a", 5000)+`"}}`)), ken.CodeCorrupt, "4 KiB"},
		"a vocabulary of nobody": {with(with(with(whole, "tokenizer.json", nil), "vocab.txt", to("a\nb\n")), "tokenizer_config.json", to(`{}`)), ken.CodeCorrupt, "no token [CLS]"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := transformer.Open(write(t, tt.files), transformer.Options{})
			var kenErr *ken.Error
			if !errors.As(err, &kenErr) {
				t.Fatalf("error %v, want a *ken.Error", err)
			}
			if kenErr.Code != tt.code || kenErr.Try == "" || kenErr.Field != "knowledge.embed_path" || !strings.Contains(err.Error(), tt.msg) {
				t.Errorf("%s: %v (try %q); want %s with %q", kenErr.Code, err, kenErr.Try, tt.code, tt.msg)
			}
		})
	}
}

func TestIsFolder(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		want  bool
	}{
		"a transformer": {files(t, "tiny-bert"), true},
		"a decoder":     {map[string]string{"config.json": `{"model_type":"llama","num_hidden_layers":16}`}, true},
		"a table":       {map[string]string{"config.json": `{"model_type":"model2vec","hidden_dim":256}`}, false},
		"no config":     {map[string]string{"model.safetensors": ""}, false},
	} {
		if got := transformer.IsFolder(write(t, tt.files)); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestCancelledInTheMiddle(t *testing.T) {
	e := open(t, filepath.Join("testdata", "tiny-bert"), transformer.Options{Cores: 3})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, n := range []int{1, 2, 500} {
		if v, err := e.Embed(ctx, slices.Repeat([]string{"how do I restart it"}, n)); !errors.Is(err, context.Canceled) || v != nil {
			t.Errorf("%d texts: %d vectors and %v", n, len(v), err)
		}
	}
}

func TestTextOfAnyLength(t *testing.T) {
	e := open(t, filepath.Join("testdata", "tiny-bert"), transformer.Options{})
	for name, text := range map[string]string{"100,000 words": strings.Repeat("how do it ", 33334), "one long word": strings.Repeat("a", 1<<20), "unknown": "Ж", "marks alone": "\u0301\u0301", "control characters": "\x00\x01\u200b"} {
		v, err := e.Embed(t.Context(), []string{text, text})
		if err != nil || embed.Check(v, 2, e.Dim()) != nil {
			t.Errorf("%s: %v, %v", name, err, embed.Check(v, 2, e.Dim()))
		}
		if blank := name == "marks alone" || name == "control characters"; (v[0] == nil) != blank {
			t.Errorf("%s: a vector %v", name, v[0] != nil)
		}
	}
}

func FuzzEmbed(f *testing.F) {
	for _, s := range []string{"how do I restart it?", "中文\u0000\xff", strings.Repeat("a", 200), "\u0301"} {
		f.Add(s)
	}
	bert, xlm := open(f, filepath.Join("testdata", "tiny-bert"), transformer.Options{}), open(f, filepath.Join("testdata", "tiny-xlm"), transformer.Options{Int8: true})
	f.Fuzz(func(t *testing.T, text string) {
		for _, e := range []embed.Embedder{bert, xlm} {
			v, err := e.Embed(t.Context(), []string{text})
			if err != nil {
				t.Fatal(err)
			}
			if err := embed.Check(v, 1, e.Dim()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func ExampleOpen() {
	e, err := transformer.Open(filepath.Join("testdata", "tiny-bert"), transformer.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	vectors, err := e.Embed(context.Background(), []string{"how do I restart it?"})
	fmt.Println(e.Dim(), len(vectors), math.Abs(float64(vectors[0][0])) <= 1, err)
	// Output: 32 1 true <nil>
}
