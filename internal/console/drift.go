package console

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/drift"
)

// driftBody holds the data of the page that compares imports with the permitted layers.
type driftBody struct {
	Ours     bool
	Now      time.Time
	Busy     bool // it is being computed again
	Reading  codeProgress
	Compared *driftResult // nil before the first result

	Faults    []errorPage // why there is no result
	Proposal  string      // a proposed manifest, if there is none
	NoCode    bool        // there is neither a manifest nor code
	Summary   string
	Warnings  []string
	Layers    []layerRow
	Columns   []layerRow // columns of the matrix; nil if it would be too large
	Of        []choice   // the layers to which the new violations are filtered
	New       []driftGroup
	Pairs     int    // layer pairs left out of New
	Next      string // the page with more new violations
	Known     []violation
	KnownMore int // baseline violations not shown
	Fixed     []drift.Entry
	Manifest  string // the page of the manifest
}

type layerRow struct {
	drift.Layer
	Number         int // from 1
	Files, Imports int
	New, Known     int
	Every          bool // it may depend on every layer
	Cells          []layerCell
}

// layerCell says whether one layer may depend on another.
type layerCell struct {
	Self, May bool
	New       int
	To        string
	Path      string // link to the violations; "" for none
}

// driftGroup holds the new violations between two layers.
type driftGroup struct {
	ID, From, To string
	Violations   []violation // the first ones

	all []int // indices in the report
}

// Total returns the number of violations.
func (g driftGroup) Total() int { return len(g.all) }

type violation struct {
	drift.Violation
	Path   string // page of the file
	Import string // page of the imported package; "" for none
	Guess  bool
}

// Limits: layers of a matrix, new violations shown at once, and known violations.
const (
	maxMatrix      = 60
	violationsPage = 200
	maxKnown       = 200
)

func driftPage(v *visit) error {
	b := driftBody{Ours: v.ownsFiles(), Now: v.now(), Manifest: filePath(drift.DefaultManifest)}
	if b.Ours {
		_, reading, err := v.code()
		if err != nil {
			return err
		}
		b.Reading = reading
		b.Compared = v.compare()
		b.Busy = v.refresh
		if b.Compared != nil {
			v.fillDrift(&b)
		}
	}
	return v.page("drift", page{Title: "Drift", Section: secStructure, Tab: "Drift", Live: []string{liveProject, liveCode}, Body: b})
}

func (v *visit) fillDrift(b *driftBody) {
	c := b.Compared
	switch {
	case c.proposal != nil:
		b.Proposal, b.NoCode = string(c.proposal), c.noCode
		return
	case c.err != nil:
		b.Faults = errorPages(c.err)
		return
	}
	b.Summary, b.Warnings, b.Fixed = c.report.Summary(), c.report.Warnings, c.report.Fixed
	v.fillNewViolations(c, b)
	b.Known = mapped(c.report.Known[:min(len(c.report.Known), maxKnown)], v.violation)
	b.KnownMore = len(c.report.Known) - len(b.Known)
	b.layers(c)
}

// fillNewViolations sets the new violations by pair of layers: those that the address selects, up
// to its limit.
func (v *visit) fillNewViolations(c *driftResult, b *driftBody) {
	show := v.intParam("show", violationsPage, 1, maxListed)
	groups := c.pairs
	for _, name := range []string{"from", "to"} {
		if layer, ok := v.r.URL.Query()[name]; ok {
			groups = slices.DeleteFunc(slices.Clone(groups), func(g driftGroup) bool {
				return name == "from" && g.From != layer[0] || name == "to" && g.To != layer[0]
			})
			b.Of = append(b.Of, choice{Name: name, Value: layer[0], Path: toggleParam(v.r.URL, name, layer[0])})
		}
	}
	for _, g := range groups {
		if show <= 0 {
			b.Pairs++
			continue
		}
		for i := range g.all[:min(len(g.all), show)] {
			g.Violations = append(g.Violations, v.violation(&c.report.Violations[g.all[i]]))
		}
		g.ID = "against-" + strconv.Itoa(len(b.New)+1)
		b.New, show = append(b.New, g), show-len(g.all)
	}
	if show < 0 || b.Pairs > 0 {
		b.Next = withParam(v.r.URL, "show", strconv.Itoa(v.intParam("show", violationsPage, 1, maxListed)+violationsPage))
	}
}

// errorPages splits the errors of a manifest or a baseline, one per line.
func errorPages(err error) (out []errorPage) {
	many, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	if !ok {
		return []errorPage{errorPageOf(err)}
	}
	for _, err := range many.Unwrap() {
		out = append(out, errorPages(err)...)
	}
	return out
}

func (v *visit) violation(x *drift.Violation) violation {
	out := violation{Violation: *x, Path: filePath(x.File), Guess: x.How == codegraph.Guess}
	if x.Import != "" {
		out.Import = symbolPath(x.Import, 1)
	}
	return out
}

// driftProposal serves the proposed manifest of the project as plain text.
func driftProposal(v *visit) error {
	if _, _, err := v.code(); err != nil {
		return err
	}
	c := v.compare()
	switch {
	case c == nil:
		return &ken.Error{Code: ken.CodeUnavailable, Msg: "the project is still being read", Try: "Ask again in a moment."}
	case c.proposal == nil:
		return &ken.Error{Code: ken.CodeNotFound, Msg: "there is an architecture file already, and nothing is proposed", Try: "Look at " + drift.DefaultManifest + "."}
	}
	return v.plainText(string(c.proposal))
}

type driftResult struct {
	At time.Time

	of       driftInputs
	manifest *drift.Manifest
	report   drift.Report
	pairs    []driftGroup // of the new violations
	proposal []byte       // the proposed manifest if there is none; nil otherwise
	noCode   bool         // there is no source file for a proposal
	err      error        // why there is no result
}

// driftInputs identifies what a comparison depends on: the graph and two files.
type driftInputs struct {
	version            uint64
	manifest, baseline string
}

// driftMaxAge is how long a result is valid when files are not watched.
const driftMaxAge = time.Minute

func (c *Console) driftInputs() driftInputs {
	return driftInputs{version: c.layer.Operator().Codebase().View().Version(), manifest: c.fileStamp(drift.DefaultManifest), baseline: c.fileStamp(drift.DefaultBaseline)}
}

// fileStamp returns a value that changes when a file of the project does; "" if there is no such
// file.
func (c *Console) fileStamp(file string) string {
	info, err := os.Lstat(filepath.Join(c.layer.Root(), filepath.FromSlash(file)))
	if err != nil {
		return ""
	}
	return strconv.FormatInt(info.Size(), 36) + " " + strconv.FormatInt(info.ModTime().UnixNano(), 36)
}

// compare returns the latest comparison of the project's imports with its layers, or nil if there
// is none yet. It is computed in the background, because a large project takes longer than a page
// may.
func (v *visit) compare() *driftResult {
	c := v.con
	follows, now := c.layer.Config().Graph.Watch, c.driftInputs()
	return c.drift.get(v, struct{}{}, func(last *driftResult, _ time.Time) bool {
		return last.of == now && (follows || c.opts.Now().Sub(last.At) < driftMaxAge)
	}, func(context.Context, *driftResult) *driftResult { return c.compareDrift(follows) })
}

// compareDrift compares imports and layers. If followed is false, it updates the code first. It
// returns nil if the console ends meanwhile.
func (c *Console) compareDrift(followed bool) *driftResult {
	base, err := c.layer.Operator().ReadCode(c.stop)
	if err == nil && !followed {
		_, err = base.Build(c.stop)
	}
	out := &driftResult{of: c.driftInputs(), err: err}
	if err == nil {
		out.compare(c)
	}
	if c.stop.Err() != nil {
		return nil
	}
	out.At = c.opts.Now()
	return out
}

// compare reads the manifest and the baseline, and compares the graph with them.
func (f *driftResult) compare(c *Console) {
	view := c.layer.Operator().Codebase().View()
	f.of.version = view.Version()
	f.manifest, f.err = drift.Read(c.layer.Root(), drift.DefaultManifest)
	if errors.Is(f.err, ken.ErrNotFound) {
		f.proposal, f.noCode, f.err = drift.Propose(view), view.Counts().Files == 0, nil
		return
	}
	known, err := drift.ReadBaseline(c.layer.Root(), drift.DefaultBaseline)
	if err != nil && !errors.Is(err, ken.ErrNotFound) {
		f.err = errors.Join(f.err, err)
	}
	if f.err == nil {
		f.report = drift.Check(view, f.manifest, drift.Options{Baseline: known})
		f.pairs = pairsOf(f.report.Violations)
	}
}

// Known returns the violations that the baseline has.
func (f *driftResult) Known() []drift.Violation { return f.report.Known }

// pairsOf groups violations by pair of layers, the largest group first.
func pairsOf(list []drift.Violation) []driftGroup {
	var out []driftGroup
	at := map[[2]string]int{}
	for i := range list {
		k := [2]string{list[i].Layer, list[i].ImportLayer}
		g, ok := at[k]
		if !ok {
			g, at[k] = len(out), len(out)
			out = append(out, driftGroup{From: k[0], To: k[1]})
		}
		out[g].all = append(out[g].all, i)
	}
	slices.SortFunc(out, func(a, b driftGroup) int {
		return cmp.Or(cmp.Compare(b.Total(), a.Total()), strings.Compare(a.From, b.From), strings.Compare(a.To, b.To))
	})
	return out
}

// layers lists the layers in the manifest's order, each with its violations and the layers that
// it may depend on. It builds a matrix only if that is small enough to read.
func (b *driftBody) layers(c *driftResult) {
	added, known := map[[2]string]int{}, map[[2]string]int{}
	for _, g := range c.pairs {
		added[[2]string{g.From, g.To}] = g.Total()
	}
	for i := range c.report.Known {
		known[[2]string{c.report.Known[i].Layer, c.report.Known[i].ImportLayer}]++
	}
	for i, l := range c.manifest.Layers {
		row := layerRow{Layer: l, Number: i + 1, Files: c.report.Layers[i].Files, Imports: c.report.Layers[i].Imports, Every: slices.Contains(l.MayDependOn, drift.Everything)}
		for _, to := range c.manifest.Layers {
			k := [2]string{l.Name, to.Name}
			row.New += added[k]
			row.Known += known[k]
			cell := layerCell{Self: l.Name == to.Name, May: c.manifest.Permits(l.Name, to.Name), New: added[k], To: to.Name}
			if cell.New > 0 {
				cell.Path = pathOf("drift") + "?from=" + escapeQuery(l.Name) + "&to=" + escapeQuery(to.Name)
			}
			row.Cells = append(row.Cells, cell)
		}
		b.Layers = append(b.Layers, row)
	}
	if len(b.Layers) <= maxMatrix {
		b.Columns = b.Layers
	}
}
