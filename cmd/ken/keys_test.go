package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestKeys(t *testing.T) {
	for _, tt := range []struct{ name, typed, want string }{
		{"letters", "hello\r", "hello\r"},
		{"letters of several bytes", "Käße 日本 🐦\r", "Käße 日本 🐦\r"},
		{"arrow keys", "\x1b[A\x1b[1;3D", "\x1b[A\x1b[1;3D"},
		{"control keys stay", "a\x04\x15\t", "a\x04\x15\t"},
		{"Ctrl-C", "ab\x03c", "ab" + dropLine + "c"},
		{"Ctrl-C after Escape", "\x1b\x03", "\x1b" + dropLine},
		{"Ctrl-C in an arrow key", "\x1b[\x03", "\x1b[" + dropLine},
		{"what is not UTF-8", "caf\xe9\r", "caf\r"},
		{"half a letter and Ctrl-C", "\xe6\x97\x03", dropLine},
		{"a paste", "\x1b[200~a\rb\nc\r\nd\x1b[201~\r", "\x1b[200~a␤b␤c␤d\x1b[201~\r"},
		{"a paste that ends with a line", "\x1b[200~a\r\x1b[201~", "\x1b[200~a␤\x1b[201~"},
		{"tabs in a paste", "\x1b[200~\tx\x1b[201~\t", "\x1b[200~    x\x1b[201~\t"},
		{"a paste can't press keys", "\x1b[200~a\x03\x04\x15\x1b[31mb\u009b\x1b[201~", "\x1b[200~a[31mb\x1b[201~"},
		{"a paste in a paste", "\x1b[200~a\x1b[200~b\x1b[201~c", "\x1b[200~a[200~b\x1b[201~c"},
		{"not quite a paste", "\x1b[20~\x1b[2", "\x1b[20~"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{"at once": strings.NewReader(tt.typed), "byte by byte": iotest.OneByteReader(strings.NewReader(tt.typed))} {
				got, err := io.ReadAll(&keys{in: r})
				if err != nil || string(got) != tt.want {
					t.Errorf("%s: %q, %v; want %q", name, got, err, tt.want)
				}
			}
		})
	}
}

// However the terminal's bytes are cut, the editor gets the same keys.
func FuzzKeys(f *testing.F) {
	f.Add([]byte("a\x03\x1b[A\r"), uint8(1))
	f.Add([]byte("\x1b[200~a\r\n\xe6\x97\xa5\x1b[201~\x1b"), uint8(3))
	f.Add([]byte("\x1b[200~\x1b[20\r\x1b[201~\xff"), uint8(2))
	f.Fuzz(func(t *testing.T, typed []byte, cut uint8) {
		want, err := io.ReadAll(&keys{in: bytes.NewReader(typed)})
		if err != nil {
			t.Fatal(err)
		}
		n := min(int(cut), len(typed))
		parts := io.MultiReader(bytes.NewReader(typed[:n]), iotest.OneByteReader(bytes.NewReader(typed[n:])))
		got, err := io.ReadAll(&keys{in: parts})
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("cut at %d: %q, %v; want %q", n, got, err, want)
		}
		if bytes.IndexByte(got, 3) >= 0 {
			t.Errorf("%q: Ctrl-C reached the editor", got)
		}
	})
}
