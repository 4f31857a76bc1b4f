package ken_test

import (
	"testing"

	"github.com/kenlayer/ken"
)

func TestWeight(t *testing.T) {
	for _, tt := range []struct {
		w    ken.Weight
		name string
		min  ken.Tier
	}{
		{ken.WeightDefault, "default", ken.Guessed},
		{ken.WeightNone, "none", ken.Guessed},
		{ken.WeightLow, "low", ken.Inferred},
		{ken.WeightHigh, "high", ken.Guessed},
	} {
		if tt.w.String() != tt.name || tt.w.MinTier() != tt.min {
			t.Errorf("%v admits from %v, want %s from %v", tt.w, tt.w.MinTier(), tt.name, tt.min)
		}
		var back ken.Weight
		if err := back.UnmarshalText([]byte(tt.name)); err != nil || back != tt.w {
			t.Errorf("%s came back as %v, %v", tt.name, back, err)
		}
	}
	var w ken.Weight
	wantField(t, w.UnmarshalText([]byte("heavy")), "weight")
}

func TestParseMode(t *testing.T) {
	for _, m := range []ken.Mode{ken.ModeHybrid, ken.ModeKeyword, ken.ModeVector} {
		if got, err := ken.ParseMode(string(m)); err != nil || got != m {
			t.Errorf("%s: %v, %v", m, got, err)
		}
	}
	for _, bad := range []string{"", "late", "none", "Hybrid"} { // outcomes can't be asked for
		_, err := ken.ParseMode(bad)
		wantField(t, err, "mode")
	}
}
