package console

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/facet"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/store"
)

type reviewBody struct {
	Now      time.Time
	Rows     []candidate
	Total    int
	Kinds    []choice
	Kind     string // the kind that is shown; "" for all
	All      bool   // all candidates of the page are preselected
	AllPath  string // the page with that preselection
	Next     string
	Counting *facet.Progress // set while other candidates than those of MEMORY.md are counted

	Done    int // decisions carried out, when several were requested
	Failed  []failure
	Warning string // the decision was stored, but a later step failed
}

// candidate is a claim that waits for review.
type candidate struct {
	row
	Long     bool // the text does not fit into a line
	Effect   string
	First    any // when it was first and last seen, as relative times
	Last     any
	Sources  []string // its evidence, one line a piece
	Further  int      // pieces not listed
	Sessions []string // sessions that it comes from
	Others   int      // sessions not listed
	Whole    string   // the text for editing; "" if it is too long for a field
}

type failure struct{ ID, Text, Msg, Try string }

// candidatesPerPage is how many candidates a page shows. maxSources and maxSessions limit the
// evidence shown of each.
const (
	candidatesPerPage = 50
	maxSources        = 3
	maxSessions       = 2
)

func reviewPage(v *visit) error {
	b := reviewBody{Now: v.now()}
	if err := v.reviewList(&b, v.r.URL.Query()); err != nil {
		return err
	}
	return v.page("review", page{Title: "Candidates", Section: secReview, Tab: "Candidates", Live: []string{liveClaims}, Body: b})
}

// reviewList fills in the page of the address. The claims of MEMORY.md come first, because
// they are part of every turn. There may be thousands of other candidates; the facet index
// finds those of a page without reading the rest.
func (v *visit) reviewList(b *reviewBody, q url.Values) error {
	b.Kind, b.All = q.Get("kind"), q.Get("choose") == "all"
	address := &url.URL{Path: Prefix + "review", RawQuery: q.Encode()}
	every := maps.Clone(q)
	if every == nil {
		every = url.Values{}
	}
	every.Set("choose", "all")
	every.Del("did")
	b.AllPath = Prefix + "review?" + every.Encode()
	return v.withStore(func(s store.Engine) error {
		claims, err := v.desk(s).Memory(v.ctx(), false)
		if err != nil {
			return err
		}
		rules := map[string]int{} // candidates that are no hypotheses, by kind
		for i := range claims {
			if claims[i].Status != ken.StatusHypothesis {
				rules[string(claims[i].Kind)]++
			}
		}
		claims = slices.DeleteFunc(claims, func(c ken.Claim) bool { return b.Kind != "" && string(c.Kind) != b.Kind })
		from, before := listOffset(q.Get("from"), len(claims)), q.Get("before")
		if before != "" {
			from = len(claims)
		}
		shown := claims[from:min(from+candidatesPerPage, len(claims))]
		others, err := v.otherCandidates(s, b, rules, before, candidatesPerPage-len(shown))
		if err != nil {
			return err
		}
		b.Total = max(b.Total, len(claims))
		for i := range shown {
			row, err := v.candidate(&shown[i])
			if err != nil {
				return err
			}
			b.Rows = append(b.Rows, row)
		}
		for _, id := range others.IDs {
			c, err := s.Get(v.ctx(), id)
			if err != nil || c.Status != ken.StatusHypothesis || c.RuleCandidate { // decided meanwhile, or listed above
				continue
			}
			row, err := v.candidate(&c)
			if err != nil {
				return err
			}
			b.Rows = append(b.Rows, row)
		}
		switch end := from + len(shown); {
		case end < len(claims) || end > 0 && len(shown) == candidatesPerPage && b.Total > end:
			b.Next = withParam(address, "from", strconv.Itoa(end))
		case others.Next != "":
			b.Next = withParam(address, "before", others.Next)
		}
		return nil
	})
}

// otherCandidates selects at most most candidates that MEMORY.md does not list, and counts
// all by kind. rules are the candidates that are no hypotheses.
func (v *visit) otherCandidates(s store.Engine, b *reviewBody, rules map[string]int, before string, most int) (facet.Page, error) {
	progress, err := v.con.claims.Catch(v.ctx(), s)
	if err != nil {
		return facet.Page{}, err
	}
	if !progress.Ready {
		b.Counting = &progress
		return facet.Page{}, nil
	}
	waiting := facet.Selection{Statuses: []string{string(ken.StatusHypothesis)}, Expired: facet.Without, Archived: facet.Without, Order: facet.Reinforced, Limit: 1}
	all, err := v.con.claims.Select(s.Owner(), waiting)
	if err != nil {
		return facet.Page{}, err
	}
	total := all.Total
	for _, n := range rules {
		total += n
	}
	if b.Kind == "" {
		b.Total = total
	}
	b.Kinds = append(b.Kinds, choice{Name: "all " + count(total), Path: Prefix + "review", Here: b.Kind == ""})
	for _, f := range all.Facets {
		if f.Name != facet.Kind {
			continue
		}
		for _, kind := range slices.Sorted(maps.Keys(rules)) {
			i := slices.IndexFunc(f.Values, func(k facet.Value) bool { return k.Value == kind })
			if i < 0 {
				f.Values, i = append(f.Values, facet.Value{Value: kind}), len(f.Values)
			}
			f.Values[i].Count += rules[kind]
		}
		for _, k := range f.Values {
			b.Kinds = append(b.Kinds, choice{Name: k.Value + " " + count(k.Count), Path: Prefix + "review?kind=" + escapeQuery(k.Value), Here: b.Kind == k.Value})
			if b.Kind == k.Value {
				b.Total = k.Count
			}
			if !operator.InMemory(ken.Kind(k.Value)) && (b.Kind == "" || b.Kind == k.Value) {
				waiting.Kinds = append(waiting.Kinds, k.Value)
			}
		}
	}
	if len(waiting.Kinds) == 0 || most <= 0 {
		return facet.Page{}, nil
	}
	waiting.Before, waiting.Limit = before, most
	return v.con.claims.Select(s.Owner(), waiting)
}

func (v *visit) candidate(c *ken.Claim) (candidate, error) {
	now, view := v.now(), v.con.layer.Operator().View(*c)
	out := candidate{row: rowOf(&view, now), First: ago(now, c.CreatedAt), Last: ago(now, c.ReinforcedAt), Effect: approvalEffect(c),
		Long: utf8.RuneCountInString(c.Text) > maxLine || strings.ContainsRune(c.Text, '\n')}
	if len(c.Text) <= maxText {
		out.Whole = c.Text
	}
	known, err := provenance.One(c, provenance.Options{Now: v.con.opts.Now, DecayDays: v.con.layer.Config().Knowledge.DecayDays})
	if err != nil {
		return out, err
	}
	out.Further = max(len(known.Evidence)-maxSources, 0)
	for i := range known.Evidence[:len(known.Evidence)-out.Further] {
		e := &known.Evidence[i]
		if source := string(e.Kind); i == 0 || e.Kind != known.Evidence[i-1].Kind {
			out.Sources = append(out.Sources, strings.TrimSpace(source+" "+e.Reference))
		} else {
			out.Sources = append(out.Sources, e.Reference)
		}
	}
	sessions := sessionsOf(c)
	out.Others = max(len(sessions)-maxSessions, 0)
	out.Sessions = sessions[:len(sessions)-out.Others]
	return out, nil
}

func approvalEffect(c *ken.Claim) string {
	switch {
	case operator.InMemory(c.Kind):
		return "in every turn from then on"
	case c.RuleCandidate && len(c.Entities) == 0:
		return "a rule, in every turn from then on"
	case c.Constraint || c.RuleCandidate:
		return "in each turn that is about one of its entities"
	}
	return "in turns that it matches"
}

// sessionsOf returns the sessions that a claim and its evidence come from, without
// duplicates.
func sessionsOf(c *ken.Claim) (out []string) {
	add := func(id string) {
		if id != "" && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	add(c.Session)
	for i := range c.Evidence {
		add(c.Evidence[i].SessionID)
	}
	return out
}

// listOffset parses the start of a page in a list of n items; 0 if it is invalid.
func listOffset(s string, n int) int {
	at, err := strconv.Atoi(s)
	if err != nil || at < 0 || at > n {
		return 0
	}
	return at
}

// reviewMessages maps a decision about one claim to its key in doneMessages. For several
// claims the key is "decided".
var reviewMessages = map[operator.Decision]string{operator.Approve: "approved", operator.Reject: "rejected", operator.Rewrite: "edited"}

// decideReview carries out one decision about each chosen candidate. If one fails, the
// response is the list with the failures, because an address can't hold them.
func decideReview(v *visit) error {
	decision, ids := operator.Decision(v.param("decision")), v.r.PostForm["claim"]
	if _, ok := reviewMessages[decision]; !ok || decision == operator.Rewrite && len(ids) > 1 {
		return &ken.Error{Code: ken.CodeInvalid, Field: "decision", Msg: "nothing that can be decided here", Try: "Approve or reject what is chosen, or edit one claim."}
	}
	back := v.returnPath(Prefix + "review")
	if len(ids) == 0 {
		return v.redirectDone(back, "nothing")
	}
	verdicts := make([]operator.Verdict, len(ids))
	for i, id := range ids {
		verdicts[i] = operator.Verdict{ID: id, Decision: decision, Text: v.formText("text")}
	}
	b := reviewBody{Now: v.now()}
	status, decided := http.StatusOK, ""
	err := v.withStore(func(s store.Engine) error {
		outcomes, unwritten := v.desk(s).Review(v.ctx(), verdicts)
		for i, o := range outcomes {
			if o.Err == nil {
				b.Done++
				decided = o.ID
				continue
			}
			p := errorPageOf(o.Err)
			status = p.Status
			f := failure{ID: ids[i], Msg: p.Msg, Try: p.Try}
			if c, err := s.Get(v.ctx(), ids[i]); err == nil {
				f.Text = c.Text
			}
			b.Failed = append(b.Failed, f)
		}
		if unwritten != nil {
			b.Warning = errorPageOf(unwritten).Msg
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case len(b.Failed) == 0 && b.Warning == "" && len(ids) > 1:
		return v.redirectDone(back, "decided")
	case len(b.Failed) == 0 && b.Warning == "":
		return v.redirectDone(back, reviewMessages[decision], decided)
	}
	if b.Done > 0 {
		status = http.StatusOK // part of it is done; the list is up to date
	}
	var q url.Values
	if u, err := url.Parse(back); err == nil {
		q = u.Query()
	}
	if err := v.reviewList(&b, q); err != nil {
		return err
	}
	return v.page("review", page{Title: "Candidates", Section: secReview, Tab: "Candidates", Status: status, Live: []string{liveClaims}, Body: b})
}
