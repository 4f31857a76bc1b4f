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
	"github.com/kenlayer/ken/internal/console/facet"
	"github.com/kenlayer/ken/internal/console/ledger"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// mostFound is how many results of a search are looked at: who does not find it among
// these asks another question.
const mostFound = 200

// mostDocuments is how many pieces of the repository a search shows beside the claims.
const mostDocuments = 6

// claimsPerPage is how many claims a list shows at once.
const claimsPerPage = 40

// claimsBody is the list of claims: all of them, or what a search found.
type claimsBody struct {
	Question  string
	Rows      []row
	Total     int
	Most      bool // there may be more: the search looks at no more than mostFound
	Next      string
	Chosen    []choice // what narrows the list, each with the way out
	Kept      []keptField
	Facets    []facetView
	Counting  *facet.Progress // the facets are being counted for the first time
	Orders    []choice
	Mode      ken.Mode
	Cause     string
	Documents []row
}

// choice is something that can be chosen, and where that leads.
type choice struct {
	Name, Value, Path string
	Here              bool
}

// facetView is what claims have of one property, each value a way to narrow the list.
type facetView struct {
	Name, Title string
	Values      []facetValue
	More        int
	MorePath    string
	Open        bool // shown unfolded
}

type facetValue struct {
	Label, Path string
	Count       int
	Here        bool
}

// keptField is a field of the address that stays when the question changes.
type keptField struct{ Name, Value string }

// shownFacets are the facets in the order of the page, with what people call them.
// Those that say something of nearly every list are unfolded.
var shownFacets = []struct {
	name, title string
	open        bool
}{
	{facet.Kind, "Kind", true}, {facet.Status, "Status", true}, {facet.Tier, "Tier", true}, {facet.Trust, "Who speaks", true},
	{facet.Entity, "About", true}, {facet.Tag, "Tag", false}, {facet.Scope, "Scope", false}, {facet.Source, "Source", false},
	{facet.Session, "Session", false}, {facet.Agent, "Written by", false}, {facet.File, "Rests on file", false}, {facet.Project, "Project", false},
	{facet.Constraint, "Rule", false}, {facet.Expired, "Expired", false}, {facet.Archived, "Put away", false},
}

func claimsPage(v *visit) error {
	b := claimsBody{Question: strings.TrimSpace(v.text("q"))}
	q := v.r.URL.Query()
	sel := selection(q)
	err := v.withStore(func(s store.Engine) error {
		progress, err := v.con.claims.Catch(v.ctx(), s)
		switch {
		case err != nil:
			return err
		case !progress.Ready:
			b.Counting, v.again = &progress, true
		}
		if b.Question != "" {
			return v.searchClaims(s, &b, sel)
		}
		return v.listClaims(s, &b, sel)
	})
	if err != nil {
		return err
	}
	b.Chosen = chosen(q)
	for _, f := range shownFacets {
		for _, value := range q[f.name] {
			b.Kept = append(b.Kept, keptField{f.name, value})
		}
	}
	if b.Question == "" {
		b.Orders = orders(q)
	}
	return v.page("claims", page{Title: "Claims", Section: secStore, Tab: "Claims", Live: []string{liveClaims}, Body: b})
}

// selection is what the address asks for.
func selection(q url.Values) facet.Selection {
	return facet.Selection{Kinds: q[facet.Kind], Statuses: q[facet.Status], Tiers: q[facet.Tier], Trusts: q[facet.Trust], Scopes: q[facet.Scope],
		Entities: q[facet.Entity], Tags: q[facet.Tag], Sources: q[facet.Source], Sessions: q[facet.Session], Projects: q[facet.Project],
		Agents: q[facet.Agent], Files: q[facet.File], Constraint: want(q, facet.Constraint), Archived: want(q, facet.Archived),
		Expired: want(q, facet.Expired), Order: facet.Order(q.Get("order")), Before: q.Get("before"), Limit: claimsPerPage}
}

// want reads a facet of two values: both chosen, and none, is either.
func want(q url.Values, name string) facet.Want {
	yes, no := slices.Contains(q[name], "yes"), slices.Contains(q[name], "no")
	switch {
	case yes && !no:
		return facet.Only
	case no && !yes:
		return facet.Without
	}
	return facet.Any
}

// listClaims shows the claims that the facets select. While they are counted for the
// first time, the newest claims are there without.
func (v *visit) listClaims(s store.Engine, b *claimsBody, sel facet.Selection) error {
	if b.Counting != nil {
		res, err := s.Newest(v.ctx(), &ken.Filter{Statuses: ken.Statuses(), ClaimsOnly: true}, claimsPerPage)
		if err != nil {
			return err
		}
		ids := make([]string, 0, len(res.Hits))
		for _, h := range res.Hits {
			if r, ok := s.Row(h.Ref); ok {
				ids = append(ids, r.ID)
			}
		}
		b.Rows, err = v.rows(s, ids)
		return err
	}
	p, err := v.con.claims.Select(s.Owner(), sel)
	if err != nil {
		return err
	}
	b.Total, b.Facets = p.Total, v.facets(p.Facets, s.Owner())
	if p.Next != "" {
		b.Next = with(v.r.URL, "before", p.Next)
	}
	b.Rows, err = v.rows(s, p.IDs)
	return err
}

// searchClaims shows what bears on a question, as ken recall finds it, whatever its
// status.
func (v *visit) searchClaims(s store.Engine, b *claimsBody, sel facet.Selection) error {
	found, err := v.con.l.Recall(v.ctx(), middleware.RecallQuery{Owner: s.Owner(), Own: true, Question: b.Question, Limit: mostFound,
		Filter: ken.Filter{Statuses: ken.Statuses(), MinTrust: ken.TrustExternal}})
	if err != nil {
		return err
	}
	b.Mode, b.Cause, b.Most = found.Mode, found.Cause, len(found.Claims) >= mostFound
	ids := make([]string, 0, len(found.Claims))
	by := make(map[string]*middleware.ClaimView, len(found.Claims))
	for i := range found.Claims {
		c := &found.Claims[i].ClaimView
		if c.Kind == ken.KindDocument {
			if len(b.Documents) < mostDocuments {
				b.Documents = append(b.Documents, rowOf(c, v.now()))
			}
			continue
		}
		ids, by[c.ID] = append(ids, c.ID), c
	}
	if b.Counting == nil {
		b.Facets = v.facets(v.con.claims.Count(s.Owner(), ids, sel), s.Owner())
		if ids, err = v.con.claims.Filter(s.Owner(), ids, sel); err != nil {
			return err
		}
	}
	b.Total = len(ids)
	for _, id := range ids[:min(len(ids), v.number("show", claimsPerPage, 1, mostFound))] {
		b.Rows = append(b.Rows, rowOf(by[id], v.now()))
	}
	if len(b.Rows) < len(ids) {
		b.Next = with(v.r.URL, "show", "200")
	}
	return nil
}

// rows reads claims for a list. One that was forgotten meanwhile is left out.
func (v *visit) rows(s store.Engine, ids []string) ([]row, error) {
	out := make([]row, 0, len(ids))
	for _, id := range ids {
		c, err := v.view(v.ctx(), s, id)
		if errors.Is(err, ken.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, rowOf(&c, v.now()))
	}
	return out, nil
}

// view reads a claim with what is computed from its evidence.
func (v *visit) view(ctx context.Context, s store.Engine, id string) (middleware.ClaimView, error) {
	c, err := s.Get(ctx, id)
	return v.con.l.View(c), err
}

// facets makes ways to narrow the list of counts. The one that the address names in
// more is shown at length.
func (v *visit) facets(counted []facet.Facet, owner string) []facetView {
	q := v.r.URL.Query()
	var out []facetView
	for _, f := range shownFacets {
		i := slices.IndexFunc(counted, func(c facet.Facet) bool { return c.Name == f.name })
		if i < 0 || len(counted[i].Values) == 0 {
			continue
		}
		c := counted[i]
		values := c.Values
		view := facetView{Name: f.name, Title: f.title, More: c.More, Open: f.open || len(q[f.name]) > 0 || q.Get("more") == f.name}
		if q.Get("more") == f.name {
			const long = 300
			if all, err := v.con.claims.Values(owner, f.name, "", long); err == nil {
				values, view.More = all, max(c.More+len(values)-len(all), 0)
			}
		} else if c.More > 0 {
			view.MorePath = with(v.r.URL, "more", f.name)
		}
		for _, x := range values {
			view.Values = append(view.Values, facetValue{Label: labelOf(f.name, x.Value), Count: x.Count, Here: slices.Contains(q[f.name], x.Value),
				Path: toggled(v.r.URL, f.name, x.Value)})
		}
		out = append(out, view)
	}
	return out
}

// labelOf is what people read for a value.
func labelOf(name, value string) string {
	if value == "" {
		return "none"
	}
	if name == facet.File {
		const most = 40
		if r := []rune(value); len(r) > most {
			return "…" + string(r[len(r)-most:])
		}
	}
	return value
}

// chosen is what the address narrows the list by.
func chosen(q url.Values) (out []choice) {
	for _, f := range shownFacets {
		for _, value := range q[f.name] {
			out = append(out, choice{Name: f.title, Value: labelOf(f.name, value), Path: toggled(&url.URL{Path: Prefix + "claims", RawQuery: q.Encode()}, f.name, value)})
		}
	}
	return out
}

// orders are the ways to sort the list.
func orders(q url.Values) (out []choice) {
	names := map[facet.Order]string{facet.Newest: "newest", facet.Updated: "last changed", facet.Reinforced: "most often seen", facet.Confidence: "surest"}
	now := facet.Order(q.Get("order"))
	if now == "" {
		now = facet.Newest
	}
	for _, o := range facet.Orders() {
		out = append(out, choice{Name: names[o], Here: o == now, Path: with(&url.URL{Path: Prefix + "claims", RawQuery: q.Encode()}, "order", string(o))})
	}
	return out
}

// with is an address with a value set, from the first page on.
func with(u *url.URL, name, value string) string {
	q := u.Query()
	for _, gone := range []string{"before", "show", "did"} {
		q.Del(gone)
	}
	q.Set(name, value)
	return (&url.URL{Path: u.Path, RawQuery: q.Encode()}).String()
}

// toggled is an address with a value of a facet added, or taken out.
func toggled(u *url.URL, name, value string) string {
	q := u.Query()
	for _, gone := range []string{"before", "show", "did", "more"} {
		q.Del(gone)
	}
	if i := slices.Index(q[name], value); i >= 0 {
		q[name] = slices.Delete(slices.Clone(q[name]), i, i+1)
	} else {
		q.Add(name, value)
	}
	return (&url.URL{Path: u.Path, RawQuery: q.Encode()}).String()
}

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
	Shown    shownTurns
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

// shownTurns are the turns that were shown a claim.
type shownTurns struct {
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

// filesBody lists the files that claims rest on.
type filesBody struct {
	Question string
	Files    []facetValue
}

// fileBody is which claims rest on a file: the lens of an artifact.
type fileBody struct {
	Now    time.Time
	Path   string
	View   provenance.View
	Claims []fileClaim
	Stale  int // claims on this page that rest on what the file does not say any more
	Old    bool
	Next   string
}

type fileClaim struct {
	provenance.Claim
	Tone  string
	Moved bool // the file has changed under it
}

const (
	mostFiles     = 200
	claimsOfAFile = 50
)

func filesPage(v *visit) error {
	if path := strings.TrimSpace(v.text("path")); path != "" {
		return v.filePage(path)
	}
	b := filesBody{Question: strings.TrimSpace(v.text("q"))}
	err := v.withStore(func(s store.Engine) error {
		if p, err := v.con.claims.Catch(v.ctx(), s); err != nil || !p.Ready {
			return err
		}
		values, err := v.con.claims.Values(s.Owner(), facet.File, b.Question, mostFiles)
		for _, x := range values {
			b.Files = append(b.Files, facetValue{Label: x.Value, Count: x.Count, Path: pathOf("files") + "?path=" + escapeQuery(x.Value)})
		}
		return err
	})
	if err != nil {
		return err
	}
	return v.page("files", page{Title: "Files", Section: secStore, Tab: "Files", Live: []string{liveClaims}, Body: b})
}

func (v *visit) filePage(path string) error {
	b := fileBody{Now: v.now(), Path: path, Old: v.text("old") != ""}
	from := v.number("from", 0, 0, 1<<30)
	err := v.withStore(func(s store.Engine) (err error) {
		b.View, err = provenance.Of(v.ctx(), s, provenance.Query{Target: path, Expired: b.Old, Superseded: b.Old, Offset: from, Limit: claimsOfAFile},
			provenance.Options{Now: v.con.o.Now, DecayDays: v.con.l.Config().Knowledge.DecayDays, Root: v.con.l.RootOf(v.owner())})
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range b.View.Claims {
		f := fileClaim{Claim: c}
		for _, p := range c.Evidence {
			f.Moved = f.Moved || p.Matches && p.State != provenance.Stands
		}
		if f.Moved {
			b.Stale++
		}
		b.Claims = append(b.Claims, f)
	}
	if n := from + len(b.Claims); n < b.View.Total && len(b.Claims) > 0 {
		b.Next = with(v.r.URL, "from", strconv.Itoa(n))
	}
	return v.page("file", page{Title: "What rests on a file", Section: secStore, Tab: "Files", Live: []string{liveClaims}, Body: b})
}
