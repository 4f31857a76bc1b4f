package calibrate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/durable"
	"github.com/kenlayer/ken/retriever"
)

// File is the name of a calibration's file in its owner's folder.
const File = "calibration.json"

// MinRecords is the number of records with a vector from which a calibration is useful.
const MinRecords = 100

// Calibration describes how well one embedder works on one collection. A zero Factor means that its
// vectors make the results worse.
type Calibration struct {
	Version   int       `json:"version"`   // of this package: see the constant Version
	Analysis  int       `json:"analysis"`  // analysis.Version at the measurement
	Model     string    `json:"model"`     // the embedder's model
	Records   int       `json:"records"`   // number of records in the collection
	Questions int       `json:"questions"` // number of questions asked
	Factor    float64   `json:"factor"`    // for retriever.Weights.Cosine, 0..2; 1 means no change
	Usual     float64   `json:"usual"`     // for retriever.Options.Usual, 0..1; 0 if it was not measured
	Keyword   Figures   `json:"keyword"`   // keyword search alone
	Vector    Figures   `json:"vector"`    // vector search alone
	Hybrid    Figures   `json:"hybrid"`    // both, with Factor
	Gain      Interval  `json:"gain"`      // difference in mean reciprocal rank between both, with factor 1, and keyword search alone
	Tried     []Tried   `json:"tried"`     // one entry per factor, in rising order
	At        time.Time `json:"at"`
}

// Figures are means over the questions, each 0..1.
type Figures struct {
	RecallAt10 float64 `json:"recall@10"` // share of questions whose record is among the first ten
	MRR        float64 `json:"mrr"`       // mean of 1/rank of the record, 0 if it was not found
}

// Interval is a mean difference and its 95 % interval, by the normal distribution.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Tried is the result for one factor.
type Tried struct {
	Factor float64 `json:"factor"`
	Figures
}

// Version identifies the behaviour of this package. A calibration with another version must be
// measured again.
const Version = 2

// Due reports whether c, which may be nil, must be measured for a model and a collection with this
// number of records. That is so if c is nil, is for another model or another version of the
// analysis, or if the collection grew by half since.
func (c *Calibration) Due(model string, records int) bool {
	if records < MinRecords {
		return false
	}
	return c == nil || !c.For(model) || 2*records >= 3*c.Records
}

// For reports whether c is valid for a model and the current version of the analysis.
func (c *Calibration) For(model string) bool {
	return c != nil && c.Model == model && c.Analysis == analysis.Version && c.Version == Version
}

// Harms reports whether the vector source should be left out.
func (c *Calibration) Harms() bool { return c != nil && c.Factor == 0 }

// Apply returns o with the calibration applied. It does not change o's own Weights. A nil c changes
// nothing. If c.Harms, the caller leaves the vector source out, and Apply keeps the weights for
// searches by vector alone.
func (c *Calibration) Apply(o retriever.Options) retriever.Options {
	if c == nil {
		return o
	}
	w := retriever.DefaultWeights
	if o.Weights != nil {
		w = *o.Weights
	}
	if !c.Harms() {
		w.Cosine *= c.Factor
	}
	o.Weights, o.Usual = &w, c.Usual
	return o
}

// validate returns an error for values that Run does not produce.
func (c *Calibration) validate() error {
	bad := func(field string) error {
		return &ken.Error{Code: ken.CodeCorrupt, Field: field, Msg: "is out of range", Try: "Remove the file: it will be measured again."}
	}
	for _, f := range []struct {
		name  string
		value float64
		most  float64
	}{{"factor", c.Factor, maxFactor}, {"usual", c.Usual, 1}, {"keyword.recall@10", c.Keyword.RecallAt10, 1}, {"keyword.mrr", c.Keyword.MRR, 1},
		{"vector.recall@10", c.Vector.RecallAt10, 1}, {"vector.mrr", c.Vector.MRR, 1}, {"hybrid.recall@10", c.Hybrid.RecallAt10, 1}, {"hybrid.mrr", c.Hybrid.MRR, 1}} {
		if !(f.value >= 0 && f.value <= f.most) { // in this form, so that NaN fails too
			return bad(f.name)
		}
	}
	switch {
	case c.Model == "":
		return bad("model")
	case c.Records < 0:
		return bad("records")
	case c.Questions < 0:
		return bad("questions")
	case math.Abs(c.Gain.Mean) > 1 || c.Gain.Low > c.Gain.Mean || c.Gain.High < c.Gain.Mean:
		return bad("gain")
	}
	return nil
}

// Parse parses a calibration from JSON. It ignores unknown fields. It returns ErrCorrupt for
// invalid content.
func Parse(data []byte) (*Calibration, error) {
	var c Calibration
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, &ken.Error{Code: ken.CodeCorrupt, Msg: "read calibration", Err: err, Try: "Remove the file: it will be measured again."}
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	return &c, nil
}

// Read reads the calibration in an owner's folder; nil if there is none. A file that can't be read
// is an error, and may be overwritten.
func Read(dir string) (*Calibration, error) {
	path := filepath.Join(dir, File)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read calibration: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read calibration: %w", err)
	}
	c, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// maxFile is the maximum size of the file, far more than a calibration needs.
const maxFile = 1 << 20

// Write writes c to an owner's folder, atomically.
func (c *Calibration) Write(dir string) error {
	if err := c.validate(); err != nil {
		return err
	}
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("write calibration: %w", err)
	}
	if err := durable.WriteFile(filepath.Join(dir, File), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write calibration: %w", err)
	}
	return nil
}
