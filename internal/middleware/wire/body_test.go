package wire_test

import (
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/middleware/wire"
)

func TestEventEnds(t *testing.T) {
	for in, want := range map[string]int{
		"": 0, "a": 0, "a\n": 0, "a\n\n": 3, "a\n\nb": 3, "a\r\n\r\n": 5, "a\r\n\r": 0, "a\r\r": 3, "a\r": 0, "a\nb\n\n": 5, "\n\n": 2, "\n": 0, "a\r\nb": 0, "a\n\r\n": 4,
	} {
		if got := wire.EventEnd(wire.Chat, []byte(in)); got != want {
			t.Errorf("%q: %d, want %d", in, got, want)
		}
	}
}

func TestEnding(t *testing.T) {
	const stream = "event: response.created\ndata: {}\n\nevent: response.output_text.delta\ndata: {\"delta\":\"event: response.completed\"}\n\n"
	const done = "event: response.completed\ndata: {\"a\":1}\n\n"
	for _, tt := range []struct {
		name, body string
		length     int64
		at         int // where it is known to be whole, -1 for nowhere
	}{
		{"a stream", stream + done, -1, len(stream + done)},
		{"with other line ends", strings.ReplaceAll(stream+done, "\n", "\r\n"), -1, len(stream+done) + strings.Count(stream+done, "\n")},
		{"an incomplete one", stream + strings.Replace(done, "completed", "incomplete", 1), -1, len(stream+done) + 1},
		{"more behind it", stream + done + "data: [DONE]\n\n", -1, len(stream + done)},
		{"a stream that goes on", stream, -1, -1},
		{"an object", `{"a":{"b":{}}}`, -1, 14},
		{"with many inside", `{"a":[{},{},{},{},{},{}]}`, -1, -1}, // by the byte, it is tried too often
		{"of known length", `{"a":[{},{},{},{},{},{}]}`, 25, 25},
		{"cut short", `{"a":1`, 25, -1},
		{"nothing", "", -1, -1},
	} {
		e, at := wire.EndDetector{Length: tt.length}, -1
		for i := range len(tt.body) {
			if e.Reached([]byte(tt.body[:i+1]), 1) {
				at = i + 1
				break
			}
		}
		if at != tt.at {
			t.Errorf("%s: at %d, want %d", tt.name, at, tt.at)
		}
	}
	e := wire.EndDetector{Length: -1} // in one read
	if all := []byte(stream + done); !e.Reached(all, len(all)) {
		t.Error("not found in one read")
	}
}

// A text without an end after unpacking gives nothing. An incomplete text gives the part
// that arrived.
func TestDecoded(t *testing.T) {
	if got := wire.Decode([]byte("plain"), "identity"); string(got) != "plain" {
		t.Errorf("got %q", got)
	}
	for _, encoding := range []string{"gzip", "deflate"} {
		if got := wire.Decode([]byte("\x00not packed"), encoding); len(got) != 0 {
			t.Errorf("%s: got %q", encoding, got)
		}
	}
	for encoding, want := range map[string]bool{"": true, "identity": true, "gzip": true, "x-gzip": true, "deflate": true, "br": false, "zstd": false, "gzip, br": false} {
		if wire.CanDecode(encoding) != want {
			t.Errorf("%q: readable is %v", encoding, !want)
		}
	}
}
