package ken_test

import (
	"testing"

	"github.com/kenlayer/ken"
)

func TestSeverity(t *testing.T) {
	for _, tt := range []struct {
		status     ken.Status
		confidence float64
		severity   ken.Severity
		tone       ken.Tone
	}{
		{ken.StatusDisputed, 1, ken.SeverityWarning, ken.ToneWarning},
		{ken.StatusHypothesis, 0, ken.SeverityWarning, ken.ToneWarning},
		{ken.StatusHypothesis, 0.49, ken.SeverityWarning, ken.ToneWarning},
		{ken.StatusHypothesis, 0.5, ken.SeverityInfo, ken.ToneNeutral},
		{ken.StatusObserved, 0.1, ken.SeverityInfo, ken.ToneInfo},
		{ken.StatusInferred, 0.1, ken.SeverityInfo, ken.ToneInfo},
		{ken.StatusVerified, 0.1, ken.SeverityNeutral, ken.ToneSuccess},
		{ken.StatusSuperseded, 0.1, ken.SeverityNeutral, ken.ToneNeutral},
		{"", 1, ken.SeverityNeutral, ken.ToneNeutral},
	} {
		c := ken.Claim{Status: tt.status, Confidence: tt.confidence}
		if s, tone := c.Severity(); s != tt.severity || tone != tt.tone {
			t.Errorf("%q at %v: %s, %s; want %s, %s", tt.status, tt.confidence, s, tone, tt.severity, tt.tone)
		}
	}
}
