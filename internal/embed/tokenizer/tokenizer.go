package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// ErrUnsupported is wrapped by the error for a valid file with a feature that is not supported.
var ErrUnsupported = errors.New("not supported")

// Tokenizer converts a text into token ids, as tokenizer.json says: normalize, split into
// pieces, split the pieces into tokens. It is safe for concurrent use.
type Tokenizer struct {
	normalize []normalizer
	pieces    pieces
	model     interface {
		// cut appends a piece's tokens to ids. Unknown parts are left out, or become the unknown
		// token: see KeepUnknown.
		cut(w *viterbi, piece []byte, ids []int32) []int32
	}
	vocabulary int // one more than the highest token id

	before, after []int32 // around a text: see Around
}

// KeepUnknown makes Tokens emit the tokenizer's unknown token for unknown text, as in a
// transformer's training, instead of leaving it out. It must be called right after Parse.
func (t *Tokenizer) KeepUnknown() {
	switch m := t.model.(type) {
	case *wordPiece:
		m.keep = true
	case *unigram:
		m.keep = true
	}
}

// Around returns the tokens that a transformer needs before and after those of a text, such as
// [CLS] and [SEP]. Tokens does not add them.
func (t *Tokenizer) Around() (before, after []int32) { return t.before, t.after }

// Size returns one more than the highest token id.
func (t *Tokenizer) Size() int { return t.vocabulary }

// Memory is the working memory of one call of Tokens. The zero value is ready.
type Memory struct {
	text, other, piece []byte
	viterbi            viterbi
}

// Tokens appends the token ids of text to ids and returns the result. Invalid UTF-8 is left out.
// w is reused between calls; concurrent calls need separate ones.
func (t *Tokenizer) Tokens(w *Memory, text string, ids []int32) []int32 {
	w.text = appendValid(w.text[:0], text)
	for _, n := range t.normalize {
		w.other = n.append(w.other[:0], w.text)
		w.text, w.other = w.other, w.text
	}
	first := true
	for rest := w.text; len(rest) > 0; {
		var piece []byte
		if piece, rest = t.pieces.next(rest); len(piece) == 0 {
			break
		}
		if m := t.pieces.spaces; m != nil {
			w.piece = m.append(w.piece[:0], piece, first)
			for left := w.piece; len(left) > 0; {
				n := m.end(left)
				ids = t.model.cut(&w.viterbi, left[:n], ids)
				left = left[n:]
			}
		} else {
			ids = t.model.cut(&w.viterbi, piece, ids)
		}
		first = false
	}
	return ids
}

// appendValid appends text without invalid UTF-8.
func appendValid(dst []byte, text string) []byte {
	if utf8.ValidString(text) {
		return append(dst, text...)
	}
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				continue
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// maxVocabulary is the maximum number of tokens; the largest published vocabularies have a
// quarter of a million.
const maxVocabulary = 1 << 22

// Parse parses tokenizer.json. An error that wraps ErrUnsupported names the unsupported part;
// any other error means a damaged file.
func Parse(file []byte) (*Tokenizer, error) {
	var spec struct {
		Normalizer   json.RawMessage `json:"normalizer"`
		PreTokenizer json.RawMessage `json:"pre_tokenizer"`
		Model        json.RawMessage `json:"model"`
		Template     json.RawMessage `json:"post_processor"`
	}
	if err := json.Unmarshal(file, &spec); err != nil {
		return nil, err
	}
	t := &Tokenizer{}
	var err error
	if t.normalize, err = parseNormalizer(spec.Normalizer, 0); err != nil {
		return nil, fmt.Errorf("normalizer: %w", err)
	}
	if t.pieces, err = parsePieces(spec.PreTokenizer); err != nil {
		return nil, fmt.Errorf("pre-tokenizer: %w", err)
	}
	switch kind := gjson.GetBytes(spec.Model, "type").String(); kind {
	case "WordPiece":
		err = t.wordPiece(spec.Model)
	case "Unigram":
		err = t.unigram(spec.Model)
	case "":
		err = fmt.Errorf("no type")
	default:
		err = fmt.Errorf("type %.40q: %w", kind, ErrUnsupported)
	}
	if err != nil {
		return nil, fmt.Errorf("tokenizer model: %w", err)
	}
	if err := t.template(spec.Template); err != nil {
		return nil, fmt.Errorf("post-processor: %w", err)
	}
	return t, nil
}

func (t *Tokenizer) wordPiece(raw []byte) error {
	spec := struct {
		Unknown  string           `json:"unk_token"`
		Prefix   string           `json:"continuing_subword_prefix"`
		MaxRunes int              `json:"max_input_chars_per_word"`
		Vocab    map[string]int32 `json:"vocab"`
	}{Prefix: "##", MaxRunes: 100}
	if err := json.Unmarshal(raw, &spec); err != nil {
		return err
	}
	return t.wordPieceOf(spec.Vocab, spec.Unknown, spec.Prefix, spec.MaxRunes)
}

func (t *Tokenizer) wordPieceOf(vocab map[string]int32, unknown, prefix string, maxRunes int) error {
	starts := make([]trieKey, 0, len(vocab))
	var continuations []trieKey
	for text, token := range vocab {
		if token < 0 || token >= maxVocabulary {
			return fmt.Errorf("token %.40q has the number %d", text, token)
		}
		t.vocabulary = max(t.vocabulary, int(token)+1)
		starts = append(starts, trieKey{text, token})
		if n := len(prefix); len(text) > n && text[:n] == prefix {
			continuations = append(continuations, trieKey{text[n:], token})
		}
	}
	if len(starts) == 0 {
		return fmt.Errorf("no vocabulary")
	}
	w := &wordPiece{starts: newTrie(starts), continuations: newTrie(continuations), unknown: -1, maxRunes: maxRunes}
	if token, ok := vocab[unknown]; ok {
		w.unknown = token
	}
	t.model = w
	return nil
}

func (t *Tokenizer) unigram(raw []byte) error {
	spec := struct {
		Unknown      *int32          `json:"unk_id"`
		ByteFallback bool            `json:"byte_fallback"`
		Vocab        json.RawMessage `json:"vocab"`
	}{}
	if err := json.Unmarshal(raw, &spec); err != nil {
		return err
	}
	if spec.ByteFallback {
		return fmt.Errorf("byte_fallback: %w", ErrUnsupported)
	}
	var keys []trieKey
	var scores []float64
	for _, entry := range gjson.ParseBytes(spec.Vocab).Array() {
		pair := entry.Array()
		if len(pair) != 2 || pair[0].Type != gjson.String || pair[1].Type != gjson.Number {
			return fmt.Errorf("vocabulary entry %d is not a text and a score", len(scores))
		}
		keys = append(keys, trieKey{pair[0].Str, int32(len(scores))})
		scores = append(scores, pair[1].Num)
	}
	if len(keys) == 0 || len(keys) > maxVocabulary {
		return fmt.Errorf("a vocabulary of %d", len(keys))
	}
	t.vocabulary = len(keys)
	u := &unigram{tokens: newTrie(keys), unknown: -1}
	u.setScores(scores)
	if spec.Unknown != nil {
		u.unknown = *spec.Unknown
	}
	t.model = u
	return nil
}
