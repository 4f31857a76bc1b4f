package websocket

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The frames of RFC 6455, section 5.7, and the handshake of section 1.3.
func TestFramesOfTheStandard(t *testing.T) {
	for name, c := range map[string]struct {
		bytes   string
		header  Header
		payload string
	}{
		"text":          {"\x81\x05Hello", Header{Fin: true, Opcode: Text, Length: 5}, "Hello"},
		"masked text":   {"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", Header{Fin: true, Opcode: Text, Masked: true, Key: [4]byte{0x37, 0xfa, 0x21, 0x3d}, Length: 5}, "Hello"},
		"first of two":  {"\x01\x03Hel", Header{Opcode: Text, Length: 3}, "Hel"},
		"second of two": {"\x80\x02lo", Header{Fin: true, Length: 2}, "lo"},
		"ping":          {"\x89\x05Hello", Header{Fin: true, Opcode: Ping, Length: 5}, "Hello"},
		"256 bytes":     {"\x82\x7e\x01\x00" + string(make([]byte, 256)), Header{Fin: true, Opcode: Binary, Length: 256}, string(make([]byte, 256))},
		"64 KiB":        {"\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00" + string(make([]byte, 1<<16)), Header{Fin: true, Opcode: Binary, Length: 1 << 16}, string(make([]byte, 1<<16))},
		"compressed":    {"\xc1\x01x", Header{Fin: true, RSV: 4, Opcode: Text, Length: 1}, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			h, payload, err := ReadFrame(bytes.NewReader([]byte(c.bytes)), 1<<20)
			if err != nil || string(payload) != c.payload || !cmp.Equal(h, c.header) {
				t.Errorf("%+v, %d bytes, %v", h, len(payload), err)
			}
			if got := AppendFrame(nil, h, payload); string(got) != c.bytes {
				t.Errorf("written as %x", got[:min(len(got), 20)])
			}
		})
	}
	if got := AcceptKey("dGhlIHNhbXBsZSBub25jZQ=="); got != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		t.Errorf("accept %s", got)
	}
}

func TestBadFrames(t *testing.T) {
	for name, frame := range map[string]string{
		"length below 0": "\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff",
		"too long":       "\x81\x7e\x10\x00",
		"cut head":       "\x81\xff\x00",
		"cut payload":    "\x81\x05Hel",
		"nothing":        "",
	} {
		if h, _, err := ReadFrame(bytes.NewReader([]byte(frame)), 1<<10); err == nil {
			t.Errorf("%s: read as %+v", name, h)
		}
	}
}

// A mask is the same wherever a payload is cut.
func TestMaskInParts(t *testing.T) {
	key := [4]byte{1, 2, 3, 4}
	want := bytes.Repeat([]byte("0123456789abc"), 7)
	whole := bytes.Clone(want)
	Mask(key, 0, whole)
	for cut := range len(want) {
		parts := bytes.Clone(want)
		Mask(key, 0, parts[:cut])
		Mask(key, int64(cut), parts[cut:])
		if !bytes.Equal(parts, whole) {
			t.Fatalf("cut at %d", cut)
		}
	}
}

// A parsed header, written and parsed again, is equal.
func FuzzParseHeader(f *testing.F) {
	f.Add([]byte("\x81\x85\x37\xfa\x21\x3d"))
	f.Add([]byte("\x82\xff\x00\x00\x00\x00\x00\x01\x00\x00abcd"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, n, err := ParseHeader(b)
		if err != nil || n == 0 {
			return
		}
		if n > MaxHeader || h.Length < 0 {
			t.Fatalf("%+v, %d bytes", h, n)
		}
		again, m, err := ParseHeader(h.Append(nil))
		if err != nil || m > n || again != h {
			t.Errorf("%+v became %+v, %v", h, again, err)
		}
		if _, short, _ := ParseHeader(b[:n-1]); short != 0 {
			t.Error("a part of a header was read as one")
		}
	})
}
