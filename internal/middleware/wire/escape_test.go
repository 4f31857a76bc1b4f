package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// asJSON is what encoding/json makes of a string, without the quotes.
func asJSON(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	return b.String()[1 : b.Len()-len("\"\n")]
}

func FuzzAppendEscaped(f *testing.F) {
	var every strings.Builder
	for r := range rune(0x300) {
		every.WriteRune(r)
	}
	for _, s := range []string{"", "plain", `"quoted\" <b>&`, every.String(), "a\u2028b\u2029c\u2027\u202a", "\xff\xc3x\xe2\x80", "ends\xe2\x80\xa8", "日本語 🙂",
		"�", "\x7f\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := string(appendEscaped([]byte("before"), s)), "before"+asJSON(t, s); got != want {
			t.Errorf("%q became\n%s, not\n%s", s, got, want)
		}
	})
}

func BenchmarkEscape(b *testing.B) {
	text := strings.Repeat("- The service retries \"three\" times, ten seconds apart.\n", 100)
	buf := make([]byte, 0, 2*len(text))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		buf = appendEscaped(buf[:0], text)
	}
}
