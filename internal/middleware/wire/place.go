package wire

// place says where a text can go at one message.
type place struct {
	own    spot // as something of its own, before what the message says
	merged spot // into the message's content; without one, own is taken
}

// spot is where a text can go, and the JSON around its escaped form. The zero spot
// is none.
type spot struct {
	at            int // in the body, never 0
	before, after string

	// A value that stands alone becomes an element of an array: open goes before
	// the first text, tail behind the last one, and shut behind the value, at end.
	open, tail string
	end        int
	shut       string
}

func (s *spot) exists() bool { return s.at > 0 }

// A message of its own is the same in all three dialects.
const (
	ownBefore = `{"role":"user","content":"`
	ownAfter  = `"},`
)

// before is the place of a message: an object, with its content. part is the JSON
// before the text of a part of its own in an array of content.
func before(object, content value, part string) place {
	p := place{own: spot{at: object.pos, before: ownBefore, after: ownAfter}}
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

// alone is the place of a string that is the whole conversation.
func alone(v value) place {
	return place{
		own: spot{at: v.pos, before: ownBefore, after: ownAfter,
			open: `[`, tail: `{"role":"user","content":`, end: v.pos + len(v.raw()), shut: `}]`},
		merged: spot{at: v.pos + 1, after: `\n\n`},
	}
}

// Parts of text, as far as the text.
const (
	textPart  = `{"type":"text","text":"`
	inputPart = `{"type":"input_text","text":"`
)
