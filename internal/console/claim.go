package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/ledger"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

type claimBody struct {
	Row      row
	Claim    inspect.Claim
	Now      time.Time
	Why      string // the reason for its tier
	Evidence []evidenceView
	History  []historyEntry
	Before   []row // claims that it replaced, latest first
	After    []row // claims that replaced it, earliest first
	Shown    turnsWithClaim
	Steps    []ken.Status // statuses that a user may set
	Whole    string       // the text for correcting; "" if it is too long for a field
	Stays    string       // what a correction leaves as it is: verified, a rule; "" for nothing
	Document bool
	Gone     bool // it was forgotten; only the history is left
}

type evidenceView struct {
	provenance.Piece
	Path   string // the console's page of what it refers to; "" for none
	Link   string // external link, http or https only; "" for none
	Worth  string
	Who    string // who made the statement
	Commit string
}

type historyEntry struct {
	ken.ClaimEvent
	Says string
	Path string // page of the other claim
}

type turnsWithClaim struct {
	Turns []ledger.Turn
	Total int
}

// maxChain is the length to which a chain of supersessions is followed in each direction, and
// maxShown how many turns are listed.
const (
	maxChain = 20
	maxShown = 8
)

func claimPage(v *visit) error {
	id := v.r.PathValue("id")
	b := claimBody{Now: v.now()}
	err := v.withStore(func(s store.Engine) error {
		c, err := v.readClaim(v.ctx(), s, id)
		if errors.Is(err, ken.ErrNotFound) {
			return v.showForgotten(s, &b, id, err)
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
		b.History = historyEntries(events)
		if b.Stays = staysCorrected(&c.Claim); len(c.Text) <= maxText {
			b.Whole = c.Text
		}
		if b.Before, err = v.supersessions(v.ctx(), s, &c, func(c *ken.Claim) string { return c.Supersedes }); err != nil {
			return err
		}
		if b.After, err = v.supersessions(v.ctx(), s, &c, func(c *ken.Claim) string { return c.SupersededBy }); err != nil {
			return err
		}
		b.Steps = manualStatuses(c.Status)
		return v.findTurns(&b)
	})
	if err != nil {
		return err
	}
	p := page{Title: "Claim", Section: secStore, Tab: "Claims", Live: []string{liveClaims, liveTurns}, Body: b}
	if b.Gone {
		p.Status, p.Live = http.StatusGone, nil // no live updates for a forgotten claim
	}
	return v.page("claim", p)
}

// showForgotten shows the history of a claim that was forgotten.
func (v *visit) showForgotten(s store.Engine, b *claimBody, id string, missing error) error {
	events, err := s.History(v.ctx(), id)
	if err != nil || len(events) == 0 {
		return missing
	}
	b.Gone, b.Row.ID, b.Claim.ID, b.History = true, id, id, historyEntries(events)
	return nil
}

func (v *visit) evidence(b *claimBody) error {
	cfg := v.con.layer.Config()
	one, err := provenance.One(&b.Claim.Claim, provenance.Options{Now: v.con.opts.Now, DecayDays: cfg.Knowledge.DecayDays, Root: v.con.layer.Operator().RootOf(v.owner())})
	if err != nil {
		return err
	}
	b.Why, b.Row.Tier = one.Why, one.Tier.String()
	for i := range one.Evidence {
		e := &b.Claim.Evidence[i]
		p := evidenceView{Piece: one.Evidence[i], Worth: "words", Who: e.Speaker().String(), Commit: e.CommitSHA}
		switch {
		case e.Hard():
			p.Worth = "proof"
		case e.Backed():
			p.Worth = "backed"
		}
		p.Path, p.Link = evidenceLinks(e)
		b.Evidence = append(b.Evidence, p)
	}
	return nil
}

// evidenceLinks returns where a piece of evidence can be seen: a page of the console, or a
// web address. Other references give no link.
func evidenceLinks(e *ken.Evidence) (path, link string) {
	switch {
	case e.Path != "":
		path = filePath(e.Path)
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

// historyEntries converts a history for display, latest first.
func historyEntries(events []ken.ClaimEvent) []historyEntry {
	out := make([]historyEntry, 0, len(events))
	for i := len(events) - 1; i >= 0; i-- {
		e := events[i]
		s := historyEntry{ClaimEvent: e, Says: strings.ReplaceAll(strings.TrimPrefix(string(e.Type), "claim."), "_", " ")}
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

// supersessions follows supersessions from a claim. It stops at a cycle and at a forgotten
// claim.
func (v *visit) supersessions(ctx context.Context, s store.Engine, from *inspect.Claim, next func(*ken.Claim) string) ([]row, error) {
	var out []row
	seen := map[string]bool{from.ID: true}
	at := from.Claim
	for id := next(&at); id != "" && !seen[id] && len(out) < maxChain; id = next(&at) {
		seen[id] = true
		c, err := v.readClaim(ctx, s, id)
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

// findTurns finds the turns that received the claim, as far as receipts are stored.
func (v *visit) findTurns(b *claimBody) error {
	if _, err := v.catchUpTurns(); err != nil {
		return err
	}
	b.Shown.Turns, b.Shown.Total = v.con.turns.ShownIn(v.owner(), b.Claim.ID, maxShown)
	return nil
}

// manualStatuses returns the statuses that a user may set with a reason, without those that
// have a button of their own.
func manualStatuses(from ken.Status) (out []ken.Status) {
	for _, to := range ken.Statuses() {
		if to != ken.StatusVerified && to != ken.StatusDisputed && to != ken.StatusSuperseded && to != from && ken.CheckTransition(from, to, "") == nil {
			out = append(out, to)
		}
	}
	return out
}

// claimText serves the whole text of a claim as plain text.
func claimText(v *visit) error {
	return v.withStore(func(s store.Engine) error {
		c, err := s.Get(v.ctx(), v.r.PathValue("id"))
		if err != nil {
			return err
		}
		return v.plainText(c.Text)
	})
}

// claimAction returns a handler that changes the claim of the path and redirects to its page,
// or to the page of the form.
func claimAction(did string, do func(v *visit, d *operator.Desk, id string) error) func(*visit) error {
	return func(v *visit) error {
		id := v.r.PathValue("id")
		return v.orGone(id, v.change(v.returnPath(pathOf("claims", id)), did, func(d *operator.Desk) error { return do(v, d, id) }))
	}
}

// orGone leads from an error about a claim that was forgotten to its page, which says who did it.
// It returns other errors.
func (v *visit) orGone(id string, err error) error {
	if !errors.Is(err, ken.ErrNotFound) {
		return err
	}
	return v.withStore(func(s store.Engine) error {
		if events, failed := s.History(v.ctx(), id); failed != nil || len(events) == 0 {
			return err
		}
		return v.redirect(pathOf("claims", id))
	})
}

func verifyClaim(v *visit, d *operator.Desk, id string) error {
	return d.Vouch(v.ctx(), id, strings.TrimSpace(v.param("note")))
}

func disputeClaim(v *visit, d *operator.Desk, id string) error {
	return d.Dispute(v.ctx(), id, strings.TrimSpace(v.param("reason")))
}

// refileClaim turns a claim into a rule, or into a fact.
func refileClaim(v *visit, d *operator.Desk, id string) error {
	rule := v.param("rule") == "true"
	_, _, err := d.Refile(v.ctx(), id, nil, &rule)
	return err
}

func archiveClaim(v *visit, d *operator.Desk, id string) error {
	return d.Archive(v.ctx(), id, strings.TrimSpace(v.param("reason")))
}

// staysCorrected describes what a claim with another text in place of this one is, too; "" for
// nothing that needs a reason.
func staysCorrected(c *ken.Claim) string {
	var parts []string
	if c.Constraint {
		parts = append(parts, "a rule")
	}
	if c.Status == ken.StatusVerified {
		parts = append(parts, "verified")
	}
	return strings.Join(parts, " and ")
}

// supersedeClaim replaces a claim: by an existing one with a given id, or by a new one with a
// given text. The form starts with the old text, which does not count as a new one. Replacing a rule, or what a
// person has verified, needs a reason.
func supersedeClaim(v *visit) error {
	id, text := v.r.PathValue("id"), v.formText("text")
	by, reason := strings.TrimSpace(v.param("by")), strings.TrimSpace(v.param("reason"))
	return v.withStore(func(s store.Engine) error {
		old, err := operator.Living(v.ctx(), s, id)
		if err != nil {
			return v.orGone(id, err)
		}
		if by != "" && text == strings.TrimSpace(old.Text) {
			text = ""
		}
		if was := staysCorrected(&old); was != "" && reason == "" && (by != "") != (text != "") {
			return &ken.Error{Code: ken.CodeInvalid, Field: "reason", Msg: "empty: the claim is " + was + ", and is not replaced without a reason",
				Try: "Say what has changed, or how you know it."}
		}
		switch d := v.desk(s); {
		case by != "" && text != "":
			return &ken.Error{Code: ken.CodeInvalid, Field: "by", Msg: "both a new text and another claim are given", Try: "Give one of the two."}
		case by != "":
			by = by[strings.LastIndexByte(by, '/')+1:] // the address of its page is accepted too
			if err := d.Supersede(v.ctx(), id, by, reason); err != nil {
				return err
			}
			return v.redirectDone(pathOf("claims", id), "superseded")
		case text == "":
			return &ken.Error{Code: ken.CodeInvalid, Field: "text", Msg: "neither a new text nor another claim is given", Try: "Write what is true instead, or name the claim that says it."}
		default:
			now, err := d.Replace(v.ctx(), id, text, reason)
			if err != nil {
				return err
			}
			return v.redirectDone(pathOf("claims", now), "replaced")
		}
	})
}

// writeBody holds the form of a new claim with its values.
type writeBody struct {
	Kinds    []ken.Kind
	Statuses []ken.Status
	Problem  *errorPage // why it was not written; nil before the first try
	Form     url.Values // what was typed
}

func newClaimPage(v *visit) error { return v.writeForm(nil) }

// writeForm shows the form of a new claim. After a first try, it has what was typed.
func (v *visit) writeForm(problem *errorPage) error {
	p := page{Title: "Write a claim", Section: secStore, Tab: "Claims", Body: writeBody{
		Kinds:    []ken.Kind{ken.KindFact, ken.KindHot, ken.KindPattern, ken.KindPlaybook, ken.KindFinding},
		Statuses: []ken.Status{ken.StatusObserved, ken.StatusVerified, ken.StatusHypothesis}, Problem: problem, Form: v.r.PostForm}}
	if problem != nil {
		p.Status = problem.Status
	}
	return v.page("write", p)
}

func writeClaim(v *visit) error {
	err := v.writeClaim()
	if err == nil {
		return nil
	}
	p := errorPageOf(err)
	if p.Status >= http.StatusInternalServerError {
		return err
	}
	return v.writeForm(&p)
}

// writeClaim writes a claim on the visitor's word. If the form names a file or an address,
// that becomes evidence too.
func (v *visit) writeClaim() error {
	now := v.now().UTC()
	c, err := ken.NewClaim(v.formText("text"), ken.FromHumanAssertion(v.principal.Name, now, strings.TrimSpace(v.param("note"))))
	if err != nil {
		return err
	}
	if path := strings.TrimSpace(v.param("file")); path != "" {
		e, err := v.fileEvidence(path)
		if err != nil {
			return err
		}
		c.Evidence = append(c.Evidence, e)
	}
	if address := strings.TrimSpace(v.param("url")); address != "" {
		e, err := provenance.Page("url", address, now)
		if err != nil {
			return err
		}
		c.Evidence = append(c.Evidence, e)
	}
	c.Kind, c.Status, c.Heading = ken.Kind(v.param("kind")), ken.Status(v.param("status")), strings.TrimSpace(v.param("heading"))
	c.Tags, c.Entities, c.Constraint = commas(v.param("tags")), commas(v.param("entities")), v.param("constraint") != ""
	c.SourceType, c.Actor, c.Project, c.Importance = "console", v.actor(), v.principal.Project, 0.5
	if s := strings.TrimSpace(v.param("scope")); s != "" {
		if c.Scope, err = ken.ParseScope(s); err != nil {
			return err
		}
	}
	if s := strings.TrimSpace(v.param("days")); s != "" {
		days, err := strconv.Atoi(s)
		if err != nil || days < 1 || days > 36500 {
			return &ken.Error{Code: ken.CodeInvalid, Field: "days", Msg: "not a number of days from 1 to 36500", Try: "Leave it empty for a claim that does not expire."}
		}
		c.ExpiresAt = now.Add(time.Duration(days) * 24 * time.Hour)
	}
	if c.Kind == ken.KindDocument || c.Kind.Structural() {
		return &ken.Error{Code: ken.CodeRefused, Field: "kind", Msg: "a claim of kind " + string(c.Kind) + " is not written by hand",
			Try: "Documents are files of the project; what things are and depend on is changed on their pages."}
	}
	return v.withStore(func(s store.Engine) error {
		c.Owner = s.Owner()
		id, err := operator.Repeat(v.ctx(), s, c, now) // such as a form that was sent twice
		if err != nil {
			return err
		}
		if id != "" {
			return v.redirectDone(pathOf("claims", id), "known")
		}
		if id, _, err = v.desk(s).Learn(v.ctx(), c); err != nil {
			return err
		}
		done := "written"
		if kept, err := s.Get(v.ctx(), id); err == nil && kept.Text != c.Text {
			done = "cleaned"
		}
		return v.redirectDone(pathOf("claims", id), done)
	})
}

func commas(s string) []string {
	parts := mapped(strings.Split(s, ","), func(p *string) string { return strings.TrimSpace(*p) })
	return slices.DeleteFunc(parts, func(p string) bool { return p == "" })
}

// forgetPreview lists what forgetting a claim, or what a session taught, would delete.
type forgetPreview struct {
	inspect.Blast
	Rows                   []forgetPreviewRow
	ID                     string // of the claim or the session
	Session                bool
	More                   int // claims not listed
	KeptRows, ReplacedRows []row
}

type forgetPreviewRow struct {
	row
	Why string
}

// maxPreviewClaims is how many claims the preview lists. The total counts all.
const maxPreviewClaims = 100

// forgetPage shows what forgetting a claim would delete, and asks for confirmation. For that
// it reads every claim and every journal.
func forgetPage(v *visit) error {
	id := v.r.PathValue("id")
	var c inspect.Claim
	err := v.withStore(func(s store.Engine) error {
		found, err := operator.Living(v.ctx(), s, id)
		c = v.con.layer.Operator().View(found)
		return err
	})
	if err != nil {
		return v.orGone(id, err)
	}
	p := page{Title: "Forget a claim", Section: secStore, Tab: "Claims"}
	return v.pageWithSlowPart("forget", p, map[string]any{"Row": rowOf(&c, v.now())}, func() (string, any, error) {
		blast, err := v.con.layer.Operator().WouldForget(v.ctx(), v.owner(), c.ID)
		if err != nil {
			return "", nil, err
		}
		return "blast", v.previewOf(blast, forgetPreview{ID: c.ID}), nil
	})
}

func (v *visit) previewOf(blast inspect.Blast, b forgetPreview) forgetPreview {
	toRow := func(c *inspect.Claim) row { return rowOf(c, v.now()) }
	b.Blast, b.More = blast, max(len(blast.Claims)-maxPreviewClaims, 0)
	b.Rows = mapped(blast.Claims[:len(blast.Claims)-b.More], func(c *inspect.BlastClaim) forgetPreviewRow { return forgetPreviewRow{toRow(&c.Claim), c.Why} })
	b.KeptRows, b.ReplacedRows = mapped(blast.Kept, toRow), mapped(blast.Replaced, toRow)
	return b
}

// deletionReport lists what was deleted, and the result of the search for remains.
type deletionReport struct {
	middleware.Forgotten
	Checks []inspect.Check
	Clean  bool
	Failed string // why the search failed
}

// forgetClaim forgets a claim and shows what was deleted with it.
func forgetClaim(v *visit) error {
	id, reason := v.r.PathValue("id"), strings.TrimSpace(v.param("reason"))
	err := v.withStore(func(s store.Engine) error {
		_, err := operator.Living(v.ctx(), s, id) // return the error before the page begins
		return err
	})
	if err != nil {
		return v.orGone(id, err)
	}
	return v.pageWithSlowPart("forgotten", page{Title: "Forgotten", Section: secStore, Tab: "Claims"}, map[string]any{}, func() (string, any, error) {
		was, err := v.con.layer.Operator().WouldForget(v.ctx(), v.owner(), id)
		if err != nil {
			return "", nil, err
		}
		b := deletionReport{Clean: true}
		err = v.withStore(func(s store.Engine) (err error) {
			b.Forgotten, err = v.desk(s).Forget(v.ctx(), id, reason)
			return err
		})
		v.con.turns.Drop(v.owner()) // receipts were deleted
		if err != nil {
			return "", nil, err
		}
		claims := mapped(was.Claims, func(c *inspect.BlastClaim) ken.Claim { return c.Claim.Claim })
		b.Checks, err = v.con.layer.Operator().CheckForgotten(v.ctx(), v.owner(), claims, b.Forgotten)
		if err != nil {
			b.Clean, b.Failed = false, err.Error()
		}
		for _, c := range b.Checks {
			b.Clean = b.Clean && c.Clean
		}
		return "erased", b, nil
	})
}
