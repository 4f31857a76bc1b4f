package finding

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// Every agent's way to show a file leads back to the file.
func TestShown(t *testing.T) {
	const text = "package a\n\nfunc A() {}"
	for name, output := range map[string]string{
		"plain":           text,
		"claude code":     "     1→package a\n     2→\n     3→func A() {}\n\n<system-reminder>\nBe nice.\n</system-reminder>",
		"cat -n":          "     1\tpackage a\n     2\t\n     3\tfunc A() {}",
		"openhands":       "Here's the result of running `cat -n` on /src/a.go:\n     1\tpackage a\n     2\t\n     3\tfunc A() {}",
		"cline":           "1 | package a\n2 | \n3 | func A() {}",
		"opencode":        "<file>\n00001| package a\n00002| \n00003| func A() {}",
		"gemini":          "L1: package a\nL2:\nL3: func A() {}",
		"mcp":             `{"content":[{"type":"text","text":"package a\n\nfunc A() {}"}]}`,
		"mcp, only parts": `[{"type":"text","text":"package a\n\nfunc A() {}"}]`,
		"content":         `{"content":"package a\n\nfunc A() {}","lines":3}`,
		"codex":           `{"output":"package a\n\nfunc A() {}","metadata":{"exit_code":0}}`,
		"codex, as text":  "Exit code: 0\nWall time: 0.1 seconds\nOutput:\npackage a\n\nfunc A() {}",
	} {
		if got := strings.TrimSpace(shown(output)); got != text {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, keep := range []string{"1. First\n2. Second\nThird", "{ not json", "12 monkeys\nand more\nlines here", ""} {
		if got := shown(keep); got != keep {
			t.Errorf("%q became %q", keep, got)
		}
	}
}

func TestClip(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{{"short", 10, "short"}, {"one two three four", 15, "one two three…"}, {"onewordthatislong", 8, "oneword…"}, {"日本語のテキスト", 5, "日本語の…"}, {"a, b, c, d", 8, "a, b, c…"}} {
		if got := clip(tt.in, tt.n); got != tt.want || utf8.RuneCountInString(got) > tt.n {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
	}
}
