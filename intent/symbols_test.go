package intent

import (
	"strings"
	"testing"

	"github.com/kenlayer/ken"
)

func TestALongBlobInBackticksIsNoSymbol(t *testing.T) {
	s := Analyze([]ken.Message{user("what is `" + strings.Repeat("y", 500) + "` and `retry`?")})
	if len(s.Symbols) != 1 || s.Symbols[0] != "retry" {
		t.Errorf("symbols %q, want only retry", s.Symbols)
	}
}
