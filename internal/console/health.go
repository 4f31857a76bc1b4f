package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/breaker"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/console/chart"
	"github.com/kenlayer/ken/internal/console/facet"
	"github.com/kenlayer/ken/internal/console/ledger"
	"github.com/kenlayer/ken/internal/retriever/calibrate"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/bolt"
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
	Sessions  []labelledNumber
	Jobs      []labelledNumber
	Graph     *codegraph.Counts // nil where no code was read

	Work     middleware.Counts
	Began    time.Time
	Upstream string
	Warnings []string
}

// drawn is a picture, and the same figures as a table.
type drawn struct{ Picture, Table template.HTML }

// labelledNumber is a number with what it counts.
type labelledNumber struct {
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
			b.Sessions = append(b.Sessions, labelledNumber{string(st), n.Sessions[st]})
		}
		for _, st := range jobStates {
			b.Jobs = append(b.Jobs, labelledNumber{string(st), n.Jobs[st]})
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
func (w *lately) Counts() (out []labelledNumber) {
	for _, m := range modes {
		out = append(out, labelledNumber{string(m.mode), w.Whole.Modes[m.mode]})
	}
	return slices.DeleteFunc(out, func(n labelledNumber) bool { return n.Count == 0 })
}

// Tones of what the pages of health say, as the style sheet has them.
const (
	toneSuccess = "success"
	toneWarning = "warning"
	toneDanger  = "danger"
)

// searching is how a search runs now, and what it would take to run better.
type searching struct {
	Mode  ken.Mode
	Cause string // why that is less than hybrid; "" when it isn't

	Model    string // of the vectors; "" where there are none
	State    string // the embedder's, in a word
	Tone     string // of the state: success, danger or ""
	Waits    string // what the circuit waits for; "" while calls pass
	Embedded int    // records with a vector
	Total    int

	Calibration *calibrate.Calibration // nil when nothing was measured
	Verdict     string                 // of it, in a sentence
}

// searchesNow looks at the store and at the embedder, and asks neither.
func (v *visit) searchesNow(s store.Engine) searching {
	l := v.con.l
	cfg := l.Config()
	out := searching{Calibration: l.Calibration(s.Owner())}
	out.Mode, out.Cause = l.Recaller(s, middleware.RecallQuery{}).Mode()
	out.Embedded, out.Total = s.Coverage()
	if out.Mode != ken.ModeHybrid {
		_, off := l.RetrievalOf(s.Owner())
		out.Cause = cmp.Or(out.Cause, off)
	}
	e := l.Embedder()
	switch state := e.State(); {
	case e.Model() == embed.None().Model():
		out.State, out.Waits = "none", "There is no embedder: search is by words alone."
	case state == breaker.Closed:
		out.State, out.Tone, out.Model = "answers", toneSuccess, e.Model()
	default:
		out.Model, out.Waits = e.Model(), waits(state, cfg.Breaker.Open)
		out.State, out.Tone = "does not answer", toneDanger
		if out.Mode == ken.ModeHybrid {
			out.Mode, out.Cause = ken.ModeKeyword, e.Cause()
		}
	}
	out.Verdict = verdict(&cfg, out.Calibration, out.Model != "", out.Total)
	return out
}

// waits says what has to happen for an open circuit to close.
func waits(state breaker.State, every time.Duration) string {
	if state == breaker.HalfOpen {
		return "One word is being tried now. If it is answered, searches go by meaning again at once."
	}
	return fmt.Sprintf("No turn waits for it. One word is tried every %s; the first answer brings it back.", orDefault(every))
}

func orDefault(every time.Duration) time.Duration {
	if every <= 0 {
		return breaker.DefaultOpenFor
	}
	return every
}

// verdict says what a calibration found, or why there is none.
func verdict(cfg *config.Config, c *calibrate.Calibration, embeds bool, records int) string {
	switch {
	case !embeds:
		return ""
	case !cfg.Retrieval.Calibrate:
		return "It is not measured whether likeness helps: retrieval.calibrate is false."
	case c == nil && records < calibrate.MinRecords:
		return fmt.Sprintf("Whether likeness helps is measured once there are %d records with a vector.", calibrate.MinRecords)
	case c == nil:
		return "Whether likeness helps was not measured yet; it is, behind the turns."
	case c.Questions == 0:
		return "No questions can be made of these records, so likeness counts in full."
	case c.Harms():
		return "Words alone find more here: turns leave likeness out."
	case c.Factor < 1:
		return fmt.Sprintf("The embedder is weak here: its likeness counts %g of the usual.", c.Factor)
	case c.Gain.Low > 0 && c.Keyword.MRR > 0:
		return fmt.Sprintf("Words and likeness together find %.0f %% better than words alone.", 100*c.Gain.Mean/c.Keyword.MRR)
	}
	return "Likeness counts in full: it does no harm here."
}

// concern is something that a person should know or do, in a sentence.
type concern struct {
	Tone      string
	Says, Try string
	Since     any // a time in words; nil where it is not known
	Path      string
	Name      string // of what is at Path
}

// concerns are what needs a person, the worst first.
func (v *visit) concerns(b *healthBody) (out []concern) {
	now := &b.Search
	if now.Tone == toneDanger {
		c := concern{Tone: toneDanger, Says: "The embedder does not answer: " + v.con.l.Embedder().Cause(), Try: "ken doctor"}
		if t, _ := v.con.turns.Turns(v.owner(), time.Time{}, 1, ledger.Match{Mode: ken.ModeHybrid}); len(t) > 0 {
			c.Since = ago(b.Now, t[0].At)
		}
		out = append(out, c)
	}
	if n := b.dead(); n > 0 && v.operates() {
		out = append(out, concern{Tone: toneDanger, Says: plural(n, "job was given up on: its work is", "jobs were given up on: their work is") + " not done.", Path: pathOf("jobs"), Name: "Look at them"})
	}
	if n := b.Work.Lost; n > 0 {
		out = append(out, concern{Tone: toneWarning, Says: plural(int(n), "record of a turn was", "records of turns were") + " left out, because turns came faster than they could be written.",
			Try: "a faster disk for the folder of the stores"})
	}
	switch c := now.Calibration; {
	case now.Model != "" && now.Embedded == 0 && now.Total > 0:
		out = append(out, concern{Tone: toneWarning, Says: "Nothing has a vector of " + now.Model + " yet: search is by words alone.", Try: "ken index"})
	case now.Model != "" && now.Embedded < now.Total:
		out = append(out, concern{Tone: toneWarning, Says: plural(now.Total-now.Embedded, "record has", "records have") + " no vector yet: only words find them.", Try: "ken index"})
	case c != nil && c.Questions > 0 && c.Harms():
		out = append(out, concern{Tone: toneWarning, Says: "The embedder finds less here than words alone do, and is left out.", Try: "ken embed adapt"})
	}
	const tooLate = 0.05
	if w := b.Lately; w != nil && w.Whole.Share(ken.ModeLate) > tooLate {
		out = append(out, concern{Tone: toneWarning, Says: percent(w.Whole.Share(ken.ModeLate)) + " of these turns were late: the embedder's answer came after the turn's deadline.",
			Try: "a local embedder, or a longer retrieval.deadline"})
	}
	return out
}

// census is what takes a look at each session, job and file of an owner.
type census struct {
	Sessions map[session.State]int
	Jobs     map[jobs.State]int
	Files    []fileSize // of the owner's folder, by name
	Bytes    int64      // all of them
	Unread   []string   // what could not be looked at
}

// fileSize is a file, or a folder with all that is in it.
type fileSize struct {
	Name  string
	Bytes int64
}

// censusLasts is after how long a census is taken anew.
const censusLasts = 3 * time.Second

// census is the visitor's owner's; nil while the first one is being taken.
func (v *visit) census() *census {
	owner := v.owner()
	return v.con.health.censuses.get(v, owner, newerThan[census](v.con, censusLasts), func(ctx context.Context, _ *census) *census { return v.con.takeCensus(ctx, owner) })
}

// takeCensus counts. What can't be read is said, and counts as nothing.
func (c *Console) takeCensus(ctx context.Context, owner string) *census {
	out := &census{Sessions: map[session.State]int{}, Jobs: map[jobs.State]int{}}
	unread := func(err error) {
		if err != nil && ctx.Err() == nil {
			out.Unread = append(out.Unread, err.Error())
		}
	}
	infos, err := c.l.Journal(owner).List(ctx)
	unread(err)
	for i := range infos {
		out.Sessions[infos[i].State]++
	}
	list, err := c.l.Jobs(owner).List(ctx)
	unread(err)
	for i := range list {
		out.Jobs[list[i].State]++
	}
	cfg := c.l.Config()
	out.Files, out.Bytes, err = folderSizes(filepath.Join(cfg.State(c.l.Root()), bolt.FolderName(owner)))
	unread(err)
	return out
}

// folderSizes is what lies in a folder and how large it is, by name. A file that goes
// away meanwhile, as those of an index do, counts as nothing.
func folderSizes(dir string) (list []fileSize, total int64, err error) {
	at := map[string]int{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		name, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
		i, ok := at[name]
		if !ok {
			i = len(list)
			at[name], list = i, append(list, fileSize{Name: name})
		}
		list[i].Bytes += info.Size()
		total += info.Size()
		return nil
	})
	return list, total, err
}

// health is what its pages remember.
type health struct {
	censuses behind[string, census] // by owner
	lately   behind[latelyKey, lately]
	sweeps   sweepFiles
	weighed  behind[string, reportComparison] // by the files
}
