package wire

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

// Insertion is a text and its place.
type Insertion struct {
	// Before is the index of the message that the text goes before, or into. In
	// Responses and Messages, only what a user said has a place.
	Before int
	// Text may be anything; what is not UTF-8 is replaced by U+FFFD.
	Text string
	// Merge puts the text at the head of the message's content, followed by an
	// empty line: into the string, or as a text part of its own before the other
	// parts. A message whose content is neither gets a user message before it, as
	// without Merge.
	Merge bool
}

// Splice returns a copy of body with the insertions in place and every other
// byte as it was. r must be what Parse made of body. The insertions come by
// rising Before; one that is out of range, out of order, or at a message without
// a place is an error with ken.CodeInvalid, and nothing is spliced.
//
// A text is a user message before the one that it goes before. Two places are
// different: a Responses input that is a string becomes an array of both; and in a
// Messages request that answers tool calls in the same message, where nothing may
// come between the calls and their results, the text is a block of its own behind
// the results.
func Splice(body []byte, r Request, ins []Insertion) ([]byte, error) {
	s := splicing{body: body}
	s.out.Grow(len(body) + room(ins))
	spots := make([]spot, len(ins))
	at := 0
	for i, in := range ins {
		if in.Before < 0 || in.Before >= len(r.places) {
			return nil, misplaced(i, "no message "+strconv.Itoa(in.Before))
		}
		p := &r.places[in.Before]
		if spots[i] = p.own; in.Merge && p.merged.exists() {
			spots[i] = p.merged
		}
		switch {
		case !spots[i].exists():
			return nil, misplaced(i, "message "+strconv.Itoa(in.Before)+" is not a user's")
		case spots[i].at < at:
			return nil, misplaced(i, "out of order")
		}
		at = spots[i].at
	}
	for i, in := range ins {
		first, last := i == 0 || spots[i-1] != spots[i], i == len(ins)-1 || spots[i+1] != spots[i]
		s.insert(&spots[i], in.Text, first, last)
	}
	s.upTo(len(body))
	return s.out.Bytes(), nil
}

// splicing is a Splice under way.
type splicing struct {
	body []byte
	done int // of body
	out  bytes.Buffer
	shut string // to be written at end
	end  int
}

func (s *splicing) insert(p *spot, text string, first, last bool) {
	s.upTo(p.at)
	if first {
		s.out.WriteString(p.open)
	}
	s.out.WriteString(p.before)
	s.out.Write(appendEscaped(s.out.AvailableBuffer(), text))
	s.out.WriteString(p.after)
	if last {
		s.out.WriteString(p.tail)
		if p.shut != "" {
			s.shut, s.end = p.shut, p.end
		}
	}
}

// upTo writes the body up to there.
func (s *splicing) upTo(at int) {
	if s.shut != "" && s.end <= at {
		s.out.Write(s.body[s.done:s.end])
		s.out.WriteString(s.shut)
		s.done, s.shut = s.end, ""
	}
	s.out.Write(s.body[s.done:at])
	s.done = at
}

// room is about what the insertions add.
func room(ins []Insertion) (n int) {
	for _, in := range ins {
		n += len(in.Text) + len(in.Text)/16 + 64
	}
	return n
}

func misplaced(i int, msg string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: element("insertions", i), Msg: msg}
}

// appendEscaped appends a string's JSON form without its quotes, as encoding/json
// writes it: what is not UTF-8 becomes U+FFFD. It leaves <, > and & alone: escaped,
// they would cost tokens and tell the model nothing.
//
// A block has thousands of characters and few that need an escape: what lies between
// them is copied at once.
func appendEscaped(b []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c < ' ' || c == '"' || c == '\\' {
				b = appendEscape(append(b, s[from:i]...), c)
				from = i + 1
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(append(b, s[from:i]...), `\ufffd`...)
			from = i + n
		case r == '\u2028' || r == '\u2029': // ends a line in JavaScript
			b = append(append(append(b, s[from:i]...), `\u202`...), hexDigits[r&0xf])
			from = i + n
		}
		i += n
	}
	return append(b, s[from:]...)
}

const hexDigits = "0123456789abcdef"

// appendEscape appends the escape of an ASCII character that needs one.
func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}
