package guardrail

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSanitize(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"plain", "Deploys run\n\ton Tuesday ~", "Deploys run\n\ton Tuesday ~"},
		{"controls", "a\x00b\x1b[31mc\x07\x7fd", "ab[31mcd"},
		{"C1 controls", "a\u0080b\u009bc", "abc"},
		{"line ends", "a\r\nb\rc\u0085d\u2028e\u2029f", "a\nb\nc\nd\ne\nf"},
		{"CR before CRLF", "a\r\r\nb", "a\n\nb"},
		{"invalid", "a\xff\xfeb\xc3", "a\ufffdb\ufffd"},
		{"three invalid bytes", "\xd4\xd4\xdb", "\ufffd"},
		{"a real U+FFFD", "a\ufffdb", "a\ufffdb"},
		{"bidi overrides", "a\u202eb\u202cc\u2066d\u2069e", "abcde"},
		{"zero width", "p\u200ba\u2060s\ufeffs\u00ad", "pass"},
		{"directional marks stay", "שלום\u200f (x)", "שלום\u200f (x)"},
		{"joiner in Latin", "pass\u200dword\u200c", "password"},
		{"joiner in Persian", "می\u200cخواهم", "می\u200cخواهم"},
		{"joiner in Hindi", "क्\u200dष", "क्\u200dष"},
		{"joiner in an emoji", "👩🏽\u200d💻 ❤️\u200d🔥", "👩🏽\u200d💻 ❤️\u200d🔥"},
		{"second joiner", "می\u200c\u200cخ", "می\u200cخ"},
		{"selectors hide data", "☺\ufe0f\ufe00\ufe01\ufe02x\ufe0f", "☺\ufe0fx"},
		{"keycap", "1\ufe0f\u20e3", "1\ufe0f\u20e3"},
		{"ideographic variant", "葛\U000e0100", "葛\U000e0100"},
		{"supplementary selectors hide data", "a\U000e0101\U000e0102", "a"},
		{"tag characters", "hi\U000e0049\U000e0067\U000e006e", "hi"},
		{"CJK", "部署在星期二。", "部署在星期二。"},
		{"byte order mark", "\ufeffpackage main", "package main"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Sanitize(tt.in)
			if got != tt.want {
				t.Errorf("Sanitize(%q) = %q, want %q", tt.in, got, tt.want)
			}
			if again := Sanitize(got); again != got {
				t.Errorf("a second pass makes %q of %q", again, got)
			}
		})
	}
}

// Every byte at every place of the eight that are looked at together.
func TestSanitizeSeesEveryByte(t *testing.T) {
	for c := range 128 {
		for pos := range 17 {
			b := []byte(strings.Repeat("a", 17))
			b[pos] = byte(c)
			clean := c >= ' ' && c != 0x7f || c == '\n' || c == '\t'
			if got := Sanitize(string(b)); (got == string(b)) != clean {
				t.Fatalf("byte %#x at %d: %q", c, pos, got)
			}
		}
	}
}

func TestSanitizeReturnsCleanTextAsIs(t *testing.T) {
	for _, text := range []string{strings.Repeat("func f() {\n\treturn\n}\n", 50), strings.Repeat("部署 é 👩🏽\u200d💻", 50)} {
		if n := testing.AllocsPerRun(10, func() { Sanitize(text) }); n != 0 {
			t.Errorf("%v allocations for clean text %.20q", n, text)
		}
	}
}

func FuzzSanitize(f *testing.F) {
	for _, s := range []string{"a\r\nb", "\xff", "می\u200cخ", "☺\ufe0f\ufe00", "a\u202eb", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Sanitize(text)
		if !utf8.ValidString(got) {
			t.Errorf("Sanitize(%q) = %q is not UTF-8", text, got)
		}
		if strings.ContainsAny(got, "\x00\r\x1b\x7f\u202e\u200b\u2028") {
			t.Errorf("Sanitize(%q) = %q", text, got)
		}
		if Sanitize(got) != got {
			t.Errorf("Sanitize(%q) = %q is not stable", text, got)
		}
		if utf8.RuneCountInString(got) > utf8.RuneCountInString(text) {
			t.Errorf("Sanitize(%q) grew", text)
		}
	})
}

func ExampleSanitize() {
	fmt.Printf("%q\n", Sanitize("deploy\u200b on\x00 Tuesday\r\n"))
	// Output: "deploy on Tuesday\n"
}
