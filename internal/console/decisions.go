package console

import (
	"cmp"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken/internal/code/decision"
	"github.com/kenlayer/ken/internal/console/chart"
	"github.com/kenlayer/ken/internal/console/facet"
	"github.com/kenlayer/ken/store"
)

// decisionsPerPage is how many decisions a list shows at once, and mostListed how many
// of anything a page shows that was asked for more and more.
const (
	decisionsPerPage = 50
	mostListed       = 10_000
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
	Kept     []keptField
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
	b := decisionsBody{Question: v.text("q"), Governs: v.text("governs"), Ours: v.ownsFiles()}
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
	found := decisionsFor(r, strings.TrimSpace(b.Question), strings.TrimSpace(b.Governs))
	chosen, counts := amongDecisions(found, q)
	b.All, b.Total, b.Facets = len(found), len(chosen), decisionFacets(v.r.URL, counts)
	show := v.number("show", decisionsPerPage, 1, mostListed)
	for i := range chosen[:min(len(chosen), show)] {
		b.Rows = append(b.Rows, decisionRowOf(chosen[i]))
	}
	if show < len(chosen) {
		b.Next = with(v.r.URL, "show", strconv.Itoa(show+decisionsPerPage))
	}
	for _, f := range facetsOfDecisions {
		for _, value := range q[f.name] {
			b.Chosen = append(b.Chosen, choice{Name: f.title, Value: labelOf("", value), Path: toggled(v.r.URL, f.name, value)})
			b.Kept = append(b.Kept, keptField{f.name, value})
		}
	}
	if b.Governs != "" {
		b.Chosen = append(b.Chosen, choice{Name: "Governs", Value: b.Governs, Path: toggled(v.r.URL, "governs", b.Governs)})
		b.Kept = append(b.Kept, keptField{"governs", b.Governs})
	}
	for _, p := range r.Problems() {
		b.Problems = append(b.Problems, problemIn(p.Path, p.Line, p.Text, p.Try))
	}
}

// decisionsFor are those that fit: the best first, or the last by number, which is what
// who just looks in wants to see.
func decisionsFor(r *decision.Registry, words, governs string) (found []decision.Record) {
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

// amongDecisions picks the records that the address selects, and counts the values of each facet
// as package facet does: without the facet's own selection.
func amongDecisions(records []decision.Record, q url.Values) (chosen []decision.Record, counts []map[string]int) {
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

// mostTags is how many tags the list is narrowed by.
const mostTags = 30

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
			view.Values = append(view.Values, facetValue{Label: value, Path: toggled(u, f.name, value), Count: n, Here: slices.Contains(here, value)})
		}
		slices.SortFunc(view.Values, func(a, b facetValue) int {
			return cmp.Or(cmp.Compare(order[a.Label], order[b.Label]), cmp.Compare(b.Count, a.Count), strings.Compare(a.Label, b.Label))
		})
		view.Values = view.Values[:min(len(view.Values), mostTags)]
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

// decisionBody is a decision's page.
type decisionBody struct {
	Row        decisionRow
	Record     *decision.Record
	FilePath   string
	StatusSays string          // as the file has it, where that is other words
	Parts      []passage       // what it says before the options
	After      []passage       // and behind them
	Governs    []governedThing // what it lists
	Names      []governedThing // what its text names
	Supersedes []choice
	Successors []choice
	Chain      template.HTML // "" when nothing superseded anything
	Problems   []fileProblem
	Claims     []row // that rest on its file
	AllClaims  string
	Moves      []decision.Status // that are likely
	Rarely     []decision.Status // the others
	Others     []decisionRow     // that may take its place
	Archivable bool
}

// passage is a piece of a text under a heading.
type passage struct{ Title, Text string }

// governedThing is something that a decision governs, with a page that shows it, if there is
// one thing of that name.
type governedThing struct{ Name, Path string }

// Most targets that are looked up, claims that are shown, and decisions that a form
// offers.
const (
	mostTargets = 60
	mostResting = 5
	mostOffered = 500
)

func decisionPage(v *visit) error {
	reg, err := v.decisions()
	if err != nil {
		return err
	}
	r, err := reg.Find(v.r.PathValue("id"))
	if err != nil {
		return err
	}
	b := decisionBody{Row: decisionRowOf(r), Record: &r, FilePath: filePath(r.Path)}
	if said := r.StatusText.Text; !strings.HasPrefix(strings.ToLower(said), b.Row.Status) {
		b.StatusSays = said
	}
	b.say(&r)
	for _, t := range decision.Targets(r) {
		switch {
		case t.Exact && len(b.Governs) < mostTargets:
			b.Governs = append(b.Governs, governedThing{t.Name, v.namedPath(t.Name)})
		case !t.Exact && len(b.Names) < mostTargets:
			b.Names = append(b.Names, governedThing{t.Name, v.namedPath(t.Name)})
		}
	}
	line, err := reg.History(r.Path)
	if err != nil {
		return err
	}
	b.Chain = chainOf(&r, line)
	b.Supersedes, b.Successors = references(r.Supersedes, line), references(r.SupersededBy, line)
	for _, p := range reg.Problems() {
		if p.Path == r.Path {
			b.Problems = append(b.Problems, problemIn(p.Path, p.Line, p.Text, p.Try))
		}
	}
	if v.operates() {
		b.offer(reg, &r)
	}
	if err := v.restingOn(r.Path, &b); err != nil {
		return err
	}
	return v.page("decision", page{Title: b.Row.Handle + ": " + b.Row.Title, Section: secStructure, Tab: "Decisions", Live: []string{liveProject}, Body: b})
}

// say takes what the record says apart, the options left out, in the order in which
// people read it.
func (b *decisionBody) say(r *decision.Record) {
	add := func(to *[]passage, title, text string) {
		if strings.TrimSpace(text) != "" {
			*to = append(*to, passage{title, text})
		}
	}
	add(&b.Parts, "", r.Preamble.Text)
	add(&b.Parts, "Context", r.Context.Text)
	add(&b.Parts, "Drivers", bullets(r.Drivers))
	add(&b.After, "Decision", r.Decision.Text)
	add(&b.After, "Consequences", r.Consequences.Text)
	add(&b.After, "Confirmation", r.Confirmation.Text)
	add(&b.After, "More", r.More.Text)
	for i, s := range r.Sections {
		if s.Kind == "" && !saidAbove(r, i) {
			add(&b.After, s.Title, s.Text.Text)
		}
	}
}

// saidAbove reports whether a section stands within another one, whose text has it, or is an
// option that is shown as one.
func saidAbove(r *decision.Record, section int) bool {
	s := &r.Sections[section]
	for i := range r.Sections[:section] {
		switch over := &r.Sections[i]; {
		case over.Kind == "" || over.Kind == decision.KindTitle || over.Level >= s.Level || over.End < s.End:
		case over.Kind == decision.KindOptions || over.Kind == decision.KindProsAndCons:
			return slices.ContainsFunc(r.Options, func(o decision.Option) bool {
				return strings.EqualFold(o.Title.Text, s.Title) && (o.Text != "" || len(o.Pros)+len(o.Cons)+len(o.Neutral) > 0)
			})
		default:
			return true
		}
	}
	return false
}

func bullets(values []decision.Value) string {
	var b strings.Builder
	for _, v := range values {
		b.WriteString("• " + v.Text + "\n")
	}
	return b.String()
}

// chainOf draws what superseded what around a record.
func chainOf(r *decision.Record, line []decision.Record) template.HTML {
	if len(line) < 2 {
		return ""
	}
	d := chart.ChainData{Title: "What superseded what"}
	type step struct{ older, newer string }
	seen := map[step]bool{}
	add := func(older, newer string) {
		if s := (step{older, newer}); older != "" && newer != "" && older != newer && !seen[s] {
			seen[s] = true
			d.Steps = append(d.Steps, chart.Supersession{Older: older, Newer: newer})
		}
	}
	for i := range line {
		x := &line[i]
		version := chart.Version{ID: x.Path, Label: x.Handle + " " + x.Title.Text, Note: strings.TrimSpace(statusName(x.Status) + " " + dayOf(x.Date)),
			Current: x.Status == decision.Accepted && !x.Archived}
		if x.Path == r.Path {
			version.Note += " · this one"
		} else {
			version.Href = decisionPath(x)
		}
		d.Versions = append(d.Versions, version)
		for _, ref := range x.Supersedes {
			add(referred(ref, line), x.Path)
		}
		for _, ref := range x.SupersededBy {
			add(x.Path, referred(ref, line))
		}
	}
	return chart.Chain(d)
}

// referred is the path of the record in a line of decisions that a reference means, ""
// for none of them.
func referred(ref decision.Reference, line []decision.Record) string {
	i := slices.IndexFunc(line, func(r decision.Record) bool { return ref.Path != "" && r.Path == ref.Path })
	if i < 0 {
		i = slices.IndexFunc(line, func(r decision.Record) bool { return ref.ID != "" && strings.EqualFold(r.ID.Text, ref.ID) })
	}
	if i < 0 {
		return ""
	}
	return line[i].Path
}

// references are what a record says of others, with their pages where they are there.
func references(refs []decision.Reference, line []decision.Record) (out []choice) {
	for _, ref := range refs {
		c := choice{Name: ref.ID}
		if c.Name == "" {
			c.Name = ref.Text
		}
		if ref.Partial {
			c.Value = "in part"
		}
		if path := referred(ref, line); path != "" {
			i := slices.IndexFunc(line, func(r decision.Record) bool { return r.Path == path })
			c.Path = decisionPath(&line[i])
		}
		out = append(out, c)
	}
	return out
}

// likely are the statuses that a decision gets as a rule, by the one that it has.
var likely = map[decision.Status][]decision.Status{decision.Proposed: {decision.Accepted, decision.Rejected}, decision.Unknown: {decision.Proposed, decision.Accepted, decision.Rejected},
	decision.Accepted: {decision.Deprecated}}

// offer says what a person may do about the record.
func (b *decisionBody) offer(reg *decision.Registry, r *decision.Record) {
	for _, s := range decision.Statuses() {
		switch {
		case s == r.Status || s == decision.Superseded:
		case slices.Contains(likely[r.Status], s):
			b.Moves = append(b.Moves, s)
		default:
			b.Rarely = append(b.Rarely, s)
		}
	}
	switch r.Status {
	case decision.Superseded, decision.Deprecated, decision.Rejected:
		b.Archivable = !r.Archived
	}
	for _, o := range reg.List() {
		if (o.Status == decision.Accepted || o.Status == decision.Proposed) && !o.Archived && o.Path != r.Path && len(b.Others) < mostOffered {
			b.Others = append(b.Others, decisionRowOf(o))
		}
	}
}

// restingOn finds claims whose evidence is the record's file, once they are counted.
func (v *visit) restingOn(file string, b *decisionBody) error {
	return v.withStore(func(s store.Engine) error {
		progress, err := v.con.claims.Catch(v.ctx(), s)
		if err != nil || !progress.Ready {
			return err
		}
		p, err := v.con.claims.Select(s.Owner(), facet.Selection{Files: []string{file}, Limit: mostResting})
		if err != nil || p.Total == 0 {
			return err
		}
		if p.Total > mostResting {
			b.AllClaims = pathOf("claims") + "?file=" + escapeQuery(file)
		}
		b.Claims, err = v.rows(s, p.IDs)
		return err
	})
}
