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
	"github.com/kenlayer/ken/retriever"
)

// File is the name of a calibration's file, in its owner's folder.
const File = "calibration.json"

// MinRecords is how many records with a vector make a calibration worth its
// while.
const MinRecords = 100

// Calibration says how one embedder fares on one collection. A zero Factor means
// that its likeness does harm there.
type Calibration struct {
	Version   int       `json:"version"`   // of this package's behaviour: see Version
	Analysis  int       `json:"analysis"`  // analysis.Version
	Model     string    `json:"model"`     // of the embedder
	Records   int       `json:"records"`   // in the collection
	Questions int       `json:"questions"` // asked
	Factor    float64   `json:"factor"`    // on retriever.Weights.Cosine, 0..2; 1 is as without calibration
	Usual     float64   `json:"usual"`     // for retriever.Options.Usual, 0..1; 0 when it was not measured
	Keyword   Figures   `json:"keyword"`   // by words alone
	Vector    Figures   `json:"vector"`    // by likeness alone
	Hybrid    Figures   `json:"hybrid"`    // by both, at Factor
	Gain      Interval  `json:"gain"`      // in mean reciprocal rank, of both at factor 1 over words alone, as Run corrects it
	Tried     []Tried   `json:"tried"`     // by rising factor
	At        time.Time `json:"at"`
}

// Figures are means over the questions, each in 0..1.
type Figures struct {
	RecallAt10 float64 `json:"recall@10"` // the record is among the first ten
	MRR        float64 `json:"mrr"`       // 1/rank of the record, 0 where it was not found
}

// Interval is a mean difference and its 95 % interval, by the normal distribution.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Tried is how a factor did.
type Tried struct {
	Factor float64 `json:"factor"`
	Figures
}

// Version names the behaviour of this package: what another one found is
// measured again.
const Version = 2

// Due reports whether c, which may be nil, is to be measured (again) for a model
// and a collection of so many records: when there is none, when it is of another
// model or of another version of the analysis, and when the collection grew by
// half since.
func (c *Calibration) Due(model string, records int) bool {
	if records < MinRecords {
		return false
	}
	return c == nil || !c.For(model) || 2*records >= 3*c.Records
}

// For reports whether c says anything about a model, under the analysis of today.
func (c *Calibration) For(model string) bool {
	return c != nil && c.Model == model && c.Analysis == analysis.Version && c.Version == Version
}

// Harms reports that the likeness is to be left out.
func (c *Calibration) Harms() bool { return c != nil && c.Factor == 0 }

// Apply returns o as calibrated; o's own weights are not changed. A nil c changes
// nothing. Where c.Harms, the caller leaves the vector source out, and the weights stay
// for searches by likeness alone.
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

// validate refuses what Run would not have made.
func (c *Calibration) validate() error {
	bad := func(field string) error {
		return &ken.Error{Code: ken.CodeCorrupt, Field: field, Msg: "is out of range", Try: "Remove the file: it is made again."}
	}
	for _, f := range []struct {
		name  string
		value float64
		most  float64
	}{{"factor", c.Factor, maxFactor}, {"usual", c.Usual, 1}, {"keyword.recall@10", c.Keyword.RecallAt10, 1}, {"keyword.mrr", c.Keyword.MRR, 1},
		{"vector.recall@10", c.Vector.RecallAt10, 1}, {"vector.mrr", c.Vector.MRR, 1}, {"hybrid.recall@10", c.Hybrid.RecallAt10, 1}, {"hybrid.mrr", c.Hybrid.MRR, 1}} {
		if !(f.value >= 0 && f.value <= f.most) { // so that NaN fails too
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

// Parse reads a calibration from JSON. Fields that it does not know are left
// alone. What is no calibration is ErrCorrupt.
func Parse(data []byte) (*Calibration, error) {
	var c Calibration
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, &ken.Error{Code: ken.CodeCorrupt, Msg: "read calibration", Err: err, Try: "Remove the file: it is made again."}
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	return &c, nil
}

// Read reads the calibration in an owner's folder; nil when there is none. One
// that can't be read is an error, and may be written over.
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

// maxFile is far more than a calibration needs.
const maxFile = 1 << 20

// Write writes c into an owner's folder, whole or not at all.
func (c *Calibration) Write(dir string) (err error) {
	if err := c.validate(); err != nil {
		return err
	}
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("write calibration: %w", err)
	}
	f, err := os.CreateTemp(dir, File+".*.tmp")
	if err != nil {
		return fmt.Errorf("write calibration: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write calibration: %w", err), os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(append(data, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(dir, File))
}
