package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/evals/dataset"
	"github.com/kenlayer/ken/middleware"
)

// Run writes o.Data into a temporary store, asks every question in every mode and
// setting, and reports the results. The same data and seed give the same values, except
// for latencies. The store is removed when Sweep returns, also after an error or when
// ctx ends.
//
// Errors: ErrInvalid for a setting or a line of the data that can't be used; ctx's own.
// A missing leg is not an error: its mode runs as a turn would, and the report's notes
// say so.
func Run(ctx context.Context, o Options) (report *Report, err error) {
	start := time.Now()
	if o, err = o.withDefaults(); err != nil {
		return nil, err
	}
	all, err := variants(&o)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(o.Temp, "ken-eval-")
	if err != nil {
		return nil, fmt.Errorf("make temporary folder: %w", err)
	}
	defer func() {
		if gone := os.RemoveAll(dir); gone != nil {
			err = errors.Join(err, fmt.Errorf("remove temporary folder: %w", gone))
		}
	}()
	set := draw(o.Data, o.Limit, o.Seed)
	s := &sweep{o: o, dir: dir, now: epoch, set: set, corpus: newCorpus(set, o.Workers, o.Progress)}
	return s.run(ctx, all, start)
}

// sweep is the state of one Sweep.
type sweep struct {
	o      Options
	dir    string
	set    *dataset.Set
	corpus *corpus
	model  string // of the embedder
	now    time.Time
}

func (s *sweep) run(ctx context.Context, all []variant, start time.Time) (*Report, error) {
	if err := s.remember(ctx, all); err != nil {
		return nil, err
	}
	s.now = s.corpus.now()
	s.set = s.corpus.named(s.set)
	written, refused, reason := s.corpus.sum()
	if written == 0 {
		if reason != "" {
			reason = "; the first was refused at " + reason
		}
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "data", Msg: "no record of " + s.set.Name + " could be stored" + reason, Try: "Check the set's records."}
	}
	runs := make([]run, len(all))
	r := &Report{Dataset: s.set.Name, Owners: len(s.corpus.order), Corpus: written, Refused: refused,
		Seed: s.o.Seed, Workers: s.o.Workers, Notes: append([]string{}, s.set.Notes...), Faults: map[string][]Fault{}}
	if refused > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d records were refused by the store, the first at %s", refused, reason))
	}
	r.Notes = append(r.Notes, s.missing()...)
	for i := range all {
		var err error
		if runs[i], err = s.variant(ctx, &all[i], r); err != nil {
			return nil, fmt.Errorf("%s: %w", all[i].name, err)
		}
		if runs[i].degraded != "" {
			r.Notes = append(r.Notes, all[i].name+": "+runs[i].degraded)
		}
	}
	r.Embedder = s.model
	r.summarise(s.set.Queries, runs)
	r.answers = answers(r.Dataset, s.set.Queries, runs)
	r.ElapsedMS = round(float64(time.Since(start))/float64(time.Millisecond), 1)
	return r, nil
}

// draw selects limit of the set's own questions at random, in their order.
func draw(set *dataset.Set, limit int, seed uint64) *dataset.Set {
	var own []int
	for i := range set.Queries {
		if !set.Queries[i].Added {
			own = append(own, i)
		}
	}
	if limit <= 0 || limit >= len(own) {
		return set
	}
	r := rand.New(rand.NewPCG(seed, 0))
	r.Shuffle(len(own), func(i, j int) { own[i], own[j] = own[j], own[i] })
	kept := make(map[int]bool, limit)
	for _, i := range own[:limit] {
		kept[i] = true
	}
	out := *set
	out.Queries = nil
	for i, q := range set.Queries {
		if q.Added || kept[i] {
			out.Queries = append(out.Queries, q)
		}
	}
	return &out
}

// open opens a layer over the sweep's store.
func (s *sweep) open(ctx context.Context, cfg config.Config) (*middleware.Layer, error) {
	cfg.Knowledge.DBPath = filepath.Join(s.dir, "state")
	cfg.Knowledge.Owner = ken.DefaultOwner
	return middleware.Open(ctx, middleware.Options{Root: s.o.Root, Config: &cfg, Embedder: s.o.Embedder, Strict: true, Foreground: true,
		Use: []middleware.Middleware{recordRanking(cfg.Retrieval.Pool)}, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return s.now }, NewID: func() string { return "question" },
		Progress: s.o.Progress})
}

// remember fills the store, with vectors if any variant needs them, and embeds what was
// not embedded during the writes.
func (s *sweep) remember(ctx context.Context, all []variant) (err error) {
	base := all[0].cfg
	for i := range all {
		if all[i].mode.vectors() {
			base = all[i].cfg
			break
		}
	}
	l, err := s.open(ctx, base)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	return s.corpus.remember(ctx, l, s.set)
}

// missing returns a note about relevant ids that don't exist: they count as not found.
func (s *sweep) missing() []string {
	lost, in := 0, 0
	for i := range s.set.Queries {
		q := &s.set.Queries[i]
		o := s.corpus.owners[ownerOf(q)]
		before := lost
		for id := range q.Relevant {
			if q.Level == dataset.LevelRecord && o.claims[id] == "" {
				lost++
			}
		}
		if lost > before {
			in++
		}
	}
	if lost == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d relevant ids of %d questions name no record; they count as not found", lost, in)}
}

// variant asks every question in one configuration.
func (s *sweep) variant(ctx context.Context, v *variant, report *Report) (out run, err error) {
	l, err := s.open(ctx, v.cfg)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	out = run{variant: *v, results: make([]turnResult, len(s.set.Queries)), judged: make([]judged, len(s.set.Queries))}
	if v.mode.vectors() {
		_, out.degraded = l.Operator().Retrieval()
		if out.degraded == "" {
			s.model = l.Operator().Embedder().Model()
			if err := s.embed(ctx, l); err != nil {
				return out, err
			}
			if err := s.calibrate(ctx, l); err != nil {
				return out, err
			}
		}
	}
	if err := s.ask(ctx, l, &out); err != nil {
		return out, err
	}
	for i := range out.results {
		if h := &out.results[i]; out.degraded == "" && h.degraded != "" {
			out.degraded = fmt.Sprintf("question %s: %s", s.set.Queries[i].ID, h.degraded)
		}
	}
	report.Faults[v.name], err = s.faults(ctx, l, &out)
	return out, err
}

// embed makes the vectors that the store lacks: all of them with a gateway, or those
// for a model that only this variant uses.
func (s *sweep) embed(ctx context.Context, l *middleware.Layer) error {
	for _, o := range s.corpus.order {
		st, release, err := l.Store(ctx, o.name)
		if err != nil {
			return err
		}
		if have, total := st.Coverage(); have < total {
			_, err = st.EmbedMissing(ctx)
		}
		release()
		if err != nil {
			return fmt.Errorf("embed: %w", err)
		}
	}
	return nil
}

// calibrate calibrates each owner, as a running layer does once its store is filled.
func (s *sweep) calibrate(ctx context.Context, l *middleware.Layer) error {
	for _, o := range s.corpus.order {
		if _, err := l.Operator().Calibrate(ctx, o.name); err != nil {
			return err
		}
	}
	return nil
}

// Options configures Run. Data is required.
type Options struct {
	Data *dataset.Set
	// Config is the configuration that every variant starts from; nil uses the
	// defaults.
	Config *config.Config
	// Root is the folder for relative paths in the configuration. Nothing is written
	// there. Empty means the working directory.
	Root string

	Modes []Mode    // default keyword, vector and hybrid
	Set   []Setting // for every variant
	Vary  []Axis    // every combination of their values runs in every mode
	// Ablate runs every combination again without each of the ranker's signals, one at
	// a time.
	Ablate bool

	// Limit is the number of the set's questions that are selected at random by Seed;
	// <= 0 asks all. Questions that were added to the set are always asked.
	Limit int
	// Seed is the seed for the selection and the intervals.
	Seed uint64
	// Workers is the number of turns that run at once; <= 0 means one for each processor.
	Workers int

	// Embedder is used instead of the configured one.
	Embedder embed.Embedder
	// Temp is the folder in which the temporary store is made; default os.TempDir.
	Temp string
	// Progress is called with the progress of long work, from several goroutines.
	Progress func(stage string, done, total int)
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
	o.Workers = cmp.Or(max(o.Workers, 0), runtime.GOMAXPROCS(0))
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	return o, nil
}

// timedTurns is the number of turns of each variant that run alone for timing: the 99th
// percentile is then the third slowest.
const timedTurns = 300

// warmUp is asked before an owner's first timed turn, because a store that was just
// opened still has to read its files.
const warmUp = "What do we know so far?"

// ask runs every question's turn once. Some run one after the other, and only these
// count for latency; the rest run concurrently.
func (s *sweep) ask(ctx context.Context, l *middleware.Layer, out *run) error {
	alone, together := s.schedule()
	total := len(alone) + len(together)
	var done atomic.Int64
	one := func(ctx context.Context, at int) error {
		q := &s.set.Queries[at]
		o := s.corpus.owners[ownerOf(q)]
		h, err := ask(ctx, l, o, q)
		if err == nil {
			out.results[at], out.judged[at] = h, judge(q, o, &h)
			s.o.Progress(out.name, int(done.Add(1)), total)
		}
		return err
	}
	warm := ""
	for _, at := range alone {
		if o := s.corpus.owners[ownerOf(&s.set.Queries[at])]; o.name != warm {
			warm = o.name
			_, release, err := l.Store(ctx, o.name)
			if err != nil {
				return err
			}
			l.Assemble(ctx, ken.Turn{Owner: o.name, Messages: []ken.Message{{Role: "user", Text: warmUp}}})
			release()
		}
		if err := one(ctx, at); err != nil {
			return err
		}
	}
	return each(ctx, s.o.Workers, together, func(ctx context.Context, at int) error {
		err := one(ctx, at)
		out.results[at].ms = 0 // other turns ran at the same time
		return err
	})
}

// schedule sorts the questions by owner, so that few stores are open at a time, and
// selects those that run alone, evenly spread.
func (s *sweep) schedule() (alone, together []int) {
	place := map[string]int{}
	for i, o := range s.corpus.order {
		place[o.name] = i
	}
	order := make([]int, len(s.set.Queries))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(place[ownerOf(&s.set.Queries[a])], place[ownerOf(&s.set.Queries[b])])
	})
	n := min(timedTurns, len(order))
	for i, at := range order {
		if (i+1)*n/len(order) > i*n/len(order) {
			alone = append(alone, at)
		} else {
			together = append(together, at)
		}
	}
	return alone, together
}

// each calls do for every element, with workers goroutines, until one call fails or ctx
// ends.
func each[T any](ctx context.Context, workers int, list []T, do func(context.Context, T) error) error {
	g, inner := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for _, x := range list {
		g.Go(func() error {
			if inner.Err() != nil {
				return nil
			}
			return do(inner, x)
		})
	}
	err := g.Wait()
	return cmp.Or(ctx.Err(), err) // the end of ctx, such as by a signal, takes precedence
}

// Mode is a way of searching.
type Mode string

// Modes. They only set switches and leave the rest of the configuration unchanged.
const (
	ModeKeyword Mode = "keyword" // only by words
	ModeVector  Mode = "vector"  // only by meaning
	ModeHybrid  Mode = "hybrid"  // both legs, ranked as configured
	ModeRRF     Mode = "rrf"     // both legs, ranked only by reciprocal rank fusion
	ModeWRRF    Mode = "wrrf"    // the same, with the vector leg weighted by retrieval.rrf_weight
)

// ParseModes parses a list such as "keyword,hybrid". An unknown or repeated name is
// ErrInvalid.
func ParseModes(list string) ([]Mode, error) {
	var out []Mode
	for name := range strings.SplitSeq(list, ",") {
		m := Mode(strings.TrimSpace(name))
		if !slices.Contains([]Mode{ModeKeyword, ModeVector, ModeHybrid, ModeRRF, ModeWRRF}, m) {
			return nil, &ken.Error{Code: ken.CodeInvalid, Field: "modes", Msg: "unknown mode " + string(m), Try: "Use some of keyword, vector, hybrid, rrf and wrrf."}
		}
		if slices.Contains(out, m) {
			return nil, &ken.Error{Code: ken.CodeInvalid, Field: "modes", Msg: string(m) + " is named twice", Try: "Name every mode once."}
		}
		out = append(out, m)
	}
	return out, nil
}

// vectors reports whether the mode has a vector leg.
func (m Mode) vectors() bool { return m != ModeKeyword }

func (m Mode) apply(c *config.Config) {
	c.Middleware.Keyword, c.Middleware.Vector = m != ModeVector, m.vectors()
	switch m {
	case ModeRRF:
		c.Retrieval.Rank = config.RankRRF
	case ModeWRRF:
		c.Retrieval.Rank = config.RankWeighted
	}
}
