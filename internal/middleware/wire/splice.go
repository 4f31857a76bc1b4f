package wire

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

// Insertion is a text and its position.
type Insertion struct {
	// Before is the index of the message before which, or into which, the text is inserted. In
	// Responses and Messages only user messages allow that.
	Before int
	// Text may contain anything; invalid UTF-8 is replaced by U+FFFD.
	Text string
	// Merge inserts the text at the beginning of the message's content, followed by an empty line:
	// into the string, or as a text part before the other parts. If the content is neither, the
	// text becomes a message, as without Merge.
	Merge bool
}

// Splice returns a copy of body with the insertions and without any other change. r must be the
// result of Parse for body. The insertions must be sorted by Before. If one is out of range, out of
// order, or at a message that allows none, Splice returns an error with ken.CodeInvalid.
//
// A text becomes a user message before the message at Before, with two exceptions. A Responses
// input that is a string becomes an array of both. In a user message of Messages that has tool
// results, which must directly follow their calls, the text becomes a block after the results.
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

// splicer is the state of one Splice.
type splicer struct {
	body    []byte
	copied  int // number of bytes of body
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

// extraSize returns approximately how many bytes the insertions add.
func extraSize(ins []Insertion) (n int) {
	for _, in := range ins {
		n += len(in.Text) + len(in.Text)/16 + 64
	}
	return n
}

func errMisplaced(i int, msg string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: elementName("insertions", i), Msg: msg}
}

// place holds the positions where a text can be inserted at one message.
type place struct {
	separate spot // as an element of its own, before the message
	merged   spot // inside the message's content; if it does not exist, separate is used
	element  int  // the message's index in the array of a chat request
}

// spot is an offset at which a text can be inserted, and the JSON around its escaped form. The zero
// spot means that there is none.
type spot struct {
	at            int // offset in the body, never 0
	before, after string

	// If a single value becomes an array: open is written before the first text, tail after the
	// last one, and close after the value, at end.
	open, tail string
	end        int
	close      string
}

func (s *spot) exists() bool { return s.at > 0 }

// A separate user message is the same in all dialects.
const (
	ownBefore = `{"role":"user","content":"`
	ownAfter  = `"},`
)

// messagePlace returns the place of a message: object is the message and content its content. part
// is the JSON before the text of a part in an array of content.
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

// stringPlace returns the place of a string that is the complete conversation.
func stringPlace(v value) place {
	return place{
		separate: spot{at: v.pos, before: ownBefore, after: ownAfter,
			open: `[`, tail: `{"role":"user","content":`, end: v.pos + len(v.raw()), close: `}]`},
		merged: spot{at: v.pos + 1, after: `\n\n`},
	}
}

// The beginnings of text parts, up to the text.
const (
	textPart  = `{"type":"text","text":"`
	inputPart = `{"type":"input_text","text":"`
)

// appendEscaped appends the JSON form of a string without its quotes, as encoding/json writes it:
// invalid UTF-8 becomes U+FFFD. It does not escape <, > and &, because the escapes would cost
// tokens and have no benefit.
//
// A request has tens of thousands of characters of blocks, few of which need an escape; the runs
// between them are copied at once.
func appendEscaped(b []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if plain[c] {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			b = appendEscape(append(b, s[from:i]...), c)
			i++
			from = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(append(b, s[from:i]...), `\ufffd`...)
			from = i + n
		case r == '\u2028' || r == '\u2029': // JavaScript treats it as a line end
			b = append(append(append(b, s[from:i]...), `\u202`...), hexDigits[r&0xf])
			from = i + n
		}
		i += n
	}
	return append(b, s[from:]...)
}

// plain says which bytes are ASCII characters that need no escape.
var plain = func() (plain [256]bool) {
	for c := byte(' '); c < utf8.RuneSelf; c++ {
		plain[c] = c != '"' && c != '\\'
	}
	return plain
}()

const hexDigits = "0123456789abcdef"

// appendEscape appends the escape of an ASCII character.
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
