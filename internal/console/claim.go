package console

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/ledger"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// claimBody is a claim's page.
type claimBody struct {
	Row      row
	Claim    middleware.ClaimView
	Now      time.Time
	Why      string // it has its tier
	Evidence []piece
	History  []step
	Before   []row // what it replaced, the last first
	After    []row // what replaced it, the next first
	Shown    shownIn
	Steps    []ken.Status // where a person may move it
	Document bool
	Gone     bool // it was forgotten: the history is all there is
}

// piece is a piece of evidence, with where it leads.
type piece struct {
	provenance.Piece
	Path   string // of a page that shows what it points at; "" for none
	Link   string // to elsewhere: http and https alone; "" for none
	Worth  string
	Who    string // speaks through it
	Commit string
}

// step is an entry of a history.
type step struct {
	ken.ClaimEvent
	Says string
	Path string // of the other claim
}

// shownIn are the turns that were shown a claim.
type shownIn struct {
	Turns []ledger.Turn
	Total int
}

// mostChain bounds how far a chain of supersessions is followed in each direction, and
// mostShown how many turns are listed.
const (
	mostChain = 20
	mostShown = 8
)

func claimPage(v *visit) error {
	id := v.r.PathValue("id")
	b := claimBody{Now: v.now()}
	err := v.withStore(func(s store.Engine) error {
		c, err := v.view(v.ctx(), s, id)
		if errors.Is(err, ken.ErrNotFound) {
			return v.goneClaim(s, &b, id, err)
		}
		if err != nil {
			return err
		}
		b.Claim, b.Row, b.Document = c, rowOf(&c, b.Now), c.Kind == ken.KindDocument
		if err := v.evidence(&b); err != nil {
			return err
		}
		if b.Document {
			return nil
		}
		events, err := s.History(v.ctx(), c.ID)
		if err != nil {
			return err
		}
		b.History = steps(events)
		if b.Before, err = v.chain(v.ctx(), s, &c, func(c *ken.Claim) string { return c.Supersedes }); err != nil {
			return err
		}
		if b.After, err = v.chain(v.ctx(), s, &c, func(c *ken.Claim) string { return c.SupersededBy }); err != nil {
			return err
		}
		b.Steps = movesFrom(c.Status)
		return v.shownTo(&b)
	})
	if err != nil {
		return err
	}
	p := page{Title: "Claim", Section: secStore, Tab: "Claims", Live: []string{liveClaims, liveTurns}, Body: b}
	if b.Gone {
		p.Status, p.Live = http.StatusGone, nil // nothing happens to it any more
	}
	return v.page("claim", p)
}

// goneClaim shows what is left of a claim that was forgotten.
func (v *visit) goneClaim(s store.Engine, b *claimBody, id string, missing error) error {
	events, err := s.History(v.ctx(), id)
	if err != nil || len(events) == 0 {
		return missing
	}
	b.Gone, b.Row.ID, b.Claim.ID, b.History = true, id, id, steps(events)
	return nil
}

// evidence looks up what the claim rests on.
func (v *visit) evidence(b *claimBody) error {
	cfg := v.con.l.Config()
	one, err := provenance.One(&b.Claim.Claim, provenance.Options{Now: v.con.o.Now, DecayDays: cfg.Knowledge.DecayDays, Root: v.con.l.RootOf(v.owner())})
	if err != nil {
		return err
	}
	b.Why, b.Row.Tier = one.Why, one.Tier.String()
	for i := range one.Evidence {
		e := &b.Claim.Evidence[i]
		p := piece{Piece: one.Evidence[i], Worth: "words", Who: e.Speaker().String(), Commit: e.CommitSHA}
		switch {
		case e.Hard():
			p.Worth = "proof"
		case e.Backed():
			p.Worth = "backed"
		}
		p.Path, p.Link = leads(e)
		b.Evidence = append(b.Evidence, p)
	}
	return nil
}

// leads says where a piece of evidence can be looked at: a page of the console, or an
// address of the web. Only what is one becomes a link.
func leads(e *ken.Evidence) (path, link string) {
	switch {
	case e.Path != "":
		path = pathOf("files") + "?path=" + escapeQuery(e.Path)
	case e.SessionID != "":
		path = pathOf("sessions", e.SessionID)
		if e.MessageID != "" {
			path += "#m-" + escapeQuery(e.MessageID)
		}
	case (e.Kind == ken.EvidenceDecision || e.Kind == ken.EvidenceRepositoryMemory) && e.ID != "":
		path = pathOf("claims", e.ID)
	}
	if strings.HasPrefix(e.URL, "https://") || strings.HasPrefix(e.URL, "http://") {
		link = e.URL
	}
	return path, link
}

// steps words a history, the latest first.
func steps(events []ken.ClaimEvent) []step {
	out := make([]step, 0, len(events))
	for i := len(events) - 1; i >= 0; i-- {
		e := events[i]
		s := step{ClaimEvent: e, Says: strings.ReplaceAll(strings.TrimPrefix(string(e.Type), "claim."), "_", " ")}
		if e.From != "" && e.To != "" && e.From != e.To {
			s.Says = string(e.From) + " → " + string(e.To)
		}
		if e.Other != "" {
			s.Path = pathOf("claims", e.Other)
		}
		out = append(out, s)
	}
	return out
}

// chain follows supersessions from a claim on. A circle ends it, and so does a claim
// that was forgotten.
func (v *visit) chain(ctx context.Context, s store.Engine, from *middleware.ClaimView, next func(*ken.Claim) string) ([]row, error) {
	var out []row
	seen := map[string]bool{from.ID: true}
	at := from.Claim
	for id := next(&at); id != "" && !seen[id] && len(out) < mostChain; id = next(&at) {
		seen[id] = true
		c, err := v.view(ctx, s, id)
		if errors.Is(err, ken.ErrNotFound) {
			return append(out, row{ID: id, Text: "(forgotten)", Status: "forgotten"}), nil
		}
		if err != nil {
			return nil, err
		}
		out, at = append(out, rowOf(&c, v.now())), c.Claim
	}
	return out, nil
}

// shownTo finds the turns that were given the claim, as far as receipts are kept.
func (v *visit) shownTo(b *claimBody) error {
	if _, err := v.remember(); err != nil {
		return err
	}
	b.Shown.Turns, b.Shown.Total = v.con.turns.ShownIn(v.owner(), b.Claim.ID, mostShown)
	return nil
}

// movesFrom are the statuses that a claim may get from a person who gives a reason, the
// ones with a button of their own left out.
func movesFrom(from ken.Status) (out []ken.Status) {
	for _, to := range ken.Statuses() {
		if to != ken.StatusVerified && to != ken.StatusDisputed && to != ken.StatusSuperseded && to != from && ken.CheckTransition(from, to, "") == nil {
			out = append(out, to)
		}
	}
	return out
}
