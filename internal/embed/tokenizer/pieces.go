package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// pieces says how a text is split into pieces before these are split into tokens.
type pieces struct {
	at     border
	spaces *metaspace // nil: spaces are not replaced by a mark
}

// border says where pieces end.
type border uint8

const (
	atEnd         border = iota // the text is one piece
	atSpace                     // at white space
	atPunctuation               // at white space, and around each punctuation character
)

// next returns the first piece of src, without surrounding white space unless the text
// is one piece, and the rest. An empty piece means that there are no more.
func (p pieces) next(src []byte) (piece, rest []byte) {
	if p.at == atEnd {
		return src, nil
	}
	start := -1
	for i := 0; i < len(src); {
		r, size := rune(src[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(src[i:])
		}
		space := unicode.IsSpace(r)
		single := !space && p.at == atPunctuation && isPunctuation(r)
		switch {
		case start < 0 && single:
			return src[i : i+size], src[i+size:]
		case start < 0 && !space:
			start = i
		case start >= 0 && (space || single):
			return src[start:i], src[i:]
		}
		i += size
	}
	if start < 0 {
		return nil, nil
	}
	return src[start:], nil
}

// isPunctuation reports whether BERT treats r as punctuation: all ASCII characters
// except letters, digits, spaces and control characters, and Unicode's punctuation.
func isPunctuation(r rune) bool {
	switch {
	case r >= utf8.RuneSelf:
		return unicode.IsPunct(r)
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return '!' <= r && r <= '~'
}

// metaspace replaces spaces by a visible mark, so that tokens can represent the
// beginning of a word.
type metaspace struct {
	mark    []byte
	prepend string // to which pieces: always, first, never
	split   bool   // pieces end before each mark
}

func (m *metaspace) append(dst, piece []byte, first bool) []byte {
	prepend := m.prepend == "always" || m.prepend == "first" && first
	if prepend && piece[0] != ' ' && !bytes.HasPrefix(piece, m.mark) {
		dst = append(dst, m.mark...)
	}
	for _, b := range piece {
		if b == ' ' {
			dst = append(dst, m.mark...)
		} else {
			dst = append(dst, b)
		}
	}
	return dst
}

// end returns the length of the first part of a marked piece.
func (m *metaspace) end(piece []byte) int {
	if m.split {
		if i := bytes.Index(piece[1:], m.mark); i >= 0 {
			return i + 1
		}
	}
	return len(piece)
}

// parsePieces parses the pre_tokenizer of tokenizer.json: at most one that splits, then
// at most one that marks spaces.
func parsePieces(raw []byte) (pieces, error) {
	var p pieces
	if len(raw) == 0 || string(raw) == "null" {
		return p, nil
	}
	var spec struct {
		Type          string
		Pretokenizers []json.RawMessage
		Replacement   string
		Scheme        string `json:"prepend_scheme"`
		AddPrefix     *bool  `json:"add_prefix_space"` // the scheme's older form
		Split         *bool
	}
	if err := json.Unmarshal(raw, &spec); err != nil {
		return p, err
	}
	switch spec.Type {
	case "BertPreTokenizer":
		p.at = atPunctuation
	case "WhitespaceSplit":
		p.at = atSpace
	case "Metaspace":
		m := &metaspace{mark: []byte(spec.Replacement), prepend: spec.Scheme, split: boolOr(spec.Split, true)}
		if m.prepend == "" {
			m.prepend = "never"
			if boolOr(spec.AddPrefix, true) {
				m.prepend = "always"
			}
		}
		if utf8.RuneCount(m.mark) != 1 {
			return p, fmt.Errorf("replacement %.40q", spec.Replacement)
		}
		p.spaces = m
	case "Sequence":
		for _, r := range spec.Pretokenizers {
			part, err := parsePieces(r)
			switch {
			case err != nil:
				return p, err
			case p.spaces != nil, p.at != atEnd && part.at != atEnd:
				return p, fmt.Errorf("this sequence: %w", ErrUnsupported)
			}
			p.at, p.spaces = max(p.at, part.at), part.spaces
		}
	default:
		return p, fmt.Errorf("type %.40q: %w", spec.Type, ErrUnsupported)
	}
	return p, nil
}

// wordPiece splits a word greedily: the longest token that is a prefix, then the
// longest continuation of the rest. A word that can't be split completely is unknown as
// a whole.
type wordPiece struct {
	starts, continuations *trie
	unknown               int32 // -1 for none
	keep                  bool  // emit the unknown token
	maxRunes              int   // maximum length; longer words are unknown
}

func (w *wordPiece) cut(_ *viterbi, word []byte, ids []int32) []int32 {
	before := len(ids)
	if utf8.RuneCount(word) > w.maxRunes {
		return w.appendUnknown(ids)
	}
	t := w.starts
	for len(word) > 0 {
		token, n := t.longest(word)
		if n == 0 {
			return w.appendUnknown(ids[:before])
		}
		if token != w.unknown || w.keep {
			ids = append(ids, token)
		}
		word, t = word[n:], w.continuations
	}
	return ids
}

func (w *wordPiece) appendUnknown(ids []int32) []int32 {
	if w.keep && w.unknown >= 0 {
		ids = append(ids, w.unknown)
	}
	return ids
}
