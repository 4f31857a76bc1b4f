package model

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// abbreviations whose stop ends no sentence, although a capital may follow.
var abbreviations = map[string]bool{
	"e.g": true, "i.e": true, "etc": true, "vs": true, "no": true, "approx": true, "mr": true, "mrs": true, "ms": true,
	"dr": true, "prof": true, "st": true, "fig": true, "resp": true, "ca": true, "z.b": true, "d.h": true,
}

// endsSentence reports whether a sentence ends where head ends and rest follows.
func endsSentence(head, rest string) bool {
	r, _ := utf8.DecodeLastRuneInString(head)
	switch r {
	case '。', '！', '？', '।':
		return true
	case '.', '!', '?':
	default:
		return false
	}
	after := strings.TrimLeftFunc(rest, unicode.IsSpace)
	if after == "" || len(after) == len(rest) { // the end, or "v1.2" and "main.go"
		return after == ""
	}
	if first, _ := utf8.DecodeRuneInString(after); unicode.IsLower(first) {
		return false
	}
	word := head[strings.LastIndexFunc(head, unicode.IsSpace)+1 : len(head)-1]
	return r != '.' || utf8.RuneCountInString(word) > 1 && !abbreviations[strings.ToLower(strings.TrimLeft(word, "("))]
}

// sentences yields the sentences of text with the white space that follows each,
// so that they join to the text. A line break ends one too.
func sentences(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start := 0
		for i, r := range text {
			end := i + utf8.RuneLen(r)
			if r == utf8.RuneError {
				end = i + 1 // either spelling of it: no sentence ends there
			}
			if end <= start || r != '\n' && !endsSentence(text[start:end], text[end:]) {
				continue
			}
			end = len(text) - len(strings.TrimLeftFunc(text[end:], unicode.IsSpace))
			if !yield(text[start:end]) {
				return
			}
			start = end
		}
		if start < len(text) {
			yield(text[start:])
		}
	}
}

// upToSentence returns as many whole sentences of text as fit into so many
// characters; "" when not even the first does.
func upToSentence(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	end, left := 0, most
	for s := range sentences(text) {
		bare := strings.TrimRightFunc(s, unicode.IsSpace)
		if utf8.RuneCountInString(bare) > left {
			break
		}
		left -= utf8.RuneCountInString(s)
		end += len(s)
	}
	return strings.TrimSpace(text[:end])
}
