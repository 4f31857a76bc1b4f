package wire

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

// Insertion is a text and its place.
type Insertion struct {
	// Before is the index of the message that the text goes before, or into. In Responses and
	// Messages, only user messages have a place.
	Before int
	// Text may be anything; invalid UTF-8 is replaced by U+FFFD.
	Text string
	// Merge puts the text at the beginning of the message's content, followed by an empty line:
	// into the string, or as a text part before the other parts. A message whose content is
	// neither gets a user message before it, as without Merge.
	Merge bool
}

// Splice returns a copy of body with the insertions in place and every other byte as it was. r
// must be the result of Parse for body. The insertions must be ordered by Before. One that is
// out of range, out of order, or at a message without a place is an error with ken.CodeInvalid,
// and nothing is inserted.
//
// A text becomes a user message before the message that it goes before. There are two
// exceptions. A Responses input that is a string becomes an array of both. In a user message of
// Messages that has tool results, which must follow their calls directly, the text becomes a
// block after the results.
func Splice(body []byte, r Request, ins []Insertion) ([]byte, error) {
	s := splicer{body: body}
	s.out.Grow(len(body) + extraSize(ins))
	spots := make([]spot, len(ins))
	at := 0
	for i, in := range ins {
		if in.Before < 0 || in.Before >= len(r.places) {
			return nil, errMisplaced(i, "no message "+strconv.Itoa(in.Before))
		}
		p := &r.places[in.Before]
		if spots[i] = p.separate; in.Merge && p.merged.exists() {
			spots[i] = p.merged
		}
		switch {
		case !spots[i].exists():
			return nil, errMisplaced(i, "message "+strconv.Itoa(in.Before)+" is not a user's")
		case spots[i].at < at:
			return nil, errMisplaced(i, "out of order")
		}
		at = spots[i].at
	}
	for i, in := range ins {
		first, last := i == 0 || spots[i-1] != spots[i], i == len(ins)-1 || spots[i+1] != spots[i]
		s.insert(&spots[i], in.Text, first, last)
	}
	s.copyTo(len(body))
	return s.out.Bytes(), nil
}

// splicer is a Splice in progress.
type splicer struct {
	body    []byte
	copied  int // bytes of body
	out     bytes.Buffer
	closing string // to be written at end
	end     int
}

func (s *splicer) insert(p *spot, text string, first, last bool) {
	s.copyTo(p.at)
	if first {
		s.out.WriteString(p.open)
	}
	s.out.WriteString(p.before)
	s.out.Write(appendEscaped(s.out.AvailableBuffer(), text))
	s.out.WriteString(p.after)
	if last {
		s.out.WriteString(p.tail)
		if p.close != "" {
			s.closing, s.end = p.close, p.end
		}
	}
}

// copyTo copies the body up to an offset.
func (s *splicer) copyTo(at int) {
	if s.closing != "" && s.end <= at {
		s.out.Write(s.body[s.copied:s.end])
		s.out.WriteString(s.closing)
		s.copied, s.closing = s.end, ""
	}
	s.out.Write(s.body[s.copied:at])
	s.copied = at
}

// extraSize is about how many bytes the insertions add.
func extraSize(ins []Insertion) (n int) {
	for _, in := range ins {
		n += len(in.Text) + len(in.Text)/16 + 64
	}
	return n
}

func errMisplaced(i int, msg string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: elementName("insertions", i), Msg: msg}
}

// place says where a text can go at one message.
type place struct {
	separate spot // as an element of its own, before the message's own text
	merged   spot // into the message's content; without it, separate is used
	element  int  // the message's index in the array of a chat request
}

// spot is an offset where a text can go, and the JSON around its escaped form. The zero spot is
// none.
type spot struct {
	at            int // in the body, never 0
	before, after string

	// A value that stands alone becomes an element of an array: open goes before
	// the first text, tail behind the last one, and shut behind the value, at end.
	open, tail string
	end        int
	close      string
}

func (s *spot) exists() bool { return s.at > 0 }

// A user message of its own is the same in all dialects.
const (
	ownBefore = `{"role":"user","content":"`
	ownAfter  = `"},`
)

// messagePlace returns the place of a message: an object, with its content. part is the JSON
// before the text of a part in an array of content.
func messagePlace(object, content value, part string) place {
	p := place{separate: spot{at: object.pos, before: ownBefore, after: ownAfter}}
	switch head := content.pos + 1; {
	case content.isString():
		p.merged = spot{at: head, after: `\n\n`}
	case content.isArray():
		p.merged = spot{at: head, before: part, after: `\n\n"},`}
		if content.length() == 0 {
			p.merged.after = `\n\n"}`
		}
	}
	return p
}

// stringPlace returns the place of a string that is the whole conversation.
func stringPlace(v value) place {
	return place{
		separate: spot{at: v.pos, before: ownBefore, after: ownAfter,
			open: `[`, tail: `{"role":"user","content":`, end: v.pos + len(v.raw()), close: `}]`},
		merged: spot{at: v.pos + 1, after: `\n\n`},
	}
}

// Parts of text, up to the text.
const (
	textPart  = `{"type":"text","text":"`
	inputPart = `{"type":"input_text","text":"`
)

// appendEscaped appends a string's JSON form without its quotes, as encoding/json writes it:
// invalid UTF-8 becomes U+FFFD. It leaves <, > and & alone: escaped, they would cost tokens and
// mean nothing to the model.
//
// A block has thousands of characters and few that need an escape: what lies between them is
// copied at once.
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
