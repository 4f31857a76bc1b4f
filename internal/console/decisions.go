package console

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken/internal/code/decision"
)

// decisionsPerPage is how many decisions a list shows at once, and maxListed how many it shows at
// most after repeated requests for more.
const (
	decisionsPerPage = 50
	maxListed        = 10_000
)

// decisionsBody holds the data of the list of decisions: all, or the results of a search.
type decisionsBody struct {
	Ours     bool
	Question string
	Governs  string // only those that govern this path or symbol
	Rows     []decisionRow
	Total    int // number selected by the facets
	All      int
	Facets   []facetView
	Chosen   []choice
	Kept     []hiddenField
	Next     string
	Problems []fileProblem
}

type decisionRow struct {
	Handle, Path string // its short name, and its page
	Title        string
	Status, Tone string
	Date         string
	Says         string
	File         string
	Tags         []string
	Archived     bool
}

func decisionsPage(v *visit) error {
	b := decisionsBody{Question: v.param("q"), Governs: v.param("governs"), Ours: v.ownsFiles()}
	if b.Ours {
		r, err := v.decisions()
		if err != nil {
			return err
		}
		v.listDecisions(r, &b)
	}
	return v.page("decisions", page{Title: "Decisions", Section: secStructure, Tab: "Decisions", Live: []string{liveProject}, Body: b})
}

func (v *visit) listDecisions(r *decision.Registry, b *decisionsBody) {
	q := v.r.URL.Query()
	found := findDecisions(r, strings.TrimSpace(b.Question), strings.TrimSpace(b.Governs))
	chosen, counts := filterDecisions(found, q)
	b.All, b.Total, b.Facets = len(found), len(chosen), decisionFacets(v.r.URL, counts)
	show := v.intParam("show", decisionsPerPage, 1, maxListed)
	b.Rows = mapped(chosen[:min(len(chosen), show)], decisionRowOf)
	if show < len(chosen) {
		b.Next = withParam(v.r.URL, "show", strconv.Itoa(show+decisionsPerPage))
	}
	for _, f := range facetsOfDecisions {
		for _, value := range q[f.name] {
			b.Chosen = append(b.Chosen, choice{Name: f.title, Value: labelOf("", value), Path: toggleParam(v.r.URL, f.name, value)})
			b.Kept = append(b.Kept, hiddenField{f.name, value})
		}
	}
	if b.Governs != "" {
		b.Chosen = append(b.Chosen, choice{Name: "Governs", Value: b.Governs, Path: toggleParam(v.r.URL, "governs", b.Governs)})
		b.Kept = append(b.Kept, hiddenField{"governs", b.Governs})
	}
	b.Problems = mapped(r.Problems(), fileProblemOf)
}

// findDecisions returns the matching decisions: the best first, or without words the highest
// number first, so the latest.
func findDecisions(r *decision.Registry, words, governs string) (found []decision.Record) {
	if words == "" && governs == "" {
		found = r.List()
	}
	for ask := (decision.Query{Words: words, Governs: governs, Limit: 200}); words != "" || governs != ""; ask.Offset = len(found) {
		p := r.Search(ask)
		for i := range p.Hits {
			found = append(found, p.Hits[i].Record)
		}
		if len(p.Hits) == 0 || len(found) >= p.Total {
			break
		}
	}
	if words == "" {
		slices.SortStableFunc(found, func(a, b decision.Record) int { return cmp.Compare(b.Number, a.Number) })
	}
	return found
}

// facetsOfDecisions lists the facets of decisions: the parameter in the address, the name, and
// the values of a record.
var facetsOfDecisions = []struct {
	name, title string
	of          func(*decision.Record) []string
}{
	{"status", "Status", func(r *decision.Record) []string { return []string{statusName(r.Status)} }},
	{"tag", "Tag", func(r *decision.Record) []string { return textsOf(r.Tags) }},
	{"archive", "Archive", func(r *decision.Record) []string {
		if r.Archived {
			return []string{"archived"}
		}
		return []string{"in place"}
	}},
}

// statusName returns a status as pages and addresses have it.
func statusName(s decision.Status) string {
	if s == decision.Unknown {
		return "unclear"
	}
	return string(s)
}

// filterDecisions returns the records that the address selects, and the counts of each facet's
// values. The counts ignore the facet's own selection, as in package facet.
func filterDecisions(records []decision.Record, q url.Values) (chosen []decision.Record, counts []map[string]int) {
	counts = make([]map[string]int, len(facetsOfDecisions))
	for i := range counts {
		counts[i] = map[string]int{}
	}
	for i := range records {
		misses, missed := 0, 0
		for k, f := range facetsOfDecisions {
			if want := q[f.name]; len(want) > 0 && !slices.ContainsFunc(f.of(&records[i]), func(s string) bool { return slices.Contains(want, s) }) {
				misses, missed = misses+1, k
			}
		}
		if misses == 0 {
			chosen = append(chosen, records[i])
		}
		for k, f := range facetsOfDecisions {
			if misses == 0 || misses == 1 && missed == k {
				for _, value := range f.of(&records[i]) {
					counts[k][value]++
				}
			}
		}
	}
	return chosen, counts
}

const maxTags = 30

// decisionFacets returns the filters of the list. It leaves out a facet with only one value.
func decisionFacets(u *url.URL, counts []map[string]int) (out []facetView) {
	order := map[string]int{}
	for i, s := range decision.Statuses() {
		order[string(s)] = i - len(decision.Statuses())
	}
	for k, f := range facetsOfDecisions {
		here := u.Query()[f.name]
		if len(counts[k]) < 2 && len(here) == 0 {
			continue
		}
		view := facetView{Name: f.name, Title: f.title, Open: f.name != "tag" || len(here) > 0 || len(counts[k]) <= 8}
		for value, n := range counts[k] {
			view.Values = append(view.Values, facetValue{Label: value, Path: toggleParam(u, f.name, value), Count: n, Here: slices.Contains(here, value)})
		}
		slices.SortFunc(view.Values, func(a, b facetValue) int {
			return cmp.Or(cmp.Compare(order[a.Label], order[b.Label]), cmp.Compare(b.Count, a.Count), strings.Compare(a.Label, b.Label))
		})
		view.Values = view.Values[:min(len(view.Values), maxTags)]
		out = append(out, view)
	}
	return out
}

// decisionTones gives the tones of the statuses of decisions. Other statuses have none.
var decisionTones = map[decision.Status]string{decision.Proposed: "info", decision.Accepted: "success", decision.Rejected: "danger", decision.Unknown: "warning"}

func decisionRowOf(r *decision.Record) decisionRow {
	return decisionRow{Handle: r.Handle, Path: decisionPath(r), Title: cmp.Or(r.Title.Text, r.Path), Status: statusName(r.Status), Tone: decisionTones[r.Status],
		Date: dayOf(r.Date), Says: cmp.Or(r.Decision.Text, r.Context.Text, r.Preamble.Text), File: r.Path, Tags: textsOf(r.Tags), Archived: r.Archived}
}

// decisionPath returns the path of a decision's page. A decision with the name "new" gets its
// file's path, because that name is the path of the form.
func decisionPath(r *decision.Record) string {
	if r.Handle == "new" {
		return pathOf("decisions", r.Path)
	}
	return pathOf("decisions", r.Handle)
}

func dayOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.DateOnly)
}

func textsOf(values []decision.Value) []string {
	return mapped(values, func(v *decision.Value) string { return v.Text })
}
