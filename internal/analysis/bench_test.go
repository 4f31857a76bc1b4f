package analysis

import (
	"strings"
	"testing"
)

const prose = `Caroline: Hey Mel! I went to a LGBTQ support group yesterday and it was so powerful. The stories were
inspiring and I was happy to hear them; it made me feel accepted and gave me the courage to embrace who I am.
Melanie: Wow, that's cool, Caroline! What happened that was so awesome? I'm swamped with the kids and work, but
we painted a sunrise by the lake last weekend, and the children loved it. They want to go camping in June, so I
bought a tent for 120 dollars. Do you remember the book that you recommended to me on the 8th of May?`

const code = `func (s *Store) WriteClaim(ctx context.Context, owner string, c ken.Claim) (ken.Claim, error) {
	if err := c.Validate(); err != nil { return ken.Claim{}, fmt.Errorf("write claim %q: %w", c.ID, err) }
	s.mu.Lock(); defer s.mu.Unlock()
	previous, found := s.byKey[claimKey{owner, c.Key}]
	if found && previous.ContentHash == c.ContentHash { return previous, nil } // idempotent
	return s.appendEvent(ctx, store.EventWritten, c) // see internal/store/bolt/log.go:42 and HTTPServer
}`

func BenchmarkTokens(b *testing.B) {
	for _, bc := range []struct{ name, text string }{
		{"prose", prose},
		{"code", code},
		{"accents", strings.ReplaceAll(prose, "e", "é")},
		{"cjk", strings.Repeat("知識層は東京タワーにある。", 8)},
	} {
		b.Run(bc.name, func(b *testing.B) {
			var dst []Token
			b.SetBytes(int64(len(bc.text)))
			b.ReportAllocs()
			for b.Loop() {
				dst = Tokens(dst[:0], bc.text)
			}
			b.ReportMetric(float64(len(dst)), "tokens")
			b.ReportMetric(float64(len(strings.Fields(bc.text))), "words")
		})
	}
}

func BenchmarkTerms(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Terms("When did Caroline go to the LGBTQ support group with Mel?")
	}
}

func BenchmarkStem(b *testing.B) {
	for b.Loop() {
		Stem("recommendations")
	}
}
