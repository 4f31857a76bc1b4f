package analysis_test

import (
	"testing"

	"github.com/kenlayer/ken/internal/analysis"
)

func TestStandard(t *testing.T) {
	for typed, want := range map[string]string{
		"dont": "don't", "shouldnt": "shouldn't", "weve": "we've", "thats": "that's", "pls": "please", "w/o": "without",
		"its": "its", "were": "were", "ill": "ill", "id": "id", "well": "well", "lets": "lets", "im": "im", "port": "port",
	} {
		if got := analysis.Standard(typed); got != want {
			t.Errorf("Standard(%q) = %q, want %q", typed, got, want)
		}
	}
}
