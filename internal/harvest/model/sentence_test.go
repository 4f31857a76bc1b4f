package model

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestSentences(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"One. Two! Three? Four", []string{"One. ", "Two! ", "Three? ", "Four"}},
		{"It is v1.2 of main.go, e.g. Go. Done.", []string{"It is v1.2 of main.go, e.g. Go. ", "Done."}},
		{"Dr. Who met J. Smith. Then they left.", []string{"Dr. Who met J. Smith. ", "Then they left."}},
		{"A stop. before small letters", []string{"A stop. before small letters"}},
		{"第一。第二！第三", []string{"第一。", "第二！", "第三"}},
		{"line\n\nother", []string{"line\n\n", "other"}},
		{"", nil},
		{".", []string{"."}},
	} {
		if diff := cmp.Diff(tt.want, slices.Collect(sentences(tt.text))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestUpToSentence(t *testing.T) {
	for _, tt := range []struct {
		text string
		most int
		want string
	}{
		{"One. Two.", 9, "One. Two."},
		{"One. Two.", 8, "One."},
		{"One. Two.", 4, "One."},
		{"One. Two.", 3, ""},
		{"no end at all", 5, ""},
		{"一二。三四。", 4, "一二。"},
	} {
		if got := upToSentence(tt.text, tt.most); got != tt.want {
			t.Errorf("%q to %d: %q, want %q", tt.text, tt.most, got, tt.want)
		}
	}
}

func FuzzSentences(f *testing.F) {
	f.Add("One. Two! e.g. Three\n四。五", 7)
	f.Add("\xff. \xe3\x80", 1)
	f.Fuzz(func(t *testing.T, text string, most int) {
		if got := strings.Join(slices.Collect(sentences(text)), ""); got != text {
			t.Errorf("%q became %q", text, got)
		}
		if most < 1 {
			return
		}
		if got := upToSentence(text, most); utf8.RuneCountInString(got) > most || !strings.Contains(text, got) {
			t.Errorf("%q to %d: %q", text, most, got)
		}
		if got := shortSummary(strings.ToValidUTF8(text, ""), most+2); utf8.RuneCountInString(got) > most+2 {
			t.Errorf("%q to %d: %q", text, most+2, got)
		}
	})
}
