package console

import (
	"testing"

	"github.com/kenlayer/ken"
)

func TestToneOf(t *testing.T) {
	for _, tt := range []struct {
		status     ken.Status
		confidence float64
		want       string
	}{
		{ken.StatusDisputed, 1, toneWarning},
		{ken.StatusHypothesis, 0, toneWarning},
		{ken.StatusHypothesis, 0.49, toneWarning},
		{ken.StatusHypothesis, 0.5, toneNeutral},
		{ken.StatusObserved, 0.1, toneInfo},
		{ken.StatusInferred, 0.1, toneInfo},
		{ken.StatusVerified, 0.1, toneSuccess},
		{ken.StatusSuperseded, 0.1, toneNeutral},
		{"", 1, toneNeutral},
	} {
		if got := toneOf(&ken.Claim{Status: tt.status, Confidence: tt.confidence}); got != tt.want {
			t.Errorf("%q at %v: %s; want %s", tt.status, tt.confidence, got, tt.want)
		}
	}
}
