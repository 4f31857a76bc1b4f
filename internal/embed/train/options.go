package train

import (
	"fmt"
	"runtime"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/embed/table"
)

// Progress says how far a run is.
type Progress struct {
	Stage string // read, decontaminate, vocabulary, cut, initial table, negatives, train
	// Done of Total; a Total of 0 is unknown. In the stage train they count steps.
	Done, Total int
	// Loss is the mean loss of the last steps, in nats, 0 outside the stage train.
	Loss float64
}

func report(f func(Progress), p Progress) {
	if f != nil {
		f(p)
	}
}

// Options configures Train and Tune. The zero value is the default, which is not
// the same for both.
type Options struct {
	// Dim is the number of dimensions, a multiple of 8; <= 0 means 256. Tune keeps
	// its base's.
	Dim int
	// Tokens is the most tokens that the vocabulary has; <= 0 means 29,600, which
	// make a file of less than 8 MB with 256 dimensions. For Tune it is the most
	// that are added; <= 0 means 2,000.
	Tokens int
	// Epochs over the pairs; <= 0 means 10, for Tune as many as make 300
	// steps, 2 to 20.
	Epochs int
	// Batch is how many pairs a step has; <= 0 means 512, for Tune 256 or a
	// quarter of the pairs, if that is less.
	Batch int
	// Rate is the largest step of a number of the table. It is reached after a
	// twentieth of the steps and falls to 0 after that. <= 0 means 0.002, for
	// Tune 0.0005.
	Rate float64
	// Temperature divides the cosines in the loss, 0.025 or more; <= 0 means 0.05.
	Temperature float64
	// Weight says how many times an epoch sees the pairs of a source; a fraction
	// is a probability. Nil means once.
	Weight func(src string) float64
	// Hard is how many hard negatives each pair has, of which a step draws one:
	// passages of its source that have its query's rare words. 0 means 1, less
	// none.
	Hard int
	// Seed of everything that is drawn.
	Seed uint64
	// Workers is the number of goroutines; <= 0 means one a processor.
	Workers int
	// Checkpoint names a file in which each phase and epoch leaves its result. A
	// run that finds one of the same pairs and options continues there. Empty
	// means none.
	Checkpoint string
	// Progress is told how far the run is, from one goroutine. Nil means nobody.
	Progress func(Progress)
	// Info is what the table will say of itself; the recipe and a base are added.
	Info table.Info
}

func orDefault[T int | float64](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

func (o Options) withDefaults() Options {
	o.Dim = orDefault(o.Dim, 256)
	o.Tokens = orDefault(o.Tokens, 29_600)
	o.Epochs = orDefault(o.Epochs, 10)
	o.Batch = orDefault(o.Batch, 512)
	o.Rate = orDefault(o.Rate, 0.002)
	return o.common()
}

// tuneSteps is how many steps a tuning has by default, if that takes at least 2 and
// at most 20 epochs.
const tuneSteps = 300

func (o Options) tuneDefaults(pairs int) Options {
	o.Tokens = orDefault(o.Tokens, 2000)
	o.Batch = orDefault(o.Batch, min(256, max(pairs/4, 2)))
	o.Epochs = orDefault(o.Epochs, min(max(tuneSteps*o.Batch/max(pairs, 1), 2), 20))
	o.Rate = orDefault(o.Rate, 0.0005)
	return o.common()
}

func (o Options) common() Options {
	o.Temperature = orDefault(o.Temperature, 0.05)
	o.Workers = orDefault(o.Workers, runtime.GOMAXPROCS(0))
	if o.Hard == 0 {
		o.Hard = 1
	}
	o.Hard = max(o.Hard, 0)
	if o.Weight == nil {
		o.Weight = func(string) float64 { return 1 }
	}
	return o
}

// minTemperature keeps the exponential of the least cosine a float32.
const minTemperature = 0.025

// check refuses what can't be trained with.
func (o *Options) check() error {
	switch {
	case o.Dim%8 != 0:
		return wrong("dim", fmt.Sprintf("%d dimensions are not a multiple of 8", o.Dim), "Choose 64, 128 or 256.")
	case o.Temperature < minTemperature:
		return wrong("temperature", fmt.Sprintf("%g is too low", o.Temperature), "Choose 0.025 or more; 0.05 is good.")
	case o.Batch < 2:
		return wrong("batch", "one pair has no negatives", "Choose 2 or more.")
	}
	return nil
}

func wrong(field, msg, try string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: "train embedding table: " + msg, Try: try}
}
