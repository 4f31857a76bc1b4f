package adapt

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/embed/table"
	"github.com/kenlayer/ken/internal/embed/train"
)

// Minimum amounts of data.
const (
	MinPairs   = 200 // fewer pairs can't be split into training and test pairs
	MinHeldOut = 50  // minimum number of questions that are held out
)

// Options configures Run. The zero value is the default.
type Options struct {
	Seed    uint64
	HeldOut float64 // share of the pairs that are held out, 0..0.5; 0 means 0.15
	// Train is passed to Tune; Run sets its Seed and Progress.
	Train train.Options
	// Tune trains a table; nil means train.Tune.
	Tune func(ctx context.Context, base *table.Model, pairs []train.Pair, o train.Options) (*table.Model, error)
	// Progress is called with the progress of a stage, from one goroutine; may be nil.
	Progress func(stage string, done, total int)
	Now      func() time.Time // nil means time.Now
}

func (o Options) withDefaults() (Options, error) {
	o.HeldOut = cmp.Or(o.HeldOut, 0.15)
	if o.HeldOut < 0 || o.HeldOut > 0.5 {
		return o, &ken.Error{Code: ken.CodeInvalid, Field: "held_out", Msg: "outside 0..0.5", Try: "Leave it out for 0.15."}
	}
	if o.Tune == nil {
		o.Tune = train.Tune
	}
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}

// Report describes the data and the result of a run.
type Report struct {
	Base    string    `json:"base"`  // name of the table that was tuned
	Model   string    `json:"model"` // name of the result
	Created time.Time `json:"created"`
	Seed    uint64    `json:"seed"`

	Passages int            `json:"passages"`
	Pairs    int            `json:"pairs"`
	Sources  map[string]int `json:"sources"`  // pairs by source
	Tuned    int            `json:"tuned"`    // pairs trained with; some pairs are neither trained with nor held out, see split
	HeldOut  int            `json:"held_out"` // held-out pairs that are not weak: the questions of the comparison
	Files    int            `json:"files"`    // number of files that they come from

	Before     Figures             `json:"before"`
	After      Figures             `json:"after"`
	RecallAt10 Interval            `json:"recall@10_difference"`
	MRR        Interval            `json:"mrr_difference"`
	BySource   map[string]Compared `json:"by_source"` // includes weak pairs
}

// Compared holds the figures of one source's questions.
type Compared struct {
	N      int     `json:"n"`
	Before Figures `json:"before"`
	After  Figures `json:"after"`
}

// Wins reports whether the adapted table should be used: the interval of the difference
// in MRR is above zero, and recall at ten is not lower. MRR decides because each
// question affects it; recall at ten hardly distinguishes tables in a small repository.
func (r *Report) Wins() bool { return r.MRR.Low > 0 && r.RecallAt10.Mean >= 0 }

// Run tunes base with set and compares the two tables on pairs that the tuning did not
// use. It writes nothing to disk except a checkpoint, if o.Train has one.
//
// Errors: ErrInvalid for invalid options or a set with fewer than MinPairs pairs,
// Tune's errors, and the context's own.
func Run(ctx context.Context, base *table.Model, set Set, o Options) (*table.Model, Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, Report{}, err
	}
	r := Report{Base: base.Model(), Created: o.Now().UTC(), Seed: o.Seed, Passages: len(set.Passages), Pairs: len(set.Pairs), Sources: set.Sources()}
	tune, held := split(&set, o.Seed, o.HeldOut, MinHeldOut)
	if asked := countStrong(held); len(set.Pairs) < MinPairs || len(tune) < MinPairs/2 || asked < MinHeldOut {
		return nil, r, tooFew(len(set.Pairs), len(tune), asked)
	}
	r.Tuned = len(tune)
	before, err := o.measure(ctx, "measure the base", base, &set, held)
	if err != nil {
		return nil, r, err
	}
	t := o.Train
	t.Seed = o.Seed
	t.Progress = func(p train.Progress) { o.Progress("tune: "+p.Stage, p.Done, p.Total) }
	adapted, err := o.Tune(ctx, base, positives(&set, tune), t)
	if err != nil {
		return nil, r, fmt.Errorf("tune the embedder: %w", err)
	}
	r.Model = adapted.Model()
	after, err := o.measure(ctx, "measure the adapted", adapted, &set, held)
	if err != nil {
		return nil, r, err
	}
	r.compare(before, after)
	return adapted, r, nil
}

func (o *Options) measure(ctx context.Context, stage string, m *table.Model, set *Set, held []Pair) ([]outcome, error) {
	return search(ctx, m, set.Passages, held, func(done, total int) { o.Progress(stage, done, total) })
}

func (r *Report) compare(before, after []outcome) {
	files, sources := map[string]bool{}, map[string][2][]outcome{}
	var b, a []outcome // of the pairs that are not weak
	for i := range before {
		s := sources[before[i].src]
		sources[before[i].src] = [2][]outcome{append(s[0], before[i]), append(s[1], after[i])}
		if !before[i].weak {
			files[before[i].file] = true
			b, a = append(b, before[i]), append(a, after[i])
		}
	}
	r.HeldOut, r.Files, r.BySource = len(b), len(files), map[string]Compared{}
	for name, s := range sources {
		r.BySource[name] = Compared{len(s[0]), mean(s[0]), mean(s[1])}
	}
	r.Before, r.After = mean(b), mean(a)
	r.RecallAt10 = bootstrap(b, a, r.Seed, func(f Figures) float64 { return f.RecallAt10 })
	r.MRR = bootstrap(b, a, r.Seed, func(f Figures) float64 { return f.MRR })
}

// countStrong counts the pairs that are not weak.
func countStrong(pairs []Pair) int {
	n := 0
	for _, p := range pairs {
		if !p.Weak {
			n++
		}
	}
	return n
}

func tooFew(pairs, tune, asked int) error {
	e := &ken.Error{Code: ken.CodeInvalid,
		Try: "Keep the built-in embedder: it is good for small repositories; headings, doc comments and commits are what pairs are made of."}
	switch {
	case pairs < MinPairs:
		e.Msg = fmt.Sprintf("the repository gives %d pairs to learn from, and %d are needed", pairs, MinPairs)
	case asked < MinHeldOut:
		e.Msg = fmt.Sprintf("of %d pairs only %d can be asked as questions, and %d are needed to compare two tables", pairs, asked, MinHeldOut)
	default:
		e.Msg = fmt.Sprintf("of %d pairs only %d are left to learn from once %d questions are set aside", pairs, tune, asked)
	}
	return e
}
