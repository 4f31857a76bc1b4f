package middleware_test

import (
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/attention"
)

// A person decides about a refused write by what was to be written. Of an incognito
// turn, nothing is kept but that something was refused.
func TestARefusedWriteIsToldWithItsText(t *testing.T) {
	l := open(t, settings())
	for _, incognito := range []bool{false, true} {
		if _, err := l.Session(ken.Turn{Session: "s1", Agent: "coder", Incognito: incognito}).Learn(t.Context(), "The zerlina port is 8071.", nil); err == nil {
			t.Fatal("learned without evidence")
		}
	}
	s, release, err := l.Store(t.Context(), "")
	must(t, err)
	defer release()
	items, err := attention.List(t.Context(), s, s.Shelf(), attention.Options{})
	must(t, err)
	var said []string
	for _, it := range items {
		said = append(said, it.Refused.Text)
	}
	if all := strings.Join(said, "|"); len(items) != 2 || strings.Count(all, "zerlina") != 1 {
		t.Errorf("%d items, of %q", len(items), said)
	}
}
