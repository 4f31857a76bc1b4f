package wire

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/kenlayer/ken"
)

// Insertion is a text and its place.
type Insertion struct {
	// Before is the index of the message that the text goes before, or into.
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
// rising Before; one that is out of range or out of order is an error with
// ken.CodeInvalid, and nothing is spliced.
func Splice(body []byte, r Request, ins []Insertion) ([]byte, error) {
	var out bytes.Buffer
	out.Grow(len(body) + room(ins))
	done := 0
	for i, in := range ins {
		if in.Before < 0 || in.Before >= len(r.places) {
			return nil, misplaced(i, "no message "+strconv.Itoa(in.Before))
		}
		at, before, after := frame(r.places[in.Before], in.Merge)
		if at < done {
			return nil, misplaced(i, "out of order")
		}
		out.Write(body[done:at])
		out.WriteString(before)
		writeEscaped(&out, in.Text)
		out.WriteString(after)
		done = at
	}
	out.Write(body[done:])
	return out.Bytes(), nil
}

// frame returns where an insertion goes, and the JSON around its escaped text.
func frame(p place, merge bool) (at int, before, after string) {
	if merge {
		switch p.form {
		case formText:
			return p.head, ``, `\n\n`
		case formParts:
			return p.head, `{"type":"text","text":"`, `\n\n"},`
		case formNoParts:
			return p.head, `{"type":"text","text":"`, `\n\n"}`
		}
	}
	return p.start, `{"role":"user","content":"`, `"},`
}

// writeEscaped writes a string's JSON form without its quotes. It leaves <, >
// and & alone: escaped, they would cost tokens and tell the model nothing.
func writeEscaped(out *bytes.Buffer, s string) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // neither a string nor a buffer can fail
	out.Write(b.Bytes()[1 : b.Len()-len("\"\n")])
}

// room is about what the insertions add.
func room(ins []Insertion) (n int) {
	for _, in := range ins {
		n += len(in.Text) + len(in.Text)/16 + 64
	}
	return n
}

func misplaced(i int, msg string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: "insertions[" + strconv.Itoa(i) + "]", Msg: msg}
}
