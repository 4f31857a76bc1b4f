// Package websocket reads and writes the frames of a WebSocket (RFC 6455), one header or
// payload at a time. This is enough for a proxy. The usual libraries can't be used, because
// they take over the connection: they answer pings, join fragments and choose the close code.
package websocket

import (
	"crypto/sha1" //nolint:gosec // the protocol asks for it; it protects nothing
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strings"
)

// Opcode is the kind of a frame.
type Opcode byte

// Opcodes. Continuation is a further frame of a started message.
const (
	Continuation Opcode = 0
	Text         Opcode = 1
	Binary       Opcode = 2
	Close        Opcode = 8
	Ping         Opcode = 9
	Pong         Opcode = 10
)

// Control reports whether the frame is a control frame, which may occur between the frames of a
// message.
func (o Opcode) Control() bool { return o&8 != 0 }

// Header is the header of a frame.
type Header struct {
	Fin    bool // the last frame of its message
	RSV    byte // the reserved bits, 0..7; an extension such as compression sets them
	Opcode Opcode
	Masked bool    // set in every frame of a client
	Key    [4]byte // only in a masked frame
	Length int64   // of the payload, in bytes
}

// MaxHeader is the maximum length of a header, in bytes.
const MaxHeader = 14

// errLength is the error for an invalid payload length.
var errLength = errors.New("websocket: the length of a frame is out of range")

// ParseHeader parses the header at the beginning of b. n is its length in bytes, or 0 if b
// contains only a part of it. The only error is a length above 1<<63-1.
func ParseHeader(b []byte) (h Header, n int, err error) {
	if len(b) < 2 {
		return h, 0, nil
	}
	h = Header{Fin: b[0]&0x80 != 0, RSV: b[0] >> 4 & 7, Opcode: Opcode(b[0] & 15), Masked: b[1]&0x80 != 0}
	n = 2
	switch length := b[1] & 0x7f; length {
	case 126:
		if n += 2; len(b) < n {
			return h, 0, nil
		}
		h.Length = int64(binary.BigEndian.Uint16(b[2:]))
	case 127:
		if n += 8; len(b) < n {
			return h, 0, nil
		}
		if h.Length = int64(binary.BigEndian.Uint64(b[2:])); h.Length < 0 { //nolint:gosec // checked here
			return h, 0, errLength
		}
	default:
		h.Length = int64(length)
	}
	if h.Masked {
		if n += len(h.Key); len(b) < n {
			return h, 0, nil
		}
		copy(h.Key[:], b[n-len(h.Key):])
	}
	return h, n, nil
}

// Append appends the header to b, with the length in the fewest bytes.
func (h Header) Append(b []byte) []byte {
	first, second := h.RSV<<4|byte(h.Opcode), byte(0)
	if h.Fin {
		first |= 0x80
	}
	if h.Masked {
		second = 0x80
	}
	switch {
	case h.Length < 126:
		b = append(b, first, second|byte(h.Length))
	case h.Length <= 0xffff:
		b = binary.BigEndian.AppendUint16(append(b, first, second|126), uint16(h.Length)) //nolint:gosec // checked here
	default:
		b = binary.BigEndian.AppendUint64(append(b, first, second|127), uint64(h.Length)) //nolint:gosec // never below 0
	}
	if h.Masked {
		b = append(b, h.Key[:]...)
	}
	return b
}

// Mask applies or removes the mask of b, a part of a payload. from is the number of bytes of
// the payload before b.
func Mask(key [4]byte, from int64, b []byte) {
	for len(b) > 0 && from&3 != 0 {
		b[0] ^= key[from&3]
		b, from = b[1:], from+1
	}
	word := uint64(binary.LittleEndian.Uint32(key[:]))
	word |= word << 32
	for ; len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^word)
	}
	for i := range b {
		b[i] ^= key[i&3]
	}
}

// ReadFrame reads one whole frame and removes its mask. It returns an error if the payload is
// longer than most bytes.
func ReadFrame(r io.Reader, most int64) (h Header, payload []byte, err error) {
	var head [MaxHeader]byte
	for n, used := 2, 0; used == 0; n++ {
		from := n - 1
		if n == 2 {
			from = 0
		}
		if _, err := io.ReadFull(r, head[from:n]); err != nil {
			return h, nil, err
		}
		if h, used, err = ParseHeader(head[:n]); err != nil {
			return h, nil, err
		}
	}
	if h.Length > most {
		return h, nil, errLength
	}
	payload = make([]byte, h.Length)
	if _, err := io.ReadFull(r, payload); err != nil {
		return h, nil, err
	}
	if h.Masked {
		Mask(h.Key, 0, payload)
	}
	return h, payload, nil
}

// AppendFrame appends a whole frame; it sets h.Length. The payload is not changed.
func AppendFrame(b []byte, h Header, payload []byte) []byte {
	h.Length = int64(len(payload))
	b = append(h.Append(b), payload...)
	if h.Masked {
		Mask(h.Key, 0, b[len(b)-len(payload):])
	}
	return b
}

// IsUpgrade reports whether a request's headers ask for a WebSocket.
func IsUpgrade(h http.Header) bool {
	return strings.EqualFold(strings.TrimSpace(h.Get("Upgrade")), "websocket")
}

// AcceptKey returns the value of Sec-WebSocket-Accept for a client's Sec-WebSocket-Key.
func AcceptKey(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // see above
	return base64.StdEncoding.EncodeToString(sum[:])
}
