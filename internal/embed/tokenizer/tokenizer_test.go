package tokenizer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/internal/evaldata"
)

// vocabulary writes the model part of a tokenizer.json, all scores -1.
func vocabulary(kind string, tokens ...string) string {
	var entries []string
	for i, t := range tokens {
		if kind == "Unigram" {
			entries = append(entries, fmt.Sprintf("[%q,%d]", t, -1-len(tokens)+len(t)))
		} else {
			entries = append(entries, fmt.Sprintf("%q:%d", t, i))
		}
	}
	if kind == "Unigram" {
		return `{"type":"Unigram","unk_id":0,"vocab":[` + strings.Join(entries, ",") + `]}`
	}
	return `{"type":"WordPiece","unk_token":"[UNK]","max_input_chars_per_word":12,"vocab":{` + strings.Join(entries, ",") + `}}`
}

func cutWith(t *testing.T, normalizer, preTokenizer, model string, vocab []string, text string) []string {
	t.Helper()
	tok, err := Parse([]byte(`{"normalizer":` + normalizer + `,"pre_tokenizer":` + preTokenizer + `,"model":` + model + `}`))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, id := range tok.Tokens(new(Memory), text, nil) {
		got = append(got, vocab[id])
	}
	return got
}

func TestWordPiece(t *testing.T) {
	vocab := []string{"[UNK]", "un", "##aff", "##able", "##a", "hello", "##hello", "!", ".", "日", "本", "u", "user", "_", "naive", "ss", "##", "1", "##1", "한", "ᄒ", "##ᅡ", "##ᆫ", "ά"}
	for text, want := range map[string]string{
		"unaffable":            "un ##aff ##able",
		"Hello, HELLO!":        "hello hello !", // the comma is unknown
		"hellohello":           "hello ##hello",
		"unknown hello":        "hello", // "un" begins "unknown", which can't be cut to its end
		"una":                  "un ##a",
		"日本hello":              "日 本 hello",
		"user_un":              "user _ un",
		"naïve nai\u0308ve":    "naive naive",
		"he\u200bl\u0000lo":    "hello", // control and format characters vanish
		"hello\u00a0un\tun\nu": "hello un un u",
		"11":                   "1 ##1",
		"un。un":                "un un", // punctuation outside of ASCII cuts as well
		"aaaaaaaaaaaaa":        "",      // 13 characters, the limit is 12
		"한":                    "ᄒ ##ᅡ ##ᆫ",
		"ΆΆ":                   "",
		"hello \xff\xfe un":    "hello un",
		"":                     "",
		"   ":                  "",
	} {
		got := cutWith(t, `{"type":"BertNormalizer"}`, `{"type":"BertPreTokenizer"}`, vocabulary("WordPiece", vocab...), vocab, text)
		if diff := cmp.Diff(strings.Fields(want), got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestBertNormalizer(t *testing.T) {
	for _, tt := range []struct{ spec, in, want string }{
		{`{"type":"BertNormalizer"}`, "ÀÉ İ Straße Ǆ ﬁ", "ae i straße ǆ ﬁ"},
		{`{"type":"BertNormalizer","lowercase":false}`, "ÀÉ İ", "ÀÉ İ"},
		{`{"type":"BertNormalizer","lowercase":false,"strip_accents":true}`, "ÀÉ İ", "AE I"},
		{`{"type":"BertNormalizer","strip_accents":false}`, "ÀÉ İ", "àé i\u0307"},
		{`{"type":"BertNormalizer","handle_chinese_chars":false}`, "a中b", "a中b"},
		{`{"type":"BertNormalizer"}`, "a中文b ひら", "a 中  文 b ひら"},
		{`{"type":"BertNormalizer","clean_text":false}`, "a\tb\u0000\u200b", "a\tb\u0000\u200b"},
		{`{"type":"BertNormalizer"}`, "a\tb\r\n\u0000\u200b\ufffd\u0085\u3000c", "a b  " + " c"},
		{`{"type":"Lowercase"}`, "ÀB\t", "àb\t"},
		{`{"type":"StripAccents"}`, "e\u0301a", "ea"},
		{`{"type":"NFKC"}`, "ﬁ①", "fi1"},
		{`{"type":"NFD"}`, "é", "e\u0301"},
		{`{"type":"Strip","strip_left":true,"strip_right":false}`, " \ta ", "a "},
		{`{"type":"Prepend","prepend":"▁"}`, "a", "▁a"},
		{`{"type":"Replace","pattern":{"String":"ab"},"content":"c"}`, "ababxab", "ccxc"},
		{`{"type":"Replace","pattern":{"Regex":"\\s+"},"content":"_"}`, " a\t\n\u3000b", "_a_b"},
		{`{"type":"Sequence","normalizers":[{"type":"Replace","pattern":{"String":"!"},"content":" ! "},{"type":"Replace","pattern":{"String":"¿"},"content":"?"},
			{"type":"Replace","pattern":{"String":"?"},"content":"ab"},{"type":"Replace","pattern":{"String":"b"},"content":""},{"type":"Lowercase"}]}`, "X!¿?b", "x ! aa"},
	} {
		steps, err := parseNormalizer([]byte(tt.spec), 0)
		if err != nil {
			t.Fatal(err)
		}
		got := []byte(tt.in)
		for _, s := range steps {
			got = s.append(nil, got)
		}
		if string(got) != tt.want {
			t.Errorf("%s of %q = %q, want %q", tt.spec, tt.in, got, tt.want)
		}
	}
}

func TestMetaspace(t *testing.T) {
	vocab := []string{"[UNK]", "▁", "a", "▁a", "b", "▁b", "a▁b"}
	for _, tt := range []struct{ pre, text, want string }{
		{`{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}`, "a b", "▁a ▁b"},
		{`{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}`, " a b", "▁a ▁b"},
		{`{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":false}`, "aa b", "▁a a▁b"},
		{`{"type":"Metaspace","replacement":"▁","prepend_scheme":"never","split":false}`, "a b", "a▁b"},
		{`{"type":"Metaspace","replacement":"▁","add_prefix_space":true}`, "a b", "▁a ▁b"},
		{`{"type":"Metaspace","replacement":"▁","add_prefix_space":false}`, "a b", "a ▁b"},
		{`{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Metaspace","replacement":"▁","prepend_scheme":"always"}]}`, "  a \t b ", "▁a ▁b"},
		{`{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Metaspace","replacement":"▁","prepend_scheme":"first"}]}`, "a b", "▁a b"},
		{`null`, "aa", "a a"},
	} {
		got := cutWith(t, "null", tt.pre, vocabulary("Unigram", vocab...), vocab, tt.text)
		if diff := cmp.Diff(strings.Fields(tt.want), got); diff != "" {
			t.Errorf("%s of %q (-want +got):\n%s", tt.pre, tt.text, diff)
		}
	}
}

// best is the Viterbi cut's specification: try everything.
func best(u *unigram, vocab []string, text string) float64 {
	if text == "" {
		return 0
	}
	_, size := utf8.DecodeRuneInString(text)
	top, single := math.Inf(-1), false
	for id, token := range vocab {
		if strings.HasPrefix(text, token) {
			top = max(top, u.scores[id]+best(u, vocab, text[len(token):]))
			single = single || len(token) == size
		}
	}
	if !single {
		top = max(top, u.unknownScore+best(u, vocab, text[size:]))
	}
	return top
}

func TestUnigramFindsTheMostLikelyCut(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	vocab := []string{"a", "ab", "abc", "bc", "b", "cab", "é", "éa", "bb"}
	for range 300 {
		u := &unigram{unknown: -1}
		var keys []trieKey
		scores := make([]float64, len(vocab))
		for i, token := range vocab {
			scores[i] = -10 * random.Float64()
			keys = append(keys, trieKey{token, int32(i)})
		}
		u.tokens = newTrie(keys)
		u.setScores(scores)
		text := ""
		for range random.IntN(9) {
			text += string([]rune("abcéx")[random.IntN(5)])
		}
		got, known := 0.0, 0
		for _, id := range u.cut(new(viterbi), []byte(text), nil) {
			got += scores[id]
			known += utf8.RuneCountInString(vocab[id])
		}
		got += u.unknownScore * float64(utf8.RuneCountInString(text)-known)
		if want := best(u, vocab, text); math.Abs(got-want) > 1e-9 {
			t.Fatalf("%q is cut with a score of %v, the best is %v", text, got, want)
		}
	}
}

// tinyTokenizer is the tokenizer of the sample model, with its vocabulary.
func tinyTokenizer(t testing.TB) ([]byte, []string) {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(evaldata.Dir(t, "model2vec-tiny"), "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	var vocab []string
	for _, entry := range gjson.GetBytes(file, "model.vocab").Array() {
		vocab = append(vocab, entry.Get("0").Str)
	}
	return file, vocab
}

func TestSampleTokenizer(t *testing.T) {
	file, vocab := tinyTokenizer(t)
	tok, err := Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"Hello World":           "▁hello ▁world",
		"Hello, World!":         "▁hello ▁, ▁world ▁!",
		"  user_name=foo.bar  ": "▁user ▁_ ▁name ▁= ▁foo ▁. ▁bar",
		"Café\n\tnaïve":         "▁cafe ▁naive",
		"don't":                 "▁don ▁' ▁t",
		"中国":                    "▁中 ▁国",
		"☃":                     "",
		"":                      "",
	} {
		got := []string{}
		for _, id := range tok.Tokens(new(Memory), text, nil) {
			if vocab[id] != "▁" {
				got = append(got, vocab[id])
			}
		}
		if diff := cmp.Diff(strings.Fields(want), got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func FuzzTokenizer(f *testing.F) {
	for _, s := range []string{
		`{"normalizer":{"type":"BertNormalizer"},"pre_tokenizer":{"type":"BertPreTokenizer"},"model":` + vocabulary("WordPiece", "a", "##b", "") + `}`,
		`{"normalizer":{"type":"Sequence","normalizers":[{"type":"Replace","pattern":{"String":"a"},"content":""},{"type":"Strip","strip_left":true}]},
			"pre_tokenizer":{"type":"Metaspace","replacement":"▁"},"model":` + vocabulary("Unigram", "a", "▁", "é") + `}`,
		`{"model":{"type":"Unigram","unk_id":-7,"vocab":[["",0],["a",1e308],["a",-1e308]]}}`,
		`{"normalizer":{"type":"Precompiled","precompiled_charsmap":"CAAAAAAEAABhAQAAYgA="},"post_processor":{"type":"RobertaProcessing","cls":["<s>",0],"sep":["</s>",1]},"model":` + vocabulary("Unigram", "a", "b") + `}`,
		`{"normalizer":null,"model":{"type":"WordPiece","continuing_subword_prefix":"","vocab":{"":0}}}`,
	} {
		f.Add([]byte(s), "a b\tÉab日 \xff")
	}
	f.Fuzz(func(t *testing.T, file []byte, text string) {
		tok, err := Parse(file)
		if err != nil {
			return
		}
		tok.KeepUnknown()
		before, after := tok.Around()
		for _, id := range append(tok.Tokens(new(Memory), text, before), after...) {
			if id < 0 || int(id) >= tok.Size() {
				t.Fatalf("token %d of %d", id, tok.Size())
			}
		}
	})
}
