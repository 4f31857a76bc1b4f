package main

import "testing"

// The letters that other keys send must not decide anything, however the bytes of
// a key arrive.
func TestEscapesAreNoLetters(t *testing.T) {
	for _, tt := range []struct{ name, typed, want string }{
		{"letters", "are", "are"},
		{"arrows", "\x1b[A\x1b[B\x1bOAa", "a"},
		{"an arrow with Shift", "\x1b[1;2Aa", "a"},
		{"a function key", "\x1b[15~a\x1bOPr", "ar"},
		{"Alt and a letter", "\x1baa", "a"},
		{"Escape twice", "\x1b\x1b[Aa", "a"},
		{"Ctrl-C after Escape", "\x1b\x03", "\x03"},
		{"Ctrl-C in an arrow", "\x1b[\x03a", "\x03a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var e escapes
			got := ""
			for _, r := range tt.typed {
				if r = e.next(r); r != noKey {
					got += string(r)
				}
			}
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
