package calibrate_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/retriever/calibrate"
	"github.com/kenlayer/ken/internal/synth"
	"github.com/kenlayer/ken/retriever"
)

// BenchmarkRun is one calibration of a store, the embedder's time hardly counting.
func BenchmarkRun(b *testing.B) {
	for _, n := range synth.Sizes(b) {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			src, e := synth.New(1), synth.NewEmbedder(256)
			claims := make([]ken.Claim, n)
			for i := range claims {
				claims[i] = src.Claim()
				claims[i].ID = uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, i)).String()
			}
			s := stored(b, e, claims)
			b.ResetTimer()
			asked := 0
			for b.Loop() {
				c, err := calibrate.Run(b.Context(), s, e, retriever.Options{}, calibrate.Options{})
				if err != nil {
					b.Fatal(err)
				}
				asked = c.Questions
			}
			b.ReportMetric(float64(asked), "questions")
		})
	}
}
