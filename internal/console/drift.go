package console

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/drift"
)

// driftBody is what files import, against what the layers permit.
type driftBody struct {
	Ours     bool
	Now      time.Time
	Busy     bool // it is being found anew
	Reading  reading
	Compared *driftFound // nil before the first time

	Faults   []problemPage // why nothing can be said
	Proposal string        // a manifest, where there is none
	Bare     bool          // there is none, and no code either
	Summary  string
	Warnings []string
	Layers   []layerRow
	Columns  []layerRow // of the matrix; nil for one that nobody could read
	Of       []choice   // the layers that what is new is narrowed to
	New      []driftGroup
	Pairs    int    // of layers, not among New
	Next     string // the page with more of what is new
	Known    []violation
	MoreOf   int // in the baseline, not shown
	Fixed    []drift.Entry
	Manifest string // page of the file
}

// layerRow is a layer, with what is against its rules.
type layerRow struct {
	drift.Layer
	Number         int // from 1
	Files, Imports int
	New, Known     int
	Every          bool // it may depend on every layer
	Cells          []layerCell
}

// layerCell says what one layer may have of another.
type layerCell struct {
	Self, May bool
	New       int
	To        string
	Path      string // of what is against it; "" for nothing
}

// driftGroup is what is new between two layers.
type driftGroup struct {
	ID, From, To string
	Violations   []violation // the first of them

	all []int // places in the report
}

// Total is how many there are.
func (g driftGroup) Total() int { return len(g.all) }

// violation is one with the pages that show it.
type violation struct {
	drift.Violation
	Path   string // of the file
	Import string // page of what is imported; "" for none
	Guess  bool
}

// Most layers that a matrix is drawn of, violations that are shown at once, and known
// ones.
const (
	mostMatrix     = 60
	violationsPage = 200
	mostKnown      = 200
)

func driftPage(v *visit) error {
	b := driftBody{Ours: v.ownsFiles(), Now: v.now(), Manifest: filePath(drift.DefaultManifest)}
	if b.Ours {
		_, so, err := v.code()
		if err != nil {
			return err
		}
		b.Reading = so
		b.Compared = v.compare()
		b.Busy = v.again
		if b.Compared != nil {
			v.tellDrift(&b)
		}
	}
	return v.page("drift", page{Title: "Drift", Section: secStructure, Tab: "Drift", Live: []string{liveProject, liveCode}, Body: b})
}

// tellDrift says what was found.
func (v *visit) tellDrift(b *driftBody) {
	c := b.Compared
	switch {
	case c.proposal != nil:
		b.Proposal, b.Bare = string(c.proposal), c.bare
		return
	case c.err != nil:
		b.Faults = complaints(c.err)
		return
	}
	b.Summary, b.Warnings, b.Fixed = c.report.Summary(), c.report.Warnings, c.report.Fixed
	v.tellNew(c, b)
	for i := range c.report.Known[:min(len(c.report.Known), mostKnown)] {
		b.Known = append(b.Known, v.violation(&c.report.Known[i]))
	}
	b.MoreOf = len(c.report.Known) - len(b.Known)
	b.layers(c)
}

// tellNew says what is new, pair by pair of layers: of those that the address names, as
// much as it asks for.
func (v *visit) tellNew(c *driftFound, b *driftBody) {
	show := v.number("show", violationsPage, 1, mostListed)
	groups := c.pairs
	for _, name := range []string{"from", "to"} {
		if layer, ok := v.r.URL.Query()[name]; ok {
			groups = slices.DeleteFunc(slices.Clone(groups), func(g driftGroup) bool {
				return name == "from" && g.From != layer[0] || name == "to" && g.To != layer[0]
			})
			b.Of = append(b.Of, choice{Name: name, Value: layer[0], Path: toggled(v.r.URL, name, layer[0])})
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
		b.Next = with(v.r.URL, "show", strconv.Itoa(v.number("show", violationsPage, 1, mostListed)+violationsPage))
	}
}

// complaints takes apart what is wrong with a manifest or a baseline: each line of it.
func complaints(err error) (out []problemPage) {
	var many interface{ Unwrap() []error }
	if !errors.As(err, &many) {
		return []problemPage{problemOf(err)}
	}
	for _, err := range many.Unwrap() {
		out = append(out, complaints(err)...)
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

// driftProposal is the manifest of the project as it is, as plain text.
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
	h := v.w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(c.proposal)))
	v.w.WriteHeader(http.StatusOK)
	_, _ = v.w.Write(c.proposal) // the visitor is gone, if it fails
	return nil
}
