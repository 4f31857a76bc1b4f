package console

import (
	"html/template"
	"net/url"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/console/chart"
	"github.com/kenlayer/ken/internal/console/facet"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// healthBody is how Ken does: what needs a person, how a search runs, how turns went
// lately, and how large everything is.
type healthBody struct {
	Now      time.Time
	Concerns []concern
	Search   searching

	Stretches []choice
	Lately    *lately // nil while the turns are read for the first time
	Modes     drawn
	Latency   drawn
	Stages    drawn
	Chars     drawn
	Cached    drawn

	Claims    int
	Documents int
	Events    uint64
	Kinds     template.HTML
	Statuses  template.HTML
	Counting  *facet.Progress
	Census    *census // nil while it is taken for the first time
	Sessions  []named
	Jobs      []named
	Graph     *codegraph.Counts // nil where no code was read

	Work     middleware.Counts
	Began    time.Time
	Upstream string
	Warnings []string
}

// drawn is a picture, and the same figures as a table.
type drawn struct{ Picture, Table template.HTML }

// named is a number with what it counts.
type named struct {
	Name  string
	Count int
}

// dead is how many jobs were given up on; 0 as long as nobody knows.
func (b *healthBody) dead() int {
	if b.Census == nil {
		return 0
	}
	return b.Census.Jobs[jobs.Dead]
}

func healthPage(v *visit) error {
	l := v.con.l
	b := healthBody{Now: v.now(), Work: l.Counts(), Began: v.con.began, Upstream: upstreamShown(v.con.o.Upstream)}
	b.Lately = v.lately(stretchOf(v.text("range")))
	b.Census = v.census()
	err := v.withStore(func(s store.Engine) error {
		b.Search = v.searchesNow(s)
		b.Events = s.Seq()
		return v.healthClaims(s, &b)
	})
	if err != nil {
		return err
	}
	if code := l.Codebase(); code != nil {
		if n := code.View().Counts(); n.Nodes > 0 {
			b.Graph = &n
		}
	}
	if n := b.Census; n != nil {
		b.Warnings = append(b.Warnings, n.Unread...)
		for _, st := range []session.State{session.Open, session.Ended, session.Harvested, session.Failed} {
			b.Sessions = append(b.Sessions, named{string(st), n.Sessions[st]})
		}
		for _, st := range jobStates {
			b.Jobs = append(b.Jobs, named{string(st), n.Jobs[st]})
		}
	}
	if b.Lately != nil {
		b.Warnings = append(b.Warnings, b.Lately.Unread...)
		b.draw()
	}
	now := stretchOf(v.text("range"))
	for _, s := range stretches {
		b.Stretches = append(b.Stretches, choice{Name: s.Title, Path: Prefix + "health?range=" + s.Name, Here: s.Name == now.Name})
	}
	b.Concerns = v.concerns(&b)
	return v.page("health", page{Title: "Health", Section: secHealth, Tab: "Now and lately", Live: []string{liveTurns, liveClaims}, Body: b})
}

// healthClaims counts what is known.
func (v *visit) healthClaims(s store.Engine, b *healthBody) error {
	progress, err := v.con.claims.Catch(v.ctx(), s)
	if err != nil {
		return err
	}
	if !progress.Ready {
		b.Counting = &progress
		return nil
	}
	p, err := v.con.claims.Select(s.Owner(), facet.Selection{Limit: 1})
	if err != nil {
		return err
	}
	b.Claims, b.Documents = p.Total, max(s.Len()-p.Total, 0)
	for _, f := range p.Facets {
		switch f.Name {
		case facet.Status:
			b.Statuses = chart.Stack(statusParts(f.Values))
		case facet.Kind:
			d := chart.BarsData{Title: "Claims by kind", Unit: "claims"}
			for _, x := range f.Values {
				d.Bars = append(d.Bars, chart.Bar{Label: x.Value, Value: float64(x.Count), Href: Prefix + "claims?kind=" + url.QueryEscape(x.Value)})
			}
			b.Kinds = chart.Bars(d)
		}
	}
	return nil
}

// draw makes the pictures of what happened lately.
func (b *healthBody) draw() {
	w := b.Lately
	if w.Whole.Turns == 0 {
		return
	}
	d := modeShares("How retrieval ran", w.Series)
	b.Modes = drawn{chart.Shares(d), d.Table()}
	for into, d := range map[*drawn]chart.LinesData{&b.Latency: w.latencies(), &b.Stages: w.stages(), &b.Chars: w.chars()} {
		*into = drawn{chart.Lines(d), d.Table()}
	}
	if w.Whole.CachedBytes+w.Whole.NewBytes > 0 {
		d := w.cached()
		b.Cached = drawn{chart.Shares(d), d.Table()}
	}
}

// upstreamShown is an address without what may be a secret in it.
func upstreamShown(base string) string {
	u, err := url.Parse(base)
	if err != nil || base == "" {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// Hybrid is the part of the turns that search by words and by meaning, among those
// that ask for something; 0 where none does.
func (w *lately) Hybrid() float64 {
	asking := w.Whole.Turns - w.Whole.Modes[ken.ModeNone]
	if asking == 0 {
		return 0
	}
	return float64(w.Whole.Modes[ken.ModeHybrid]) / float64(asking)
}

// Counts is how many turns ran in each mode.
func (w *lately) Counts() (out []named) {
	for _, m := range modes {
		out = append(out, named{string(m.mode), w.Whole.Modes[m.mode]})
	}
	return slices.DeleteFunc(out, func(n named) bool { return n.Count == 0 })
}
