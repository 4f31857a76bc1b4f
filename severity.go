package ken

// Severity is how much attention a claim deserves in an operator's queue.
type Severity string

// Severities of claims; nothing about a claim is critical.
const (
	SeverityNeutral Severity = "neutral"
	SeverityInfo    Severity = "info"
	SeverityWarning Severity = "warning"
)

// Tone is how a severity is shown.
type Tone string

// Tones of claims.
const (
	ToneNeutral Tone = "neutral"
	ToneInfo    Tone = "info"
	ToneWarning Tone = "warning"
	ToneSuccess Tone = "success"
)

// Severity derives attention from status and confidence: disputed claims and
// hypotheses below 0.5 confidence warn, what awaits validation informs, what is
// confirmed or archived is neutral.
func (c *Claim) Severity() (Severity, Tone) {
	switch c.Status {
	case StatusDisputed:
		return SeverityWarning, ToneWarning
	case StatusHypothesis:
		if c.Confidence < 0.5 {
			return SeverityWarning, ToneWarning
		}
		return SeverityInfo, ToneNeutral
	case StatusObserved, StatusInferred:
		return SeverityInfo, ToneInfo
	case StatusVerified:
		return SeverityNeutral, ToneSuccess
	default:
		return SeverityNeutral, ToneNeutral
	}
}
