package console

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/drift"
)

// driftFound is what was found, and when that was done.
type driftFound struct {
	At time.Time

	of       compares
	manifest *drift.Manifest
	report   drift.Report
	pairs    []driftGroup // of what is new
	proposal []byte       // where there is no manifest; nil otherwise
	bare     bool         // there is no source file to propose one for
	err      error        // why there is nothing of this
}

// compares is what a comparison goes by: the graph, and the two files.
type compares struct {
	version            uint64
	manifest, baseline string
}

// driftLasts is how long a result stands where nobody follows the files.
const driftLasts = time.Minute

// compares says what a comparison would go by now.
func (c *Console) compares() compares {
	return compares{version: c.l.Codebase().View().Version(), manifest: c.stampOf(drift.DefaultManifest), baseline: c.stampOf(drift.DefaultBaseline)}
}

// stampOf changes when a file of the project does; "" for none.
func (c *Console) stampOf(file string) string {
	info, err := os.Lstat(filepath.Join(c.l.Root(), filepath.FromSlash(file)))
	if err != nil {
		return ""
	}
	return strconv.FormatInt(info.Size(), 36) + " " + strconv.FormatInt(info.ModTime().UnixNano(), 36)
}

// compare returns what comparing the project's imports with its layers found last, nil for
// nothing yet. A large project takes longer than a page may.
func (v *visit) compare() *driftFound {
	c := v.con
	follows, now := c.l.Config().Graph.Watch, c.compares()
	return c.drift.get(v, struct{}{}, func(last *driftFound, _ time.Time) bool {
		return last.of == now && (follows || c.o.Now().Sub(last.At) < driftLasts)
	}, func(context.Context, *driftFound) *driftFound { return c.look(follows) })
}

// look compares. Files that nobody follows are looked at first. It returns nil when the
// console ends meanwhile.
func (c *Console) look(followed bool) *driftFound {
	base, err := c.l.ReadCode(c.stop)
	if err == nil && !followed {
		_, err = base.Build(c.stop)
	}
	out := &driftFound{of: c.compares(), err: err}
	if err == nil {
		out.find(c)
	}
	if c.stop.Err() != nil {
		return nil
	}
	out.At = c.o.Now()
	return out
}

// find reads what says how it should be, and compares the graph with that.
func (f *driftFound) find(c *Console) {
	view := c.l.Codebase().View()
	f.of.version = view.Version()
	f.manifest, f.err = drift.Read(c.l.Root(), drift.DefaultManifest)
	if errors.Is(f.err, ken.ErrNotFound) {
		f.proposal, f.bare, f.err = drift.Propose(view), view.Counts().Files == 0, nil
		return
	}
	known, err := drift.ReadBaseline(c.l.Root(), drift.DefaultBaseline)
	if err != nil && !errors.Is(err, ken.ErrNotFound) {
		f.err = errors.Join(f.err, err)
	}
	if f.err == nil {
		f.report = drift.Check(view, f.manifest, drift.Options{Baseline: known})
		f.pairs = pairsOf(f.report.Violations)
	}
}

// Known is what the baseline has of what was found.
func (f *driftFound) Known() []drift.Violation { return f.report.Known }
