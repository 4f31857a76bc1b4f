package cases

import (
	"log/slog"
	"path/filepath"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed"
)

// Options says what cases stand on. The zero value runs cases that bring all of
// their knowledge with them under given.
type Options struct {
	// Root is the project's folder. Where there is a base, the project's files are
	// searchable as the configuration says. "" is no project.
	Root string
	// Config is the configuration in force; nil is the default one.
	Config *config.Config
	// Embedder is used instead of the configured one.
	Embedder embed.Embedder

	// The base is what is known before given is written: State, the folder of a
	// live store (knowledge.db_path), which is copied, or Export, a file as ken
	// export writes it, whose claims go to the owners that they name. At most one
	// is set; none is an empty base.
	State, Export string
	// GivenAlone starts cases that have given, even an empty one, from nothing
	// instead of the base.
	GivenAlone bool

	// Unseen are files of the project that cases must not find, beside the cases'
	// own and the export, which they never do: reports of runs before, for one.
	Unseen []string

	// Progress is told about long work. May be nil.
	Progress func(stage string, done, total int)
	// Log hears what the layer has to tell besides. Nil: nobody.
	Log *slog.Logger
	// Now dates cases that name no moment, and measures how long each takes.
	// Default time.Now.
	Now func() time.Time
}

// longest is the most that retrieval.deadline may be: see the package comment.
const longest = 30 * time.Second

// withDefaults fills in what is missing and returns the configuration that cases
// run with: a copy whose paths don't depend on a folder of the test's own.
func (o Options) withDefaults() (Options, config.Config, error) {
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.State != "" && o.Export != "" {
		return o, config.Config{}, &ken.Error{Code: ken.CodeInvalid, Msg: "a live store and an export", Try: "Give one of the two."}
	}
	cfg := config.Default()
	if o.Config != nil {
		cfg = *o.Config
	}
	cfg.Retrieval.Deadline = longest
	cfg.Middleware.Events = false
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return o, cfg, err
	}
	if p := cfg.Knowledge.EmbedPath; p != "" && !filepath.IsAbs(p) {
		cfg.Knowledge.EmbedPath = filepath.Join(root, p)
	}
	return o, cfg, nil
}
