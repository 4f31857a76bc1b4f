package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"

	"github.com/kenlayer/ken"
)

// content reads a message's content: a string, or an array of parts, whose texts it joins with
// newlines. Any other value becomes a part without a type.
func content(v value) (string, []ken.Part) {
	switch {
	case v.isString():
		return v.text(), nil
	case v.isArray():
		return parts(v)
	case v.exists() && !v.isNull():
		return "", []ken.Part{{Ref: digest(v)}}
	}
	return "", nil
}

func parts(array value) (string, []ken.Part) {
	var out []ken.Part
	array.each(func(_ string, v value) bool {
		if p := part(v); !IsReasoning(p.Type) {
			out = append(out, p)
		}
		return true
	})
	return joinTexts(out), out
}

func joinTexts(parts []ken.Part) string {
	var texts []string
	for i := range parts {
		if parts[i].Ref == "" {
			texts = append(texts, parts[i].Text)
		}
	}
	return strings.Join(texts, "\n")
}

// part reads one part. A part that is not text is identified by a digest, so that no image is kept
// in memory.
func part(v value) ken.Part {
	if v.isString() {
		return ken.Part{Type: "text", Text: v.text()}
	}
	var p ken.Part
	if !v.isObject() {
		return ken.Part{Ref: digest(v)}
	}
	v.each(func(key string, v value) bool {
		switch key {
		case "type":
			p.Type = v.text()
		case "text":
			p.Text = v.text()
		}
		return true
	})
	switch p.Type {
	case "text":
	case "input_text", "output_text": // the names in Responses
		p.Type = "text"
	default:
		p.Text, p.Ref = "", digest(v)
	}
	return p
}

// IsReasoning reports whether a part of this type is reasoning.
func IsReasoning(kind string) bool {
	switch kind {
	case "thinking", "redacted_thinking", "reasoning", "reasoning_text", "summary_text":
		return true
	}
	return false
}

// digest returns a hash of a value. It ignores marks for the provider's cache, which clients move
// from request to request while the marked value stays the same.
func digest(v value) string {
	h := sha256.New()
	if !v.isObject() {
		_, _ = io.WriteString(h, v.raw())
		return "sha256:" + hex.EncodeToString(h.Sum(nil))
	}
	sep := "{"
	v.each(func(key string, v value) bool {
		if key != "cache_control" {
			for _, s := range []string{sep, `"`, key, `":`, v.raw()} {
				_, _ = io.WriteString(h, s)
			}
			sep = ","
		}
		return true
	})
	if sep == "{" {
		_, _ = io.WriteString(h, sep)
	}
	_, _ = io.WriteString(h, "}")
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
