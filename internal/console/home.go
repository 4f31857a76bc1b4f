package console

import (
	"html/template"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/console/chart"
	"github.com/kenlayer/ken/internal/console/facet"
	"github.com/kenlayer/ken/internal/console/ledger"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// homeBody is the overview: what waits for the visitor, what agents were told lately,
// what was learned, and whether all is well.
type homeBody struct {
	Now       time.Time
	Claims    int
	Documents int
	Statuses  template.HTML // claims by status
	Counting  *facet.Progress

	Waiting []attention.Item
	Review  int

	Mode   ken.Mode
	Cause  string
	Turns  []ledger.Turn // nil where the visitor may not see them
	Day    int           // turns of the last 24 hours
	Hybrid float64       // the part of them that ran hybrid
	P50    float64
	Modes  template.HTML

	Learned []row
}

const (
	homeWaiting = 5
	homeTurns   = 6
	homeClaims  = 6
)

func home(v *visit) error {
	b := homeBody{Now: v.now(), Review: v.con.tally(v).Review}
	err := v.withStore(func(s store.Engine) error {
		b.Mode, b.Cause = v.con.l.Recaller(s, middleware.RecallQuery{}).Mode()
		if err := v.homeClaims(s, &b); err != nil {
			return err
		}
		b.Waiting = open(v.con.tally(v).queue)
		b.Waiting = b.Waiting[:min(len(b.Waiting), homeWaiting)]
		return v.homeTurns(&b)
	})
	if err != nil {
		return err
	}
	return v.page("home", page{Title: "Overview", Section: secHome, Live: []string{liveClaims, liveTurns, liveAttention}, Body: b})
}

// homeClaims counts what is known, and lists what was learned last.
func (v *visit) homeClaims(s store.Engine, b *homeBody) error {
	progress, err := v.con.claims.Catch(v.ctx(), s)
	if err != nil {
		return err
	}
	if !progress.Ready {
		b.Counting, v.again = &progress, true
		return nil
	}
	p, err := v.con.claims.Select(s.Owner(), facet.Selection{Limit: homeClaims})
	if err != nil {
		return err
	}
	b.Claims, b.Documents = p.Total, max(s.Len()-p.Total, 0)
	for _, f := range p.Facets {
		if f.Name == facet.Status {
			b.Statuses = chart.Stack(statusParts(f.Values))
		}
	}
	b.Learned, err = v.rows(s, p.IDs)
	return err
}

// homeTurns is what agents were told in the last day.
func (v *visit) homeTurns(b *homeBody) error {
	if _, err := v.remember(); err != nil {
		return err
	}
	if v.who.Can(access.Operate) {
		b.Turns, _ = v.con.turns.Turns(v.owner(), time.Time{}, homeTurns, ledger.Match{})
	}
	const hours = 24
	series := v.con.turns.Series(v.owner(), b.Now.Add(-hours*time.Hour), b.Now, hours)
	for _, x := range v.con.turns.Series(v.owner(), b.Now.Add(-hours*time.Hour), b.Now, 1) {
		b.Day, b.Hybrid, b.P50 = x.Turns, x.Share(ken.ModeHybrid), x.P50
	}
	if b.Day > 0 {
		b.Modes = chart.Shares(modeShares("How retrieval ran in the last 24 hours", series))
	}
	return nil
}
