package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/breaker"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/console/chart"
	"github.com/kenlayer/ken/internal/console/facet"
	"github.com/kenlayer/ken/internal/console/ledger"
	"github.com/kenlayer/ken/internal/middleware/engines"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/retriever/calibrate"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// healthCache holds the cached values of the health pages.
type healthCache struct {
	stats         backgroundCache[string, ownerStats] // by owner
	recent        backgroundCache[recentTurnsKey, recentTurns]
	sweeps        reportFiles
	sweepFindings backgroundCache[string, sweepFindings] // by files
}

// healthBody holds the data of the health page: problems, the state of search,
// recent turns, and sizes.
type healthBody struct {
	Now      time.Time
	Concerns []concern
	Faults   []store.Fault
	Search   searchStatus

	Ranges   []choice
	From, To string       // the period of the turns; "" for none
	Recent   *recentTurns // nil while the turns are read for the first time
	Modes    *drawing
	Latency  *drawing
	Stages   *drawing
	Chars    *drawing
	Cached   *drawing

	Claims    int
	Documents int
	Events    uint64
	Kinds     template.HTML
	Statuses  template.HTML
	Counting  *facet.Progress
	Uncounted bool        // a claim can't be read: it is among Faults
	Stats     *ownerStats // nil while it is computed for the first time
	Sessions  []namedCount
	Jobs      []namedCount
	Graph     *codegraph.Counts // nil if no code was read

	Work     inspect.Counts
	Began    time.Time
	Upstream string
	Warnings []string
}

type namedCount struct {
	Name  string
	Count int
}

// dead returns the number of dead jobs; 0 while unknown.
func (b *healthBody) dead() int {
	if b.Stats == nil {
		return 0
	}
	return b.Stats.Jobs[jobs.Dead]
}

func healthPage(v *visit) error {
	l := v.con.layer
	b := healthBody{Now: v.now(), Work: l.Operator().Counts(), Began: v.con.started, Upstream: upstreamShown(v.con.opts.Upstream)}
	if err := v.healthTurns(&b); err != nil {
		return err
	}
	b.Stats = v.ownerStats()
	err := v.withStore(func(s store.Engine) (err error) {
		b.Search = v.searchStatus(s)
		b.Events = s.Seq()
		err = v.healthClaims(s, &b)
		if b.Uncounted = errors.Is(err, ken.ErrCorrupt); err != nil && !b.Uncounted {
			return err
		}
		b.Faults, err = s.Faults(v.ctx())
		return err
	})
	if err != nil {
		return err
	}
	if code := l.Operator().Codebase(); code != nil {
		if n := code.View().Counts(); n.Nodes > 0 {
			b.Graph = &n
		}
	}
	if n := b.Stats; n != nil {
		b.Warnings = append(b.Warnings, n.Unread...)
		for _, st := range []session.State{session.Open, session.Ended, session.Harvested, session.Failed} {
			b.Sessions = append(b.Sessions, namedCount{string(st), n.Sessions[st]})
		}
		for _, st := range jobStates {
			b.Jobs = append(b.Jobs, namedCount{string(st), n.Jobs[st]})
		}
	}
	if b.Recent != nil {
		b.Warnings = append(b.Warnings, b.Recent.Unread...)
		b.draw()
	}
	b.Concerns = v.concerns(&b)
	return v.page("health", page{Title: "Health", Section: secHealth, Tab: "Now and lately", Live: []string{liveTurns, liveClaims}, Body: b})
}

// healthTurns sums the turns of the period in the address.
func (v *visit) healthTurns(b *healthBody) error {
	q := v.r.URL.Query()
	b.From, b.To = q.Get("from"), q.Get("to")
	from, err := momentOf("from", b.From)
	to, err2 := momentOf("to", b.To)
	if err := cmp.Or(err, err2); err != nil {
		return err
	}
	b.From, b.To = fieldMoment(b.From), fieldMoment(b.To)
	now := timeRangeNamed(q.Get("range"))
	if between := b.From != "" || b.To != ""; between {
		now = timeRange{}
		b.Recent, err = v.turnsBetween(from, to)
	} else {
		b.Recent = v.recentTurns(now)
	}
	for _, s := range timeRanges {
		b.Ranges = append(b.Ranges, choice{Name: s.Title, Path: Prefix + "health?range=" + s.Name, Here: s.Name == now.Name})
	}
	return err
}

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
	b.Statuses = chart.Stack(statusParts(valuesOf(p.Facets, facet.Status)))
	b.Kinds = chart.Bars(chart.BarsData{Title: "Claims by kind", Unit: "claims", Bars: mapped(valuesOf(p.Facets, facet.Kind), func(x *facet.Value) chart.Bar {
		return chart.Bar{Label: x.Value, Value: float64(x.Count), Href: Prefix + "claims?kind=" + escapeQuery(x.Value)}
	})})
	return nil
}

// draw draws the charts of recent turns.
func (b *healthBody) draw() {
	w := b.Recent
	if w.Whole.Turns == 0 {
		return
	}
	b.Modes = draw(modeShares("How retrieval ran", w.Series), chart.Shares)
	b.Latency, b.Stages, b.Chars = draw(w.latencies(), chart.Lines), draw(w.stages(), chart.Lines), draw(w.chars(), chart.Lines)
	if w.Whole.CachedBytes+w.Whole.NewBytes > 0 {
		b.Cached = draw(w.cached(), chart.Shares)
	}
}

// upstreamShown returns an address without parts that may be secret.
func upstreamShown(base string) string {
	u, err := url.Parse(base)
	if err != nil || base == "" {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// Hybrid returns the share of turns with hybrid search among those with a query; 0
// if there are none.
func (w *recentTurns) Hybrid() float64 {
	asking := w.Whole.Turns - w.Whole.Modes[ken.ModeNone]
	if asking == 0 {
		return 0
	}
	return float64(w.Whole.Modes[ken.ModeHybrid]) / float64(asking)
}

// Counts returns the number of turns by mode.
func (w *recentTurns) Counts() (out []namedCount) {
	for _, m := range retrievalModes {
		out = append(out, namedCount{string(m.mode), w.Whole.Modes[m.mode]})
	}
	return slices.DeleteFunc(out, func(n namedCount) bool { return n.Count == 0 })
}

// The tones of a state, as in the style sheet.
const (
	toneNeutral = "neutral"
	toneInfo    = "info"
	toneSuccess = "success"
	toneWarning = "warning"
	toneDanger  = "danger"
)

// searchStatus describes how search runs now, and how to improve it.
type searchStatus struct {
	Mode  ken.Mode
	Cause string // why the mode is less than hybrid; "" if it is hybrid

	Model    string // the model of the vectors; "" without vectors
	State    string // state of the embedder
	Tone     string // tone of the state: success, danger or ""
	Waits    string // when the circuit closes again; "" if it is closed
	Embedded int    // records with a vector
	Total    int

	Calibration *calibrate.Calibration // nil if nothing was measured
	Verdict     string                 // describes the calibration in a sentence
}

// searchStatus reads the state of the store and the embedder, and calls neither for
// a search.
func (v *visit) searchStatus(s store.Engine) searchStatus {
	l := v.con.layer
	cfg := l.Config()
	out := searchStatus{Calibration: l.Operator().Calibration(s.Owner())}
	out.Mode, out.Cause = l.Operator().Recaller(s, middleware.RecallQuery{}).Mode()
	out.Embedded, out.Total = s.Coverage()
	if out.Mode != ken.ModeHybrid {
		_, off := l.Operator().RetrievalOf(s.Owner())
		out.Cause = cmp.Or(out.Cause, off)
	}
	e := l.Operator().Embedder()
	switch state := e.State(); {
	case e.Model() == embed.None().Model():
		out.State, out.Waits = "none", "There is no embedder: only keyword search."
	case state == breaker.Closed:
		out.State, out.Tone, out.Model = "answers", toneSuccess, e.Model()
	default:
		out.Model, out.Waits = e.Model(), breakerWait(state, cfg.Breaker.Open)
		out.State, out.Tone = "does not answer", toneDanger
		if out.Mode == ken.ModeHybrid {
			out.Mode, out.Cause = ken.ModeKeyword, e.Cause()
		}
	}
	out.Verdict = calibrationText(&cfg, out.Calibration, out.Model != "", out.Total)
	return out
}

// breakerWait says when an open circuit closes again.
func breakerWait(state breaker.State, every time.Duration) string {
	if state == breaker.HalfOpen {
		return "A test request is running. If it succeeds, vector search is used again at once."
	}
	return fmt.Sprintf("No turn waits for it. A test request is sent every %s; after the first success it is used again.", orDefault(every))
}

func orDefault(every time.Duration) time.Duration {
	if every <= 0 {
		return breaker.DefaultOpenFor
	}
	return every
}

// calibrationText describes the result of a calibration, or why there is none.
func calibrationText(cfg *config.Config, c *calibrate.Calibration, embeds bool, records int) string {
	switch {
	case !embeds:
		return ""
	case !cfg.Retrieval.Calibrate:
		return "Whether vector search helps is not measured: retrieval.calibrate is false."
	case c == nil && records < calibrate.MinRecords:
		return fmt.Sprintf("Whether vector search helps is measured once there are %d records with a vector.", calibrate.MinRecords)
	case c == nil:
		return "Whether vector search helps is being measured in the background."
	case c.Questions == 0:
		return "No questions can be made of these records, so vector search has its full weight."
	case c.Harms():
		return "Keyword search alone finds more here: turns do not use vector search."
	case c.Factor < 1:
		return fmt.Sprintf("The embedder is weak here: its similarity has the weight %g.", c.Factor)
	case c.Gain.Low > 0 && c.Keyword.MRR > 0:
		return fmt.Sprintf("Hybrid search finds %.0f %% more than keyword search alone.", 100*c.Gain.Mean/c.Keyword.MRR)
	}
	return "Vector search has its full weight: it does no harm here."
}

// concern is a problem that a user should know about or fix, in a sentence.
type concern struct {
	Tone      string
	Says, Try string
	Since     any // a relative time; nil if unknown
	Path      string
	Name      string // text of the link to Path
}

// faultConcerns are the concerns for the faults of a store. They name no file.
var faultConcerns = map[store.FaultName]concern{
	store.FaultDamaged:  {Tone: toneDanger, Says: "Something in the store can't be read.", Try: "ken check"},
	store.FaultReadOnly: {Tone: toneDanger, Says: "The folder of the store can't be written, so nothing new is kept.", Try: "ken doctor, which names the folder"},
	store.FaultDisk:     {Tone: toneDanger, Says: "The last write to the store failed, because the disk is full or fails.", Try: "ken doctor, which names the folder"},
	store.FaultIndex:    {Tone: toneWarning, Says: "The keyword index lags behind, so new claims are found later.", Try: "ken doctor"},
}

// concerns returns the problems, the worst first.
func (v *visit) concerns(b *healthBody) (out []concern) {
	for _, f := range b.Faults {
		out = append(out, faultConcerns[f.Name])
	}
	now := &b.Search
	if now.Tone == toneDanger {
		c := concern{Tone: toneDanger, Says: "The embedder does not answer: " + v.con.layer.Operator().Embedder().Cause(), Try: "ken doctor"}
		if t, _ := v.con.turns.Turns(v.owner(), time.Time{}, 1, ledger.Match{Mode: ken.ModeHybrid}); len(t) > 0 {
			c.Since = ago(b.Now, t[0].At)
		}
		out = append(out, c)
	}
	if n := b.dead(); n > 0 && v.canOperate() {
		out = append(out, concern{Tone: toneDanger, Says: plural(n, "job was given up on: its work is", "jobs were given up on: their work is") + " not done.", Path: pathOf("jobs"), Name: "Look at them"})
	}
	if n := b.Work.Lost; n > 0 {
		out = append(out, concern{Tone: toneWarning, Says: plural(int(n), "record of a turn was", "records of turns were") + " left out, because the store could not be written, or not fast enough.",
			Try: "room on the disk of the store, or a faster one"})
	}
	switch c := now.Calibration; {
	case now.Model != "" && now.Embedded == 0 && now.Total > 0:
		out = append(out, concern{Tone: toneWarning, Says: "Nothing has a vector of " + now.Model + " yet: only keyword search.", Try: "ken index"})
	case now.Model != "" && now.Embedded < now.Total:
		out = append(out, concern{Tone: toneWarning, Says: plural(now.Total-now.Embedded, "record has", "records have") + " no vector yet: only keyword search finds them.", Try: "ken index"})
	case c != nil && c.Questions > 0 && c.Harms():
		out = append(out, concern{Tone: toneWarning, Says: "The embedder finds less here than keyword search alone, and is not used.", Try: "ken embed adapt"})
	}
	const tooLate = 0.05
	if w := b.Recent; w != nil && w.Whole.Share(ken.ModeLate) > tooLate {
		out = append(out, concern{Tone: toneWarning, Says: percent(w.Whole.Share(ken.ModeLate)) + " of these turns were late: the embedder's answer came after the turn's deadline.",
			Try: "a local embedder, or a longer retrieval.deadline"})
	}
	return out
}

const engineTimeout = 5 * time.Second

// nodesBody holds the nodes and owners of the engine of store.url, as ken doctor
// prints them.
type nodesBody struct {
	Health string
	Nodes  []nodeRow
	Owners []nodeOwner
	Idle   int // owners that no node has open
	More   int // owners not listed
}

type nodeRow struct {
	ID, Address, Version string
	Owners               int
}

type nodeOwner struct {
	engines.OwnerFacts
	Behind uint64 // log positions after the snapshot; an owner has at most as many records there
	Gone   bool   // its node has left
}

// errNodes is the error for a visitor who may not see the page, which names every
// owner.
var errNodes = &ken.Error{Code: ken.CodeRefused, Msg: "the nodes are shown to an operator of the configured owner", Try: "Ask who runs the gateway, or use ken doctor where it runs."}

// seesNodes reports whether nodes are in use and the visitor may see them.
func (v *visit) seesNodes() bool {
	cfg := v.con.layer.Config()
	return cfg.Store.URL != "" && v.canOperate() && v.owner() == cfg.Knowledge.Owner
}

// nodesPage shows the nodes that share the engine of store.url. Without an engine
// the page does not exist.
func nodesPage(v *visit) error {
	store := v.con.layer.Config().Store
	switch {
	case store.URL == "":
		return errNoPage
	case !v.seesNodes():
		return errNodes
	}
	p := page{Title: "Nodes", Section: secHealth, Tab: "Nodes"}
	return v.pageWithSlowPart("nodes", p, map[string]any{}, func() (string, any, error) {
		ctx, cancel := context.WithTimeout(v.ctx(), engineTimeout)
		defer cancel()
		facts, err := engines.Look(ctx, store)
		if err != nil {
			return "", nil, err
		}
		return "engine", nodesOf(&facts), nil
	})
}

func nodesOf(f *engines.Facts) *nodesBody {
	b := &nodesBody{Health: f.Health, More: f.More}
	serves := map[string]int{}
	lives := map[string]bool{}
	for _, n := range f.Nodes {
		lives[n.ID] = true
	}
	for _, o := range f.Owners {
		serves[o.Node]++
		b.Owners = append(b.Owners, nodeOwner{OwnerFacts: o, Behind: o.Last - min(o.Snapshot, o.Last), Gone: o.Node != "" && !lives[o.Node]})
	}
	b.Idle = serves[""]
	for _, n := range f.Nodes {
		b.Nodes = append(b.Nodes, nodeRow{n.ID, n.Address, n.Version, serves[n.ID]})
	}
	slices.SortFunc(b.Nodes, func(x, y nodeRow) int { return cmp.Compare(x.ID, y.ID) })
	return b
}
