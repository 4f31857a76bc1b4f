package gateway

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/internal/websocket"
)

// through sends bytes through a filter in pieces of n bytes, and flushes it.
func through(in []byte, n, most int, look func([]byte) ([][]byte, bool)) []byte {
	var out bytes.Buffer
	f := messageFilter{inspect: look, grow: func(int) bool { return true }, skipped: func([]byte, string) {}, out: &out, maxText: most}
	for len(in) > 0 {
		n := min(n, len(in))
		f.write(in[:n])
		in = in[n:]
	}
	f.flush()
	return out.Bytes()
}

func same([]byte) ([][]byte, bool) { return nil, false }

// A text gives way to others wherever it is cut, and keeps the mask of its first frame. What
// stands around it stays.
func TestFilterReplacesTexts(t *testing.T) {
	frame := func(fin bool, op websocket.Opcode, text string) []byte {
		return websocket.AppendFrame(nil, websocket.Header{Fin: fin, Opcode: op, Masked: true, Key: [4]byte{1, 2, 3, 4}}, []byte(text))
	}
	in := bytes.Join([][]byte{frame(true, websocket.Binary, "b"), frame(false, websocket.Text, "hel"), frame(true, websocket.Ping, "p"),
		frame(true, websocket.Continuation, "lo"), frame(true, websocket.Text, "other"), frame(true, websocket.Text, "none")}, nil)
	long := strings.Repeat("y", 70000)
	want := bytes.Join([][]byte{frame(true, websocket.Binary, "b"), frame(true, websocket.Ping, "p"), frame(true, websocket.Text, "x"),
		frame(true, websocket.Text, long), frame(true, websocket.Text, "other")}, nil)
	for n := 1; n <= len(in); n++ {
		got := through(in, n, 1<<10, func(text []byte) ([][]byte, bool) {
			switch string(text) {
			case "hello":
				return [][]byte{[]byte("x"), []byte(long)}, true
			case "none":
				return nil, true
			}
			return nil, false
		})
		if !bytes.Equal(got, want) {
			t.Fatalf("in pieces of %d: %d bytes, want %d", n, len(got), len(want))
		}
	}
}

// Random frames pass as they came, in pieces of any length and for any bound of the texts.
func TestFilterPassesRandomFrames(t *testing.T) {
	r := rand.New(rand.NewPCG(seed.Of(t), 0))
	ops := []websocket.Opcode{websocket.Continuation, websocket.Text, websocket.Text, websocket.Binary, websocket.Close, websocket.Ping, websocket.Pong, 3}
	for range 5000 {
		var in []byte
		for range r.IntN(8) {
			h := websocket.Header{Fin: r.IntN(2) == 0, RSV: byte(r.IntN(6) / 5 * 4), Opcode: ops[r.IntN(len(ops))], Masked: r.IntN(4) > 0}
			if h.Masked {
				h.Key = [4]byte{byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())}
			}
			in = websocket.AppendFrame(in, h, bytes.Repeat([]byte{byte(r.Uint32())}, r.IntN(300)))
		}
		got := through(in, 1+r.IntN(64), r.IntN(600), same)
		wantData, wantControl := framesOf(in)
		if gotData, gotControl := framesOf(got); gotData != wantData || gotControl != wantControl {
			t.Fatalf("%x became %x", in, got)
		}
	}
}

// FuzzMessageFilter checks that bytes of any kind pass as they came, in any pieces. Only
// control frames may overtake the fragments between which they stand.
func FuzzMessageFilter(f *testing.F) {
	f.Add([]byte("\x81\x05Hello\x89\x00\x01\x03Hel\x89\x01p\x80\x02lo"), 1, 64)
	f.Add([]byte("\x01\x83abcdHel\x81\x02xx\x80\x00"), 3, 64)
	f.Add([]byte("\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff after"), 2, 64)
	f.Add([]byte("\x81\x7e\x00\x05Hello\xc1\x02xx\x81\x0alonger tha\x81\x09cut"), 4, 8)
	f.Fuzz(func(t *testing.T, in []byte, n, most int) {
		if n < 1 || most < 0 || most > 1<<20 {
			t.Skip()
		}
		in = wholeFrames(in)
		got := through(in, n, most, same)
		wantData, wantControl := framesOf(in)
		gotData, gotControl := framesOf(got)
		if gotData != wantData || gotControl != wantControl {
			t.Errorf("%x became %x", in, got)
		}
	})
}

// wholeFrames cuts off a frame at the end that is not whole.
func wholeFrames(b []byte) []byte {
	for at := 0; ; {
		h, n, err := websocket.ParseHeader(b[at:])
		if err != nil {
			return b
		}
		if n == 0 || h.Length > int64(len(b)-at-n) {
			return b[:at]
		}
		at += n + int(h.Length)
	}
}

// framesOf are the bytes of frames, of messages and of control frames. What is no frame
// counts with the messages.
func framesOf(b []byte) (data, control string) {
	for len(b) > 0 {
		h, n, err := websocket.ParseHeader(b)
		if err != nil || n == 0 || h.Length > int64(len(b)-n) {
			return data + string(b), control
		}
		n += int(h.Length)
		if h.Opcode.Control() {
			control += string(b[:n])
		} else {
			data += string(b[:n])
		}
		b = b[n:]
	}
	return data, control
}
