package classify

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/kenlayer/ken"
)

// Kinds of the jobs.
const (
	JobClassify   = "structural_classify"   // pass 2a
	JobDependency = "structural_dependency" // pass 2b
)

// Bounds of what a model is asked at once: what small models (4B) still answer in
// full and in form.
const (
	DefaultFacts = 8
	MaxFacts     = 10
	DefaultPairs = 5
	MaxPairs     = 5
)

// MinConfidence is what rules need to be sure of, at least, of what an old claim is
// about, 0..1. Below it the claim is left unfiled, and counted.
const MinConfidence = 0.4

// Options configures a Classifier; the zero value files by rules.
type Options struct {
	// Ask asks the model; nil is none, and no jobs are added.
	Ask   Ask
	Model string // its name, which stands in the evidence of dependencies
	// NoRules leaves dependencies to the model. What no model is there for, rules do
	// all the same.
	NoRules bool

	Facts int // at once in pass 2a, at most MaxFacts; default DefaultFacts
	Pairs int // at once in pass 2b, at most MaxPairs; default DefaultPairs

	// Settle is how long Follow waits after a write before it adds jobs, so that claims
	// that are written together are asked about together; default 2 s.
	Settle time.Duration
	// GiveWay is called before each claim, and may wait while there is something more
	// urgent to do. May be nil.
	GiveWay func(context.Context)
	// Rest is how long Follow rests between two batches of old claims; default 20 ms.
	Rest time.Duration
	// Wake is told when jobs were added; may be nil.
	Wake func()

	Now func() time.Time // default time.Now
	Log *slog.Logger     // hears of no text; default: nothing is logged
}

func (o Options) withDefaults() Options {
	size := func(n *int, def, most int) {
		if *n <= 0 {
			*n = def
		}
		*n = min(*n, most)
	}
	size(&o.Facts, DefaultFacts, MaxFacts)
	size(&o.Pairs, DefaultPairs, MaxPairs)
	if o.Settle <= 0 {
		o.Settle = 2 * time.Second
	}
	if o.GiveWay == nil {
		o.GiveWay = func(context.Context) {}
	}
	if o.Rest <= 0 {
		o.Rest = 20 * time.Millisecond
	}
	if o.Ask == nil {
		o.NoRules = false
	}
	if o.Wake == nil {
		o.Wake = func() {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Classifier files one owner's claims. It is safe for concurrent use; any number of
// them may work on one store.
type Classifier struct {
	st Store
	o  Options

	classify, depend gate // of the model, for each pass

	mu      sync.Mutex // guards pending
	pending Counts     // not on the shelf yet
}

// New returns a classifier of a store.
func New(st Store, o Options) *Classifier { return &Classifier{st: st, o: o.withDefaults()} }

// Atomic reports whether a claim is a single statement, which belongs under one
// aspect: no piece of the repository, no summary, no procedure, and none of the
// structure's own.
func Atomic(c *ken.Claim) bool {
	switch c.Kind {
	case ken.KindDocument, ken.KindEpisode, ken.KindPlaybook:
		return false
	}
	return !c.Kind.Structural()
}

// stands reports whether a claim is held to be true at now.
func stands(c *ken.Claim, now time.Time) bool {
	switch c.Status {
	case ken.StatusObserved, ken.StatusInferred, ken.StatusVerified:
		return !c.Expired(now)
	}
	return false
}

// external reports whether a claim is as trusted as an external source at most.
func external(c *ken.Claim) bool { return !c.Support(nil).Trust.AtLeast(ken.TrustAgent) }
