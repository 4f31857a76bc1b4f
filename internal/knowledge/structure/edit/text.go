package edit

import (
	"strings"

	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/store"
)

// every outline is wanted whole.
var every = store.OutlineOptions{Aspects: 1, Top: 1, Links: 1 << 20}

// one makes one line of what somebody gave as a name.
func one(s string) string { return strings.Join(strings.Fields(guardrail.Sanitize(s)), " ") }

// short bounds what somebody gave, for an error.
func short(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:79]) + "…"
	}
	return s
}

func orElse(s, other string) string {
	if strings.TrimSpace(s) == "" {
		return other
	}
	return s
}
