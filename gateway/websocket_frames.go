package gateway

import (
	"bytes"
	"io"

	"github.com/kenlayer/ken/internal/websocket"
)

// messageFilter passes on one direction of a WebSocket. It collects each text message and passes it
// to inspect before sending it on. All other frames are passed on as they arrive: control frames
// (even between the fragments of a text), binary messages and compressed messages. So is a text for
// which grow returns false, and everything after a protocol error.
type messageFilter struct {
	// inspect decides about a complete text message. If replace is true, the messages in instead
	// are sent in its place. The filter does not use text afterwards.
	inspect func(text []byte) (instead [][]byte, replace bool)
	// grow reports whether there is room for more bytes of text.
	grow func(more int) bool
	// skipped is called for a text that is passed on without inspection, with the text's beginning.
	// why is one of the reasons in request_body.go, or "" if the text broke off.
	skipped func(text []byte, why string)
	// out receives the bytes to pass on. The filter ignores its errors.
	out io.Writer
	// maxText is the maximum length in bytes of a text that is collected.
	maxText int

	head       []byte // the incomplete header of the next frame
	frame      websocket.Header
	left       int64 // remaining bytes of the frame's payload
	collecting bool  // a text is being collected; parts has its frames so far
	text       []byte
	parts      []textPart
	broken     bool // a protocol error: frames can no longer be recognized
	scratch    []byte
}

// textPart is a frame of the collected text.
type textPart struct {
	head []byte // the frame's header as it arrived
	key  [4]byte
	mask bool
	end  int // end of its payload in the text
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

// belongs reports whether a frame is part of the text that is being collected.
func (f *messageFilter) belongs(h websocket.Header) bool {
	switch {
	case h.Opcode.Control():
		return false
	case f.collecting && h.Opcode == websocket.Continuation && h.RSV == 0:
		return true
	case f.collecting: // a new message inside another one
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
	first := f.parts[0] // the mask that the client chose at random also serves for the replacement
	f.forget()
	for _, text := range instead {
		h := websocket.Header{Fin: true, Opcode: websocket.Text, Masked: first.mask, Key: first.key, Length: int64(len(text))}
		_, _ = f.out.Write(h.Append(nil))
		f.writeText(text, &first)
	}
}

// flush passes on what is left at the end of the stream. If a control frame broke off inside a
// text, the text is dropped: sent after the frame's beginning, it would be read as the frame's
// payload.
func (f *messageFilter) flush() {
	if f.left > 0 && f.frame.Opcode.Control() {
		f.forget()
	}
	f.release("")
	_, _ = f.out.Write(f.head)
	f.head = nil
}

// release passes on the collected part of a text and stops collecting it. why is the reason.
func (f *messageFilter) release(why string) {
	if f.collecting {
		f.skipped(f.text, why)
		f.pass()
	}
}

// pass passes on the collected frames unchanged.
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

// writeText writes the beginning of a frame's payload, with the frame's mask. It does not change
// text.
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

// forget drops the references to the text, because inspect may have kept it.
func (f *messageFilter) forget() {
	f.collecting, f.text, f.parts = false, nil, nil
}
