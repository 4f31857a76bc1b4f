package gateway

import (
	"bytes"
	"io"

	"github.com/kenlayer/ken/internal/websocket"
)

// messageFilter passes one direction of a WebSocket on. It collects each text message and
// shows it to look before the message goes on. Every other frame goes on as it comes: control
// frames, also those between the fragments of a text, binary messages, and compressed ones.
// So does a text for which room says no, and whatever breaks the protocol.
type messageFilter struct {
	// look decides about a whole text message: it goes on as it came, or others go on
	// instead of it. The filter does not keep the text afterwards.
	inspect func(text []byte) (instead [][]byte, replace bool)
	// grow reports whether there is room for more bytes of text.
	grow func(more int) bool
	// skipped is told that a text goes on without being shown, with its beginning, and why: a
	// reason of request_body.go, or "" for one that broke off.
	skipped func(text []byte, why string)
	// out gets what goes on. Its errors are its own concern.
	out io.Writer
	// maxText is the longest text that is collected, in bytes.
	maxText int

	head       []byte // of the next frame, not whole yet
	frame      websocket.Header
	left       int64 // of the frame's payload
	collecting bool  // a text, whose frames so far are in parts
	text       []byte
	parts      []textPart
	broken     bool // the frames can't be told apart any more
	scratch    []byte
}

// textPart is a frame of a collected text.
type textPart struct {
	head []byte // as it came
	key  [4]byte
	mask bool
	end  int // of its payload in the text
}

// write processes the next bytes.
func (f *messageFilter) write(p []byte) {
	for len(p) > 0 {
		switch {
		case f.broken:
			_, _ = f.out.Write(p)
			return
		case f.left > 0:
			n := int(min(f.left, int64(len(p))))
			f.payload(p[:n])
			p = p[n:]
		default:
			had := len(f.head)
			f.head = append(f.head, p[:min(len(p), websocket.MaxHeader-had)]...)
			h, n, err := websocket.ParseHeader(f.head)
			if n == 0 && err == nil {
				return
			}
			if err != nil {
				f.release("")
				f.broken = true
				_, _ = f.out.Write(f.head[:had])
				f.head = nil
				continue
			}
			p = p[n-had:]
			f.begin(h, f.head[:n])
			f.head = f.head[:0]
		}
	}
}

// begin processes a frame's header.
func (f *messageFilter) begin(h websocket.Header, head []byte) {
	f.frame, f.left = h, h.Length
	if f.belongs(h) {
		f.collecting = true
		f.parts = append(f.parts, textPart{head: bytes.Clone(head), key: h.Key, mask: h.Masked, end: len(f.text)})
	} else {
		_, _ = f.out.Write(head)
	}
	if f.left == 0 {
		f.end()
	}
}

// belongs reports whether a frame is part of a text that is collected.
func (f *messageFilter) belongs(h websocket.Header) bool {
	switch {
	case h.Opcode.Control():
		return false
	case f.collecting && h.Opcode == websocket.Continuation && h.RSV == 0:
		return true
	case f.collecting: // a new message within one
		f.release("")
	}
	if h.Opcode == websocket.Text && h.RSV != 0 {
		f.skipped(nil, compressed)
	}
	return h.Opcode == websocket.Text && h.RSV == 0
}

// payload processes a part of a frame's payload.
func (f *messageFilter) payload(p []byte) {
	if f.collecting && !f.frame.Opcode.Control() {
		f.reserve(len(p))
	}
	if f.collecting && !f.frame.Opcode.Control() {
		at := len(f.text)
		f.text = append(f.text, p...)
		if f.frame.Masked {
			websocket.Mask(f.frame.Key, f.frame.Length-f.left, f.text[at:])
		}
		f.parts[len(f.parts)-1].end = len(f.text)
	} else {
		_, _ = f.out.Write(p)
	}
	if f.left -= int64(len(p)); f.left == 0 {
		f.end()
	}
}

// reserve makes room for n more bytes of text, or stops collecting the text.
func (f *messageFilter) reserve(n int) {
	size := len(f.text) + n
	switch {
	case size > f.maxText:
		f.release(tooLarge)
	case size > cap(f.text):
		size = max(size, min(2*cap(f.text), f.maxText))
		if !f.grow(size - cap(f.text)) {
			f.release(tooMany)
			return
		}
		f.text = append(make([]byte, 0, size), f.text...)
	}
}

// end handles the end of a frame.
func (f *messageFilter) end() {
	if !f.collecting || f.frame.Opcode.Control() || !f.frame.Fin {
		return
	}
	instead, replace := f.inspect(f.text)
	if !replace {
		f.pass()
		return
	}
	first := f.parts[0] // a client chose its mask by chance; it is as good for what takes its place
	f.forget()
	for _, text := range instead {
		h := websocket.Header{Fin: true, Opcode: websocket.Text, Masked: first.mask, Key: first.key, Length: int64(len(text))}
		_, _ = f.out.Write(h.Append(nil))
		f.writeText(text, &first)
	}
}

// flush passes on what is left when no more comes. Where a control frame broke off within a
// text, the text is lost: behind it, its bytes would be the control frame's.
func (f *messageFilter) flush() {
	if f.left > 0 && f.frame.Opcode.Control() {
		f.forget()
	}
	f.release("")
	_, _ = f.out.Write(f.head)
	f.head = nil
}

// release passes on what was collected of a text, and collects no more of it.
func (f *messageFilter) release(why string) {
	if f.collecting {
		f.skipped(f.text, why)
		f.pass()
	}
}

// pass passes on what was collected, as it came.
func (f *messageFilter) pass() {
	at := 0
	for i := range f.parts {
		p := &f.parts[i]
		_, _ = f.out.Write(p.head)
		f.writeText(f.text[at:p.end], p)
		at = p.end
	}
	f.forget()
}

// writeText writes the beginning of a frame's payload, masked as the frame is. The text stays
// as it is.
func (f *messageFilter) writeText(text []byte, as *textPart) {
	if !as.mask {
		_, _ = f.out.Write(text)
		return
	}
	if f.scratch == nil {
		f.scratch = make([]byte, 8<<10)
	}
	for at := 0; at < len(text); {
		n := copy(f.scratch, text[at:])
		websocket.Mask(as.key, int64(at), f.scratch[:n])
		_, _ = f.out.Write(f.scratch[:n])
		at += n
	}
}

// forget drops the text: its new owner may still hold it.
func (f *messageFilter) forget() {
	f.collecting, f.text, f.parts = false, nil, nil
}
