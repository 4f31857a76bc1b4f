package calibrate

import "testing"

// of repeats outcomes: a share of the questions that likeness finds first, of
// those that words find first.
func of(n int, share float64) []outcome {
	out := make([]outcome, n)
	for i := range out {
		out[i].ranks = []int{1, 1, 1, 1, 2, 0}
		if float64(i%100) < 100*share {
			out[i].vector = 1
		}
	}
	return out
}

// mixed makes the mix put a share of the questions' records second.
func mixed(out []outcome, share float64) []outcome {
	for i := range out {
		if float64(i%100) < 100*share {
			out[i].ranks = []int{1, 1, 1, 2, 2, 0}
		}
	}
	return out
}

func TestDecide(t *testing.T) {
	for name, tt := range map[string]struct {
		out    []outcome
		factor float64
	}{
		"none":                       {nil, 1},
		"useless":                    {of(200, 0.1), 0},
		"useless, too few questions": {of(minQuestions-1, 0), 1},
		"perhaps useless":            {of(200, 0.24), lowered},
		"weak":                       {of(400, 0.33), lowered},
		"perhaps weak":               {of(200, 0.4), 1},
		"good":                       {of(200, 0.8), 1},
		"good alone, harmful mixed":  {mixed(of(200, 0.8), 0.5), 0},
		"a little harm":              {mixed(of(400, 0.8), 0.04), lowered},
		"perhaps a little harm":      {mixed(of(200, 0.8), 0.01), 1},
	} {
		c := &Calibration{}
		c.decide(tt.out, true)
		if c.Factor != tt.factor || c.Questions != len(tt.out) {
			t.Errorf("%s: factor %v of %d questions, want %v", name, c.Factor, c.Questions, tt.factor)
		}
		if len(tt.out) > 0 && (c.Tried[4].MRR != 0.5 || c.Tried[5] != Tried{Factor: 2} || c.Keyword != Figures{1, 1}) {
			t.Errorf("%s: %+v", name, c.Tried)
		}
	}
}

// The questions are made of the records' own words, which a sentence encoder looks past.
func TestEncodersAreNotMeasuredAgainstWords(t *testing.T) {
	for name, tt := range map[string]struct {
		out    []outcome
		factor float64
	}{
		"as all-MiniLM-L6-v2 on BEAM": {mixed(of(200, 0.28), 0.08), 1},
		"harmful mixed":               {mixed(of(200, 0.8), 0.5), 1},
		"weak":                        {of(400, 0.2), 1},
		"perhaps chance":              {of(200, 0.08), 1},
		"chance":                      {of(200, 0.01), 0},
		"chance, too few questions":   {of(minQuestions-1, 0), 1},
	} {
		c := &Calibration{}
		c.decide(tt.out, false)
		if c.Factor != tt.factor {
			t.Errorf("%s: factor %v, want %v", name, c.Factor, tt.factor)
		}
	}
}

func TestUsual(t *testing.T) {
	for name, tt := range map[string]struct {
		n      int
		cosine float64
		want   float64
	}{
		"too few":             {minQuestions - 1, 0.9, 0},
		"as the built-in one": {100, 0.5, 0},
		"at the upper end":    {100, 0.64, 0},
		"at the lower end":    {100, 0.39, 0},
		"more alike":          {100, 0.8, 0.45 * 1.6 / 1.3},
		"less alike":          {100, 0.2, 0.45 * 0.4 * 1.3},
		"hardly":              {100, 0.001, leastUsual},
		"no vectors":          {100, 0, 0},
	} {
		all := make([]searched, tt.n)
		for i := range all {
			all[i].cosine = tt.cosine
		}
		if got := usual(all); got < tt.want-1e-9 || got > tt.want+1e-9 {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
