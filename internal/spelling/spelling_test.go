package spelling_test

import (
	"testing"

	"github.com/kenlayer/ken/internal/spelling"
)

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"floor", "floor", 0}, {"Floor", "fLOOR", 0}, {"flor", "floor", 1}, {"flooor", "floor", 1},
		{"floar", "floor", 1}, {"folor", "floor", 1}, {"top_k", "rrf_k", 3}, {"größe", "grösse", 2}, {"ab", "ba", 1},
	} {
		if got := spelling.Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("%q and %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
		if got := spelling.Distance(tt.b, tt.a); got != tt.want {
			t.Errorf("%q and %q: %d, want %d", tt.b, tt.a, got, tt.want)
		}
	}
}
