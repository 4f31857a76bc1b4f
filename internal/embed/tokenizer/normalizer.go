package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normalizer is one step of normalizing a text before it is split. append appends the
// changed src to dst; both are valid UTF-8.
type normalizer interface {
	append(dst, src []byte) []byte
}

// parseNormalizer parses the normalizer of tokenizer.json, and flattens sequences.
func parseNormalizer(raw []byte, depth int) ([]normalizer, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var spec struct {
		Type        string
		Normalizers []json.RawMessage

		CleanText    *bool `json:"clean_text"` // BertNormalizer
		Chinese      *bool `json:"handle_chinese_chars"`
		StripAccents *bool `json:"strip_accents"`
		Lowercase    *bool `json:"lowercase"`

		Pattern struct{ String, Regex *string } // Replace
		Content string

		Left  bool `json:"strip_left"` // Strip
		Right bool `json:"strip_right"`

		Prepend string // Prepend

		Charsmap []byte `json:"precompiled_charsmap"` // Precompiled, in base64
	}
	if err := json.Unmarshal(raw, &spec); err != nil {
		return nil, err
	}
	one := func(n normalizer) ([]normalizer, error) { return []normalizer{n}, nil }
	switch spec.Type {
	case "Sequence":
		if depth > 4 {
			return nil, fmt.Errorf("sequences %d deep", depth)
		}
		var all []normalizer
		for _, n := range spec.Normalizers {
			some, err := parseNormalizer(n, depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
		return fuse(all), nil
	case "BertNormalizer":
		lower := boolOr(spec.Lowercase, true)
		return one(newBert(boolOr(spec.CleanText, true), boolOr(spec.Chinese, true), boolOr(spec.StripAccents, lower), lower))
	case "Replace":
		switch text, regex := spec.Pattern.String, spec.Pattern.Regex; {
		case text != nil && *text != "":
			return one(substitution{*text, spec.Content})
		case regex != nil && *regex == `\s+`:
			return one(collapse(spec.Content))
		}
		return nil, fmt.Errorf("a pattern other than a text or \\s+: %w", ErrUnsupported)
	case "Strip":
		return one(strip{spec.Left, spec.Right})
	case "Prepend":
		return one(prepend(spec.Prepend))
	case "Lowercase":
		return one(newBert(false, false, false, true))
	case "StripAccents":
		return one(stripAccents{})
	case "Precompiled":
		n, err := parseCharsmap(spec.Charsmap)
		if err != nil {
			return nil, err
		}
		return one(n)
	}
	if f, ok := forms[spec.Type]; ok {
		return one(f)
	}
	return nil, fmt.Errorf("type %.40q: %w", spec.Type, ErrUnsupported)
}

func boolOr(b *bool, def bool) bool {
	if b == nil {
		return def
	}
	return *b
}

type form norm.Form

var forms = map[string]form{"NFC": form(norm.NFC), "NFD": form(norm.NFD), "NFKC": form(norm.NFKC), "NFKD": form(norm.NFKD)}

func (f form) append(dst, src []byte) []byte { return norm.Form(f).Append(dst, src...) }

type stripAccents struct{}

func (stripAccents) append(dst, src []byte) []byte {
	for _, r := range string(src) {
		if r < utf8.RuneSelf || !unicode.Is(unicode.M, r) {
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

type strip struct{ left, right bool }

func (s strip) append(dst, src []byte) []byte {
	if s.left {
		src = bytes.TrimLeftFunc(src, unicode.IsSpace)
	}
	if s.right {
		src = bytes.TrimRightFunc(src, unicode.IsSpace)
	}
	return append(dst, src...)
}

type prepend string

func (p prepend) append(dst, src []byte) []byte {
	if len(src) == 0 {
		return dst
	}
	return append(append(dst, p...), src...)
}

// substitution replaces a text.
type substitution struct{ old, new string }

func (s substitution) append(dst, src []byte) []byte {
	for {
		i := bytes.Index(src, []byte(s.old))
		if i < 0 {
			return append(dst, src...)
		}
		dst = append(append(dst, src[:i]...), s.new...)
		src = src[i+len(s.old):]
	}
}

// collapse replaces each sequence of white space.
type collapse string

func (c collapse) append(dst, src []byte) []byte {
	space := false
	for i := 0; i < len(src); {
		r, size := rune(src[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(src[i:])
		}
		switch {
		case !unicode.IsSpace(r):
			dst, space = append(dst, src[i:i+size]...), false
		case !space:
			dst, space = append(dst, c...), true
		}
		i += size
	}
	return dst
}

// fuse combines neighbouring replacements of single characters into one pass, since
// models have dozens of them. It only combines replacements that don't depend on the
// results of earlier ones.
func fuse(steps []normalizer) []normalizer {
	var out []normalizer
	for _, n := range steps {
		s, ok := n.(substitution)
		if !ok || utf8.RuneCountInString(s.old) != 1 {
			out = append(out, n)
			continue
		}
		r, _ := utf8.DecodeRuneInString(s.old)
		if len(out) > 0 {
			if c, ok := out[len(out)-1].(*characters); ok && c.add(r, s.new) {
				continue
			}
		}
		c := &characters{other: map[rune]string{}}
		c.add(r, s.new)
		out = append(out, c)
	}
	return out
}

// characters replaces single characters.
type characters struct {
	ascii [utf8.RuneSelf]string // "" keeps the character, or see dropped
	drop  [utf8.RuneSelf]bool
	other map[rune]string
	seen  []rune
	made  strings.Builder // all replacements
}

// add reports whether the replacement could be added.
func (c *characters) add(r rune, with string) bool {
	if slices.Contains(c.seen, r) || strings.ContainsRune(c.made.String(), r) {
		return false
	}
	c.seen = append(c.seen, r)
	c.made.WriteString(with)
	if r < utf8.RuneSelf {
		c.ascii[r], c.drop[r] = with, with == ""
	} else {
		c.other[r] = with
	}
	return true
}

func (c *characters) append(dst, src []byte) []byte {
	for i := 0; i < len(src); {
		if b := src[i]; b < utf8.RuneSelf {
			if with := c.ascii[b]; with != "" {
				dst = append(dst, with...)
			} else if !c.drop[b] {
				dst = append(dst, b)
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(src[i:])
		if with, ok := c.other[r]; ok {
			dst = append(dst, with...)
		} else {
			dst = append(dst, src[i:i+size]...)
		}
		i += size
	}
	return dst
}
