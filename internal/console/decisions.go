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

// decisionsPerPage is how many decisions a list shows at once, and mostListed how many
// of anything a page shows that was asked for more and more.
const (
	decisionsPerPage = 50
	maxListed        = 10_000
)

// decisionsBody is the list of decisions: all of them, or what a search found.
type decisionsBody struct {
	Ours     bool
	Question string
	Governs  string // only those that govern this path or symbol
	Rows     []decisionRow
	Total    int // that the facets select
	All      int
	Facets   []facetView
	Chosen   []choice
	Kept     []hiddenField
	Next     string
	Problems []fileProblem
}

// decisionRow is a decision as a line of a list.
type decisionRow struct {
	Handle, Path string // its name, and its page
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
	for i := range chosen[:min(len(chosen), show)] {
		b.Rows = append(b.Rows, decisionRowOf(chosen[i]))
	}
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
	for _, p := range r.Problems() {
		b.Problems = append(b.Problems, newFileProblem(p.Path, p.Line, p.Text, p.Try))
	}
}

// findDecisions are those that fit: the best first, or the last by number, which is what
// who just looks in wants to see.
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

// facetsOfDecisions are what decisions are counted by: the field of the address, what
// people call it, and what a record has of it.
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

// statusName is a status as people read it, and as the address has it.
func statusName(s decision.Status) string {
	if s == decision.Unknown {
		return "unclear"
	}
	return string(s)
}

// filterDecisions picks the records that the address selects, and counts the values of each facet
// as package facet does: without the facet's own selection.
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

// maxTags is how many tags the list is narrowed by.
const maxTags = 30

// decisionFacets are ways to narrow the list. A facet of one value tells nothing.
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

// decisionTones are how the statuses of decisions are shown; of no other, nothing is known.
var decisionTones = map[decision.Status]string{decision.Proposed: "info", decision.Accepted: "success", decision.Rejected: "danger", decision.Unknown: "warning"}

func decisionRowOf(r decision.Record) decisionRow {
	return decisionRow{Handle: r.Handle, Path: decisionPath(&r), Title: cmp.Or(r.Title.Text, r.Path), Status: statusName(r.Status), Tone: decisionTones[r.Status],
		Date: dayOf(r.Date), Says: cmp.Or(r.Decision.Text, r.Context.Text, r.Preamble.Text), File: r.Path, Tags: textsOf(r.Tags), Archived: r.Archived}
}

// decisionPath is the page of a decision. One whose file is called new goes by its path:
// its name is that of the form for another one.
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

func textsOf(values []decision.Value) (out []string) {
	for _, v := range values {
		out = append(out, v.Text)
	}
	return out
}
