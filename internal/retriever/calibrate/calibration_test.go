package calibrate_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/retriever/calibrate"
	"github.com/kenlayer/ken/retriever"
)

func valid() *calibrate.Calibration {
	return &calibrate.Calibration{Version: calibrate.Version, Analysis: analysis.Version, Model: "test:m", Records: 200, Questions: 100, Factor: 0.35,
		Usual: 0.3, Gain: calibrate.Interval{Mean: 0.1, Low: 0, High: 0.2}, Tried: []calibrate.Tried{{Factor: 1}}, At: now}
}

func TestWriteAndRead(t *testing.T) {
	dir := t.TempDir()
	if c, err := calibrate.Read(dir); c != nil || err != nil {
		t.Errorf("an empty folder: %v, %v", c, err)
	}
	for _, factor := range []float64{0.35, 1} { // the second over the first
		want := valid()
		want.Factor = factor
		if err := want.Write(dir); err != nil {
			t.Fatal(err)
		}
		got, err := calibrate.Read(dir)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%v, %v; want the one file", files, err)
	}
	bad := valid()
	bad.Factor = 9
	if err := bad.Write(dir); !errors.Is(err, ken.ErrCorrupt) {
		t.Errorf("wrote a factor of 9: %v", err)
	}
	if got, err := calibrate.Read(dir); err != nil || got.Factor != 1 {
		t.Errorf("what was there is gone: %v, %v", got, err)
	}
	if err := valid().Write(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("wrote into a folder that is not there")
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":           ``,
		"half":              `{"model": "m", "fac`,
		"another type":      `{"model": "m", "factor": "much"}`,
		"no model":          `{"factor": 1}`,
		"factor too large":  `{"model": "m", "factor": 2.1}`,
		"negative factor":   `{"model": "m", "factor": -0.1}`,
		"usual too large":   `{"model": "m", "usual": 1.5}`,
		"negative records":  `{"model": "m", "records": -1}`,
		"negative n":        `{"model": "m", "questions": -1}`,
		"recall":            `{"model": "m", "hybrid": {"recall@10": 1.2}}`,
		"interval reversed": `{"model": "m", "gain": {"mean": 0, "low": 0.1, "high": -0.1}}`,
	} {
		if c, err := calibrate.Parse([]byte(text)); !errors.Is(err, ken.ErrCorrupt) || c != nil || ken.Hint(err) == "" {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, calibrate.File), []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := calibrate.Read(dir); !errors.Is(err, ken.ErrCorrupt) || !strings.Contains(err.Error(), calibrate.File) {
		t.Errorf("%v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"model": "m", "factor": 1, "tried": [{"factor": 0, "mrr": 0.5}], "at": "2026-03-01T00:00:00Z"}`))
	f.Add([]byte(`{"model": "m", "usual": 1e400}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := calibrate.Parse(data)
		if (err == nil) == (c == nil) {
			t.Fatalf("%v, %v", c, err)
		}
		if c == nil {
			return
		}
		o := c.Apply(retriever.Options{})
		if o.Weights.Cosine < 0 || o.Weights.Cosine > 2 || o.Usual < 0 || o.Usual > 1 {
			t.Errorf("%+v", o)
		}
		if c.Version == 0 && c.For(c.Model) {
			t.Error("a calibration of no version counts")
		}
	})
}

func TestDue(t *testing.T) {
	with := func(change func(*calibrate.Calibration)) *calibrate.Calibration {
		c := valid()
		change(c)
		return c
	}
	for name, tt := range map[string]struct {
		c       *calibrate.Calibration
		records int
		due     bool
	}{
		"none":             {nil, 100, true},
		"none, too few":    {nil, 99, false},
		"fresh":            {valid(), 200, false},
		"grew a little":    {valid(), 299, false},
		"grew by half":     {valid(), 300, true},
		"shrank":           {valid(), 100, false},
		"another model":    {with(func(c *calibrate.Calibration) { c.Model = "test:other" }), 200, true},
		"another analysis": {with(func(c *calibrate.Calibration) { c.Analysis++ }), 200, true},
		"another version":  {with(func(c *calibrate.Calibration) { c.Version++ }), 200, true},
	} {
		if got := tt.c.Due("test:m", tt.records); got != tt.due {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestApply(t *testing.T) {
	var none *calibrate.Calibration
	if o := none.Apply(retriever.Options{TopK: 3}); o.Weights != nil || o.Usual != 0 || o.TopK != 3 || none.Harms() {
		t.Errorf("no calibration: %+v", o)
	}
	w := retriever.Weights{Context: 0.5, Cosine: 2}
	o := valid().Apply(retriever.Options{Weights: &w})
	if *o.Weights != (retriever.Weights{Context: 0.5, Cosine: 0.7}) || o.Usual != 0.3 || w.Cosine != 2 {
		t.Errorf("%+v, %v", o.Weights, w)
	}
	harm := valid()
	harm.Factor = 0
	if o := harm.Apply(retriever.Options{}); !harm.Harms() || o.Weights.Cosine != retriever.DefaultWeights.Cosine {
		t.Errorf("an embedder that harms: %+v", o.Weights)
	}
}
