package evals

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/evals/dataset"
	"github.com/kenlayer/ken/middleware"
)

// Sweep remembers o.Data in a temporary store, asks every question in every mode
// and setting, and reports how well each did. Same data, same seed, same figures,
// latencies apart. The store is removed when it returns, also after an error and
// at ctx's end.
//
// Errors: ErrInvalid for a setting or a line of the data that can't be used; ctx's
// own. A leg that isn't there is no error: its mode runs as a turn would, and the
// report's notes say so.
func Sweep(ctx context.Context, o Options) (report *Report, err error) {
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

// sweep is a sweep under way.
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
	runs := make([]run, len(all))
	written, refused, reason := s.corpus.sum()
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

// draw keeps limit of the set's own questions, in their order.
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
		Use: []middleware.Middleware{listen(cfg.Retrieval.Pool)}, Log: s.o.Log, Now: func() time.Time { return s.now }, NewID: func() string { return "question" },
		Progress: s.o.Progress})
}

// remember fills the store, with vectors if any variant wants them, and embeds
// what its embedder doesn't do in passing.
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

// missing tells of relevant ids that name nothing: they count as not found.
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
	out = run{variant: *v, heard: make([]heard, len(s.set.Queries)), judged: make([]judged, len(s.set.Queries))}
	if v.mode.vectors() {
		_, out.degraded = l.Retrieval()
		if out.degraded == "" {
			s.model = l.Embedder().Model()
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
	for i := range out.heard {
		if h := &out.heard[i]; out.degraded == "" && h.degraded != "" {
			out.degraded = fmt.Sprintf("question %s: %s", s.set.Queries[i].ID, h.degraded)
		}
	}
	report.Faults[v.name], err = s.faults(ctx, l, &out)
	return out, err
}

// embed makes the vectors that the store lacks: all of them behind a gateway, or
// for a model that only this variant has.
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

// calibrate does what a running layer does once its store is filled.
func (s *sweep) calibrate(ctx context.Context, l *middleware.Layer) error {
	for _, o := range s.corpus.order {
		if _, err := l.Calibrate(ctx, o.name); err != nil {
			return err
		}
	}
	return nil
}
