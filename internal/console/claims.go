package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/facet"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// maxFound is the largest number of search results. A visitor who does not find a claim among them
// needs another query.
const maxFound = 200

// maxDocuments is how many pieces of the repository a search shows beside the claims.
const maxDocuments = 6

const claimsPerPage = 40

// claimsBody holds the data of the list of claims: all of them, or the results of a search.
type claimsBody struct {
	Question      string
	Rows          []row
	Total         int
	Most          bool // more results may exist, because the search stops at maxFound
	Next          string
	Chosen        []choice // the active filters, each with a link that removes it
	Kept          []hiddenField
	Facets        []facetView
	Counting      *facet.Progress // set while the facets are counted for the first time
	Orders        []choice
	Mode          ken.Mode
	Cause         string
	Documents     []row
	Nothing       bool // nothing matches the query; the rows are the nearest by meaning
	OtherSearches []choice
}

type choice struct {
	Name, Value, Path string
	Here              bool
}

// facetView is a facet with its values, each with a link that filters by it.
type facetView struct {
	Name, Title string
	Values      []facetValue
	More        int
	MorePath    string
	Open        bool // unfolded
}

type facetValue struct {
	Label, Path string
	Count       int
	Here        bool
}

// hiddenField is a query parameter that the search form keeps.
type hiddenField struct{ Name, Value string }

// pageFacets lists the facets in the order of the page, with their names. Rules are first, because
// they weigh most. Those that are useful for nearly every list are unfolded.
var pageFacets = []struct {
	name, title string
	open        bool
}{
	{facet.Constraint, "Rule", true}, {facet.Kind, "Kind", true}, {facet.Status, "Status", true}, {facet.Tier, "Tier", true}, {facet.Trust, "Who speaks", true},
	{facet.Entity, "About", true}, {facet.Tag, "Tag", false}, {facet.Scope, "Scope", false}, {facet.Source, "Source", false},
	{facet.Session, "Session", false}, {facet.Agent, "Written by", false}, {facet.File, "Rests on file", false}, {facet.Project, "Project", false},
	{facet.Expired, "Expired", false}, {facet.Archived, "Put away", false},
}

func claimsPage(v *visit) error {
	b := claimsBody{Question: strings.TrimSpace(v.param("q"))}
	q := v.r.URL.Query()
	for _, name := range []string{facet.Constraint, facet.Expired, facet.Archived} {
		if slices.ContainsFunc(q[name], func(s string) bool { return s != "yes" && s != "no" }) {
			return &ken.Error{Code: ken.CodeInvalid, Field: name, Msg: "neither yes nor no", Try: "Choose one of the values beside the list."}
		}
	}
	sel := selection(q)
	err := v.withStore(func(s store.Engine) error {
		progress, err := v.con.claims.Catch(v.ctx(), s)
		switch {
		case err != nil:
			return err
		case !progress.Ready:
			b.Counting, v.refresh = &progress, true
		}
		if b.Question != "" {
			return v.searchClaims(s, &b, sel)
		}
		return v.listClaims(s, &b, sel)
	})
	if err != nil {
		return err
	}
	for _, f := range pageFacets {
		for _, value := range q[f.name] {
			b.Chosen = append(b.Chosen, choice{Name: f.title, Value: labelOf(f.name, value), Path: toggleParam(v.r.URL, f.name, value)})
			b.Kept = append(b.Kept, hiddenField{f.name, value})
		}
	}
	if b.Question == "" {
		b.Orders = sortChoices(v.r.URL)
	}
	return v.page("claims", page{Title: "Claims", Section: secStore, Tab: "Claims", Live: []string{liveClaims}, Body: b})
}

// selection returns the claims that the address selects.
func selection(q url.Values) facet.Selection {
	return facet.Selection{Kinds: q[facet.Kind], Statuses: q[facet.Status], Tiers: q[facet.Tier], Trusts: q[facet.Trust], Scopes: q[facet.Scope],
		Entities: q[facet.Entity], Tags: q[facet.Tag], Sources: q[facet.Source], Sessions: q[facet.Session], Projects: q[facet.Project],
		Agents: q[facet.Agent], Files: q[facet.File], Constraint: yesNoFilter(q, facet.Constraint), Archived: yesNoFilter(q, facet.Archived),
		Expired: yesNoFilter(q, facet.Expired), Order: facet.Order(q.Get("order")), Before: q.Get("before"), Limit: claimsPerPage}
}

// yesNoFilter parses a facet with two values. Both or none selected means any.
func yesNoFilter(q url.Values, name string) facet.Want {
	yes, no := slices.Contains(q[name], "yes"), slices.Contains(q[name], "no")
	switch {
	case yes && !no:
		return facet.Only
	case no && !yes:
		return facet.Without
	}
	return facet.Any
}

// listClaims shows the claims that the facets select. While these are counted for the first time,
// it shows the newest claims without facets.
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
		b.Rows, err = v.readRows(s, ids)
		return err
	}
	p, err := v.con.claims.Select(s.Owner(), sel)
	if err != nil {
		return err
	}
	b.Total, b.Facets = p.Total, v.facets(p.Facets, s.Owner())
	if p.Next != "" {
		b.Next = withParam(v.r.URL, "before", p.Next)
	}
	b.Rows, err = v.readRows(s, p.IDs)
	return err
}

// searchClaims shows the claims that match a question, with any status. A rule is shown if it
// matches, not because a turn about its entities would get it.
func (v *visit) searchClaims(s store.Engine, b *claimsBody, sel facet.Selection) error {
	found, err := v.con.layer.Operator().Search(v.ctx(), middleware.RecallQuery{Owner: s.Owner(), Own: true, MatchRules: true, Question: b.Question, Limit: maxFound,
		Filter: ken.Filter{Statuses: ken.Statuses(), MinTrust: ken.TrustExternal}})
	if err != nil {
		return err
	}
	b.Mode, b.Cause, b.Most = found.Mode, found.Cause, len(found.Claims) >= maxFound
	named, err := v.claimNamed(s, b.Question)
	if err != nil {
		return err
	}
	if named == nil {
		b.Nothing, err = v.nothingMatches(s, b.Question, found.Claims)
	} else {
		others := slices.DeleteFunc(found.Claims, func(c middleware.Recalled) bool { return c.ID == named.ID })
		found.Claims = slices.Insert(others, 0, middleware.Recalled{Claim: named.Claim, Tier: named.Tier, Trust: named.Trust})
	}
	if err != nil {
		return err
	}
	if b.Nothing {
		b.Most = false
		found.Claims = found.Claims[:min(len(found.Claims), nearestShown)]
		b.OtherSearches = v.otherSearches(b.Question)
	}
	ids := make([]string, 0, len(found.Claims))
	by := make(map[string]*inspect.Claim, len(found.Claims))
	for i := range found.Claims {
		c := &inspect.Claim{Claim: found.Claims[i].Claim, Tier: found.Claims[i].Tier, Trust: found.Claims[i].Trust}
		if c.Kind == ken.KindDocument {
			if len(b.Documents) < maxDocuments {
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
	for _, id := range ids[:min(len(ids), v.intParam("show", claimsPerPage, 1, maxFound))] {
		b.Rows = append(b.Rows, rowOf(by[id], v.now()))
	}
	if len(b.Rows) < len(ids) {
		b.Next = withParam(v.r.URL, "show", "200")
	}
	return nil
}

// idForm matches an id of a claim, or the part of it that pages show.
var idForm = lazyregexp.New(`^[0-9a-f-]{6,36}$`)

// claimNamed returns the claim of which the question is the id or the address of its page; nil if
// there is none.
func (v *visit) claimNamed(s store.Engine, question string) (*inspect.Claim, error) {
	id := strings.ToLower(question[strings.LastIndexByte(question, '/')+1:])
	if !idForm.MatchString(id) {
		return nil, nil
	}
	c, err := v.readClaim(v.ctx(), s, id)
	if errors.Is(err, ken.ErrNotFound) || errors.Is(err, ken.ErrInvalid) { // several ids may end with it
		return nil, nil
	}
	return &c, err
}

// nearestShown is how many claims are shown if nothing matches.
const nearestShown = 5

// nothingMatches reports whether none of the found claims matches the question: none contains a
// word of it, and a turn would find none near enough. Only in the first case does it make a second
// search.
func (v *visit) nothingMatches(s store.Engine, question string, found []middleware.Recalled) (bool, error) {
	if slices.ContainsFunc(found, func(c middleware.Recalled) bool { _, word := c.Legs[retriever.SourceKeyword]; return word }) {
		return false, nil
	}
	near, err := v.con.layer.Operator().Search(v.ctx(), middleware.RecallQuery{Owner: s.Owner(), Own: true, MatchRules: true, Question: question, Limit: 1, Floor: true,
		Filter: ken.Filter{Statuses: ken.Statuses(), MinTrust: ken.TrustExternal}})
	return err == nil && len(near.Claims) == 0, err
}

// otherSearches returns links to the other pages that search for the question's words.
func (v *visit) otherSearches(question string) []choice {
	q := "?q=" + escapeQuery(question)
	out := []choice{{Name: "Entities", Path: Prefix + "entities" + q}, {Name: "Files", Path: Prefix + "files" + q}, {Name: "Code", Path: Prefix + "code" + q}}
	if v.canOperate() || v.hasOwnTurns() {
		out = append(out, choice{Name: "Turns", Path: Prefix + "turns" + q})
	}
	return out
}

// readRows reads claims for a list. It leaves out claims that were forgotten meanwhile.
func (v *visit) readRows(s store.Engine, ids []string) ([]row, error) {
	out := make([]row, 0, len(ids))
	for _, id := range ids {
		c, err := v.readClaim(v.ctx(), s, id)
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

// readClaim reads a claim with the values computed from its evidence.
func (v *visit) readClaim(ctx context.Context, s store.Engine, id string) (inspect.Claim, error) {
	c, err := s.Get(ctx, id)
	return v.con.layer.Operator().View(c), err
}

// facets converts counted facets to filters. It shows all values of the facet that the address
// names in more.
func (v *visit) facets(counted []facet.Facet, owner string) []facetView {
	q := v.r.URL.Query()
	var out []facetView
	for _, f := range pageFacets {
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
			view.MorePath = withParam(v.r.URL, "more", f.name)
		}
		for _, x := range values {
			view.Values = append(view.Values, facetValue{Label: labelOf(f.name, x.Value), Count: x.Count, Here: slices.Contains(q[f.name], x.Value),
				Path: toggleParam(v.r.URL, f.name, x.Value)})
		}
		out = append(out, view)
	}
	return out
}

// valuesOf returns the values of one facet; nil if it is missing.
func valuesOf(facets []facet.Facet, name string) []facet.Value {
	i := slices.IndexFunc(facets, func(f facet.Facet) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return facets[i].Values
}

// countOf returns a value with its count, without a link.
func countOf(x *facet.Value) facetValue { return facetValue{Label: x.Value, Count: x.Count} }

// labelOf returns the display name of a value.
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

func sortChoices(u *url.URL) (out []choice) {
	names := map[facet.Order]string{facet.Newest: "newest", facet.Updated: "last changed", facet.Reinforced: "most often seen", facet.Confidence: "surest"}
	now := cmp.Or(facet.Order(u.Query().Get("order")), facet.Newest)
	for _, o := range facet.Orders() {
		out = append(out, choice{Name: names[o], Here: o == now, Path: withParam(u, "order", string(o))})
	}
	return out
}

// withParam returns the address with one parameter set, starting at the first page.
func withParam(u *url.URL, name, value string) string {
	return withQuery(u, []string{"before", "show", "did"}, func(q url.Values) { q.Set(name, value) })
}

// withoutParam returns the page's address without one parameter, starting at the first page.
func withoutParam(v *visit, name string) string {
	return withQuery(v.r.URL, []string{"before", "did", name}, func(url.Values) {})
}

// toggleParam returns the address with a facet value added, or removed if it was there.
func toggleParam(u *url.URL, name, value string) string {
	return withQuery(u, []string{"before", "show", "did", "more"}, func(q url.Values) {
		if i := slices.Index(q[name], value); i >= 0 {
			q[name] = slices.Delete(q[name], i, i+1)
		} else {
			q.Add(name, value)
		}
	})
}

// withQuery returns the address without some parameters, and with its others changed.
func withQuery(u *url.URL, without []string, change func(url.Values)) string {
	q := u.Query()
	for _, name := range without {
		q.Del(name)
	}
	change(q)
	to := *u // with its escaped path: a name in it may contain a slash
	to.RawQuery = q.Encode()
	return to.RequestURI()
}

type row struct {
	ID, Kind, Status string
	Tone             string
	Tier             string
	Heading, Text    string
	Says             string // a short description of its state
	Entities         []string
	Constraint       bool
	When             any // a relative time
	Seen             int // number of times it was observed
	Session          string
	Expired          bool
	Confidence       float64
	Evidence         int // number of pieces of evidence
}

// rowOf returns the row of a claim as of now.
func rowOf(c *inspect.Claim, now time.Time) row {
	return row{ID: c.ID, Kind: string(c.Kind), Status: string(c.Status), Tone: toneOf(&c.Claim), Tier: c.Tier.String(), Heading: c.Heading, Text: c.Text,
		Says: statusLine(&c.Claim, now), Entities: c.Entities, Constraint: c.Constraint, When: ago(now, c.UpdatedAt), Seen: c.Reinforcements + 1,
		Session: c.Session, Expired: c.Expired(now), Confidence: c.Confidence, Evidence: len(c.Evidence)}
}

// toneOf returns the tone for a claim's status: warning for disputed claims and for hypotheses with
// a confidence below 0.5, info for claims that await validation.
func toneOf(c *ken.Claim) string {
	switch {
	case c.Status == ken.StatusDisputed, c.Status == ken.StatusHypothesis && c.Confidence < 0.5:
		return toneWarning
	case c.Status == ken.StatusObserved, c.Status == ken.StatusInferred:
		return toneInfo
	case c.Status == ken.StatusVerified:
		return toneSuccess
	}
	return toneNeutral
}

// statusLine describes in a line why a claim has its status: "confidence 0.9 · from tool_result",
// "2 conflicting evidence refs", "by ana · 2026-05-20".
func statusLine(c *ken.Claim, now time.Time) string {
	var parts []string
	switch c.Status {
	case ken.StatusVerified:
		if e := verifiedBy(c); e != nil {
			parts = append(parts, "by "+e.ID, e.FetchedAt.UTC().Format(time.DateOnly))
		}
	case ken.StatusDisputed:
		parts = append(parts, plural(len(c.Evidence), "conflicting evidence ref", "conflicting evidence refs"))
	case ken.StatusSuperseded:
		parts = append(parts, "by "+shortID(c.SupersededBy))
	}
	if len(parts) == 0 {
		parts = append(parts, fmt.Sprintf("confidence %.1f", c.Confidence))
		if len(c.Evidence) > 0 {
			parts = append(parts, "from "+string(c.Evidence[0].Kind))
		}
	}
	if c.Expired(now) {
		parts = append(parts, "expired "+c.ExpiresAt.UTC().Format(time.DateOnly))
	}
	return strings.Join(parts, " · ")
}

// verifiedBy returns the latest evidence by which a person verified a claim, or nil.
func verifiedBy(c *ken.Claim) *ken.Evidence {
	for i := len(c.Evidence) - 1; i >= 0; i-- {
		if e := &c.Evidence[i]; e.Kind == ken.EvidenceHumanAssertion && e.ID != "" {
			return e
		}
	}
	return nil
}

// changesBody holds the data of the page of changes since a point in time.
type changesBody struct {
	Now    time.Time
	Since  time.Time
	Spans  []choice
	Days   []changedDay
	Total  int
	Kinds  []facetValue // by status
	Next   string
	Custom string
}

// changedDay holds the changes of one day, latest first.
type changedDay struct {
	Day  string
	Rows []changedRow
}

type changedRow struct {
	row
	Step historyEntry // the latest event of the claim
}

// timeSpans lists the periods that can be chosen.
var timeSpans = []struct {
	name string
	long time.Duration
}{{"hour", time.Hour}, {"day", 24 * time.Hour}, {"week", 7 * 24 * time.Hour}, {"month", 30 * 24 * time.Hour}}

func changesPage(v *visit) error {
	b := changesBody{Now: v.now()}
	chosen := v.param("span")
	since, err := momentOf("since", v.param("since"))
	switch {
	case err != nil:
		return err
	case !since.IsZero():
		b.Since, chosen, b.Custom = since, "", since.UTC().Format(time.DateOnly)
	case chosen == "":
		chosen = "week"
	}
	for _, s := range timeSpans {
		here := s.name == chosen
		if here {
			b.Since = b.Now.Add(-s.long)
		}
		b.Spans = append(b.Spans, choice{Name: "the last " + s.name, Path: Prefix + "changes?span=" + s.name, Here: here})
	}
	if b.Since.IsZero() {
		return &ken.Error{Code: ken.CodeInvalid, Field: "span", Msg: "there is no such period", Try: "Use hour, day, week or month, or since with a date such as 2026-03-01."}
	}
	err = v.withClaims(func(s store.Engine) error {
		got, err := v.con.claims.Select(s.Owner(), facet.Selection{ChangedSince: b.Since, Order: facet.Updated, Before: v.param("before"), Limit: claimsPerPage, Structural: true})
		if err != nil {
			return err
		}
		b.Total = got.Total
		if got.Next != "" {
			b.Next = withParam(v.r.URL, "before", got.Next)
		}
		b.Kinds = mapped(valuesOf(got.Facets, facet.Status), countOf)
		return v.addChangesByDay(s, &b, got.IDs)
	})
	if err != nil {
		return err
	}
	return v.page("changes", page{Title: "What changed", Section: secStore, Tab: "Changes", Live: []string{liveClaims}, Body: b})
}

// addChangesByDay reads claims with the latest event of each, and groups them by day.
func (v *visit) addChangesByDay(s store.Engine, b *changesBody, ids []string) error {
	rows, err := v.readRows(s, ids)
	if err != nil {
		return err
	}
	for i := range rows {
		events, err := s.History(v.ctx(), rows[i].ID)
		if err != nil || len(events) == 0 { // forgotten meanwhile
			continue
		}
		last := historyEntries(events)[0]
		day := last.At.UTC().Format("Monday, 2 January 2006")
		if n := len(b.Days); n == 0 || b.Days[n-1].Day != day {
			b.Days = append(b.Days, changedDay{Day: day})
		}
		d := &b.Days[len(b.Days)-1]
		d.Rows = append(d.Rows, changedRow{rows[i], last})
	}
	return nil
}
