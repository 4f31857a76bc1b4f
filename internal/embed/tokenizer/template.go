package tokenizer

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

// template reads the tokens before and after a text from post_processor. A tokenizer without
// one adds nothing.
func (t *Tokenizer) template(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	spec := gjson.ParseBytes(raw)
	add := func(list *[]int32, id gjson.Result) error {
		n := id.Int()
		if id.Type != gjson.Number || n < 0 || n >= maxVocabulary {
			return fmt.Errorf("a special token with the number %.40q", id.Raw)
		}
		t.vocabulary = max(t.vocabulary, int(n)+1)
		*list = append(*list, int32(n))
		return nil
	}
	switch kind := spec.Get("type").String(); kind {
	case "TemplateProcessing":
		list := &t.before
		for _, part := range spec.Get("single").Array() {
			if part.Get("Sequence").Exists() {
				list = &t.after
				continue
			}
			name := part.Get("SpecialToken.id").String()
			ids := spec.Get("special_tokens").Map()[name].Get("ids").Array()
			if len(ids) == 0 {
				return fmt.Errorf("no special token %.40q", name)
			}
			for _, id := range ids {
				if err := add(list, id); err != nil {
					return err
				}
			}
		}
	case "BertProcessing", "RobertaProcessing":
		if err := add(&t.before, spec.Get("cls.1")); err != nil {
			return err
		}
		return add(&t.after, spec.Get("sep.1"))
	case "ByteLevel": // only changes offsets
	default:
		return fmt.Errorf("type %.40q: %w", kind, ErrUnsupported)
	}
	return nil
}

// Vocabulary describes the tokenizer of a BERT model that only comes with vocab.txt.
type Vocabulary struct {
	Lines        []byte // content of vocab.txt: one token per line
	Lower        bool   // lower-case texts
	StripAccents bool
	Chinese      bool // put spaces around Chinese characters
}

// Parse returns the WordPiece tokenizer of a vocabulary, with [CLS] and [SEP] around texts.
func (v Vocabulary) Parse() (*Tokenizer, error) {
	vocab := map[string]int32{}
	for i, line := range strings.Split(strings.TrimSuffix(string(v.Lines), "\n"), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if _, ok := vocab[line]; !ok {
			vocab[line] = int32(i)
		}
	}
	t := &Tokenizer{normalize: []normalizer{newBert(true, v.Chinese, v.StripAccents, v.Lower)}, pieces: pieces{at: atPunctuation}}
	if err := t.wordPieceOf(vocab, "[UNK]", "##", 100); err != nil {
		return nil, err
	}
	for _, special := range []struct {
		name string
		list *[]int32
	}{{"[CLS]", &t.before}, {"[SEP]", &t.after}} {
		id, ok := vocab[special.name]
		if !ok {
			return nil, fmt.Errorf("no token %s", special.name)
		}
		*special.list = []int32{id}
	}
	return t, nil
}
