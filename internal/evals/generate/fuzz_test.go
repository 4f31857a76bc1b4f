package generate

import (
	"testing"
	"unicode/utf8"

	"github.com/kenlayer/ken/guardrail"
)

func FuzzRead(f *testing.F) {
	f.Add(`{"question": "Who cleans up at night?"}`, "The ledger is cleaned up at night.")
	f.Add("```json\n{\"question\": \"Who?\"}\n```", "")
	f.Add("<think>x</think>{}", "x")
	f.Fuzz(func(t *testing.T, answer, text string) {
		q, err := read(answer, text)
		if err != nil {
			if q != "" {
				t.Fatalf("%q with an error", q)
			}
			return
		}
		n := utf8.RuneCountInString(q)
		if n < leastChars || n > mostChars || guardrail.Sanitize(q) != q || len(guardrail.Secrets(q)) > 0 {
			t.Fatalf("%q", q)
		}
	})
}
