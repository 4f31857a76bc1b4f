package evals

import (
	"log/slog"
	"runtime"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/evals/dataset"
)

// Options configures Sweep. Data is needed.
type Options struct {
	Data *dataset.Set
	// Config is what every variant starts from. Nil: the defaults.
	Config *config.Config
	// Root is the folder that relative paths of the configuration start at. Nothing
	// is written there. Empty: the working directory.
	Root string

	Modes []Mode    // default keyword, vector and hybrid
	Set   []Setting // for every variant
	Vary  []Axis    // every combination of their values is run in every mode
	// Ablate runs every combination again without each of the ranker's signals,
	// one at a time.
	Ablate bool

	// Limit draws so many of the set's questions by Seed; <= 0 asks all. Questions
	// that were added to the set are always asked.
	Limit int
	// Seed is of the draw and of the intervals.
	Seed uint64
	// Workers is how many turns run at once; <= 0 means one for each processor.
	Workers int

	// Embedder is used instead of the configured one.
	Embedder embed.Embedder
	// Temp is where the temporary store is made; default os.TempDir.
	Temp string
	// Progress is told about long work, from several goroutines.
	Progress func(stage string, done, total int)
	// Log hears what the layer logs. Default: nobody.
	Log *slog.Logger
}

// Setting is a configuration key with a value, as text that config.Config.Set
// reads. The key may be short; see Resolve.
type Setting struct {
	Key, Value string
}

// Axis is a configuration key with the values that are tried.
type Axis struct {
	Key    string
	Values []string
}

func (o Options) withDefaults() (Options, error) {
	if o.Data == nil {
		return o, &ken.Error{Code: ken.CodeInvalid, Field: "data", Msg: "there is no data set", Try: "Open one with package dataset."}
	}
	if o.Config == nil {
		c := config.Default()
		o.Config = &c
	}
	if len(o.Modes) == 0 {
		o.Modes = []Mode{ModeKeyword, ModeVector, ModeHybrid}
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, nil
}
