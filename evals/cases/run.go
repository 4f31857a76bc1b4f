package cases

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
)

// Result is what came of a case.
type Result struct {
	Case     *Case
	Failures []Failure // none: the case is green
	Notes    []string  // what to know of the result besides
	Receipt  ken.Receipt
	Elapsed  time.Duration // wall clock
}

// OK reports a green case.
func (r *Result) OK() bool { return len(r.Failures) == 0 }

// Failure is an expectation that was not met.
type Failure struct {
	Check string   `json:"check"`         // the expectation's key, such as must_inject
	Want  string   `json:"want"`          // what was expected
	Have  []string `json:"have"`          // what was found instead, a line each; never empty
	Try   string   `json:"try,omitempty"` // what to do about it
}

// Run runs cases in their order and hands each result to each, which must not
// keep Result.Case's slices for changing. An error means that the cases could not
// be run, not that one is red: ErrHeld for a live store that another process has
// open, ErrInvalid for a configuration, an export or given claims that can't be
// used, and ctx's own.
func Run(ctx context.Context, list []Case, o Options, each func(Result)) (err error) {
	o, cfg, err := o.withDefaults()
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "ken-cases-")
	if err != nil {
		return fmt.Errorf("make a folder for the cases: %w", err)
	}
	r := &runner{o: o, cfg: cfg, tmp: tmp}
	defer func() { err = errors.Join(err, r.close()) }()
	r.owners = owners(list, cfg.Knowledge.Owner)
	if o.Root != "" {
		files := append(slices.Clone(o.Unseen), o.Export)
		for i := range list {
			files = append(files, list[i].File)
		}
		slices.Sort(files)
		r.cfg.Repository.Exclude = slices.Concat(cfg.Repository.Exclude, unseen(o.Root, slices.DeleteFunc(slices.Compact(files), func(f string) bool { return f == "" })))
	}
	for i := range list {
		res, err := r.run(ctx, &list[i])
		if err != nil {
			return err
		}
		each(res)
		o.Progress("cases", i+1, len(list))
	}
	return nil
}

// runner is the state of one Run. It belongs to one goroutine.
type runner struct {
	o      Options
	cfg    config.Config
	tmp    string   // the folder that holds all of the run's stores
	owners []string // who takes part

	base    string   // the prepared base; "" until it is needed, or where there is none
	lacking []string // why part of the base is not searchable
	current *fixture // what the last case ran on
	made    int      // fixtures
	turns   int      // assembled
}

// owners lists whose stores a run may touch.
func owners(list []Case, configured string) []string {
	out := []string{configured}
	for i := range list {
		out = append(out, list[i].Owner, list[i].Want.Stranger)
		for _, g := range list[i].Given {
			out = append(out, g.Claim.Owner)
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(s string) bool { return s == "" })
}

// owner fills in the configured one.
func (r *runner) owner(name string) string {
	if name == "" {
		return r.cfg.Knowledge.Owner
	}
	return name
}

func (r *runner) run(ctx context.Context, c *Case) (Result, error) {
	start := r.o.Now()
	f, err := r.fixture(ctx, c)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", c.where(), err)
	}
	res := Result{Case: c, Notes: slices.Clone(f.notes)}
	e := &examiner{r: r, f: f, c: c, res: &res, owner: r.owner(c.Owner)}
	if err := e.examine(ctx); err != nil {
		return Result{}, fmt.Errorf("%s: %w", c.where(), err)
	}
	res.Elapsed = r.o.Now().Sub(start)
	return res, nil
}

// where says where a case stands.
func (c *Case) where() string {
	return fmt.Sprintf("%s, line %d: %s", filepath.ToSlash(c.File), c.Line, c.Name)
}

func (r *runner) close() error {
	var err error
	if r.current != nil {
		err = r.current.layer.Close()
	}
	return errors.Join(err, os.RemoveAll(r.tmp))
}
