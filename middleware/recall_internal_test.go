package middleware

import (
	"strings"
	"testing"
)

// A recall is never silenced as small talk, and never asks for nothing.
func TestEveryQuestionIsAsked(t *testing.T) {
	for _, q := range []string{"thanks", "ok", "hi!", "👍", "why?", "the of and", "how are payments retried?", strings.Repeat("long ", 5000)} {
		s := questionSignals(q)
		if words := len(s.Keywords) + len(s.Symbols) + len(s.Entities) + len(s.Failures); !s.Asks || words == 0 || s.Question == "" {
			t.Errorf("%.20q: %d words, asks %t", q, words, s.Asks)
		}
	}
}
