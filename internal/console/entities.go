package console

import (
	"cmp"
	"context"
	"errors"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/chart"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/store"
)

// entitiesPerPage is how many entities a list shows at once, and mostDescribed how many
// descriptions are looked at for a type: what something is stands in its description
// and in no index.
const (
	entitiesPerPage = 50
	mostDescribed   = 500
	mostSkipped     = 100_000
)

// entitiesBody is the list of entities.
type entitiesBody struct {
	Question string
	Type     string
	Types    []choice
	Hits     []entity.Hit
	Total    int
	Most     bool // of this type there may be more
	Next     string
	Describe []string // types that a new one may have
}

func entitiesPage(v *visit) error {
	q := v.r.URL.Query()
	b := entitiesBody{Question: strings.TrimSpace(q.Get("q")), Type: q.Get("type"), Describe: describable()}
	if !slices.Contains(b.Describe, b.Type) {
		b.Type = ""
	}
	b.Types = []choice{{Name: "all", Path: without(v, "type"), Here: b.Type == ""}}
	for _, t := range b.Describe {
		b.Types = append(b.Types, choice{Name: t, Path: with(v.r.URL, "type", t), Here: t == b.Type})
	}
	skip := v.number("before", 0, 0, mostSkipped)
	err := v.withStore(func(s store.Engine) error {
		var found entity.Matches
		var err error
		if b.Type == "" {
			found, err = entity.SearchFrom(v.ctx(), s, b.Question, v.stands(), skip, entitiesPerPage)
		} else {
			found, b.Most, err = v.ofType(s, b.Type, b.Question, skip)
		}
		b.Hits, b.Total = found.Hits, found.Total
		return err
	})
	if err != nil {
		return err
	}
	if n := skip + len(b.Hits); n < b.Total && len(b.Hits) > 0 {
		b.Next = with(v.r.URL, "before", strconv.Itoa(n))
	}
	return v.page("entities", page{Title: "Entities", Section: secStructure, Tab: "Entities", Live: []string{liveClaims}, Body: b})
}

// stands is the filter of what holds now, in every scope.
func (v *visit) stands() *ken.Filter { return &ken.Filter{Unscoped: true, Now: v.now().UTC()} }

// describable are the types that an entity can be said to have.
func describable() []string {
	return slices.DeleteFunc(entity.Types(), func(t string) bool { return t == entity.Unknown || t == task.Type })
}

// ofType finds entities that were described as being of a type, by name, with a part of
// it if one is asked for. more says that only the latest descriptions were looked at.
func (v *visit) ofType(s store.Engine, typ, part string, skip int) (found entity.Matches, more bool, err error) {
	found.Hits = []entity.Hit{}
	f := v.stands()
	f.Kinds = []ken.Kind{ken.KindEntity}
	newest, err := s.Newest(v.ctx(), f, mostDescribed)
	if err != nil {
		return found, false, err
	}
	if part != "" {
		if part, err = entity.Spell(part); err != nil {
			return found, false, nil //nolint:nilerr // what is no name is part of none
		}
	}
	displays := map[string]string{}
	for _, h := range newest.Hits {
		c, err := s.Claim(v.ctx(), h.Ref)
		if errors.Is(err, ken.ErrNotFound) {
			continue
		}
		if err != nil {
			return found, false, err
		}
		if c.Aspect != typ || len(c.Entities) == 0 {
			continue
		}
		name, err := entity.Spell(c.Entities[0])
		if err != nil || displays[name] != "" || !strings.Contains(name, part) {
			continue
		}
		displays[name] = displayed(c.Text, name)
		found.Hits = append(found.Hits, entity.Hit{Name: name, Display: displays[name], Type: typ, Match: entity.MatchPart})
	}
	found.Total = len(found.Hits)
	slices.SortFunc(found.Hits, func(a, b entity.Hit) int { return strings.Compare(a.Name, b.Name) })
	found.Hits = found.Hits[min(skip, found.Total):min(skip+entitiesPerPage, found.Total)]
	return found, len(newest.Hits) == mostDescribed, v.countHits(v.ctx(), s, found.Hits)
}

// displayed is an entity's name as its description writes it, as in "Payments: moves
// the money".
func displayed(text, name string) string {
	first, _, _ := strings.Cut(text, ":")
	if s, err := entity.Spell(first); err == nil && s == name {
		return strings.TrimSpace(first)
	}
	return name
}

// countHits says how much is known of each.
func (v *visit) countHits(ctx context.Context, s store.Engine, hits []entity.Hit) error {
	names := make([]string, len(hits))
	for i := range hits {
		names[i] = hits[i].Name
	}
	outlines, err := s.Outlines(ctx, names, v.stands(), store.OutlineOptions{Aspects: 1, Top: 1, Links: 1})
	if err != nil {
		return err
	}
	for i := range outlines {
		hits[i].Records, hits[i].Constraints = outlines[i].Records, len(outlines[i].Constraints)
	}
	return nil
}

// without is the page's address with a value taken out, from the first page on.
func without(v *visit, name string) string {
	u := *v.r.URL
	q := u.Query()
	for _, gone := range []string{name, "before", "did"} {
		q.Del(gone)
	}
	u.RawQuery = q.Encode()
	return u.RequestURI()
}

// entityBody is an entity's page.
type entityBody struct {
	View     entity.View
	Now      time.Time
	Own      []ruleRow // rules of its own
	Near     []ruleRow // of what is one dependency away
	Aspects  []aspectView
	Links    []linkTable // what it depends on, and what depends on it
	Tasks    []taskLine
	Evidence []pieceCount
	Saying   []row // claims that say what it is
	Old      []row // what was replaced
	OldPath  string
	Around   neighbourhood
	Types    []string // that it may be said to have
	Ways     []string // of depending
	Known    bool     // somebody said what it is
}

// ruleRow is a constraint. Its text is whole: half a rule is another rule.
type ruleRow struct {
	row
	Via, Says string
}

// aspectView is an aspect with its claims.
type aspectView struct {
	Name   string
	Weight float64
	Rows   []row
	Rules  int // that are filed under it, and listed above
	More   int // claims that are not shown
}

// linkTable are the dependencies of one direction.
type linkTable struct {
	Title, Other string // of the table, and of its column of names
	Out          bool   // from the entity
	Links        []dependency
}

// dependency is one of them, as people say it.
type dependency struct {
	entity.Dependency
	How string
}

// taskLine is a task as a line of a list.
type taskLine struct {
	task.Task
	Tone  string
	State string
}

// pieceCount is how many pieces of a kind of evidence there are.
type pieceCount struct {
	Name  string
	Count int
}

// neighbourhood is a drawn graph and what is read in its place.
type neighbourhood struct {
	Drawn, List template.HTML
	Depths      []choice
	Nodes       int
	Left        int // that did not fit
}

// attributesShown is how many claims of an aspect an entity's page has: who wants all of
// them looks at the store.
const attributesShown = 8

func entityPage(v *visit) error {
	name, old := v.r.PathValue("name"), v.text("old") == "yes"
	b := entityBody{Now: v.now(), Types: describable(), Ways: structure.DependencyTypes()}
	err := v.withStore(func(s store.Engine) (err error) {
		b.View, err = entity.Show(v.ctx(), s, name, v.stands(), func(o *entity.Options) {
			o.Now, o.DecayDays, o.Superseded, o.Attributes = v.con.o.Now, v.con.l.Config().Knowledge.DecayDays, old, attributesShown
		})
		if err != nil {
			return err
		}
		b.Around, err = v.aroundEntity(s, b.View.Name)
		return err
	})
	if err != nil {
		return err
	}
	v.fillEntity(&b)
	if !old {
		b.OldPath = with(v.r.URL, "old", "yes")
	}
	return v.page("entity", page{Title: b.View.Display, Section: secStructure, Tab: "Entities", Live: []string{liveClaims}, Body: b})
}

// fillEntity makes lines of what the view has.
func (v *visit) fillEntity(b *entityBody) {
	e := &b.View
	for i := range e.Constraints {
		c := &e.Constraints[i]
		r := ruleRow{v.known(&c.Claim), c.Via, c.Says}
		if c.Distance == 0 {
			b.Own = append(b.Own, r)
		} else {
			b.Near = append(b.Near, r)
		}
	}
	for i := range e.Aspects {
		a := &e.Aspects[i]
		if len(a.Attributes) == 0 { // rules alone, which are listed already
			continue
		}
		b.Aspects = append(b.Aspects, aspectView{Name: a.Name, Weight: a.Weight, Rows: v.knownAll(a.Attributes), Rules: a.Constraints,
			More: max(a.Claims-a.Constraints-len(a.Attributes), 0)})
	}
	b.Links = []linkTable{{"Depends on", "What", true, dependencies(e.Dependencies)}, {"Needed by", "By what", false, dependencies(e.Dependents)}}
	for i := range e.Tasks {
		b.Tasks = append(b.Tasks, taskLineOf(e.Tasks[i]))
	}
	for _, k := range slices.SortedFunc(maps.Keys(e.Evidence), func(a, b ken.EvidenceKind) int {
		return cmp.Or(cmp.Compare(e.Evidence[b], e.Evidence[a]), cmp.Compare(a, b))
	}) {
		b.Evidence = append(b.Evidence, pieceCount{spaced(string(k)), e.Evidence[k]})
	}
	b.Saying, b.Old = v.knownAll(e.Descriptions), v.knownAll(e.Superseded)
	b.Known = slices.ContainsFunc(e.Descriptions, func(c entity.Claim) bool { return c.Kind == ken.KindEntity })
}

func dependencies(links []entity.Dependency) []dependency {
	out := make([]dependency, len(links))
	for i := range links {
		out[i] = dependency{links[i], spaced(links[i].Type)}
	}
	return out
}

// spaced is a word of ours as people write it.
func spaced(word string) string { return strings.ReplaceAll(word, "_", " ") }

// known is a claim of a view as a line of a list.
func (v *visit) known(c *entity.Claim) row {
	whole := v.con.l.View(c.Whole)
	return rowOf(&whole, v.now())
}

func (v *visit) knownAll(claims []entity.Claim) []row {
	out := make([]row, len(claims))
	for i := range claims {
		out[i] = v.known(&claims[i])
	}
	return out
}

// taskTones are the tones of the states of tasks.
var taskTones = map[task.Status]string{task.InProgress: "info", task.Blocked: "warning", task.Done: "success"}

func taskLineOf(t task.Task) taskLine {
	r := taskLine{Task: t, Tone: taskTones[t.Status], State: spaced(string(t.Status))}
	if t.Expired {
		r.State, r.Tone = r.State+", expired", "warning"
	}
	return r
}

// aroundEntity draws what is around an entity, as far as the address asks for.
func (v *visit) aroundEntity(s store.Engine, name string) (neighbourhood, error) {
	depth := v.number("depth", 1, 1, entity.MaxDepth)
	g, err := entity.Neighbourhood(v.ctx(), s, name, depth, v.stands(), func(o *entity.Options) { o.Now = v.con.o.Now })
	if err != nil {
		return neighbourhood{}, err
	}
	d := chart.GraphData{Title: "Around " + name}
	for _, n := range g.Nodes {
		node := chart.Node{ID: n.Name, Label: n.Display, Kind: n.Type, Count: n.Records, Root: n.Name == g.Root,
			Info: plural(n.Records, "record", "records") + ", " + plural(n.Constraints, "rule", "rules")}
		if node.Kind == entity.Unknown {
			node.Kind = ""
		}
		if !node.Root {
			node.Href = pathOf("entities", n.Name) + "?depth=" + strconv.Itoa(depth)
		}
		d.Nodes = append(d.Nodes, node)
	}
	for _, e := range g.Edges {
		d.Edges = append(d.Edges, chart.Edge{From: e.Source, To: e.Target, Label: spaced(e.Type), Weight: e.Strength})
	}
	return v.drawn(&d, depth, entity.MaxDepth, g.Left), nil
}

// drawn draws a neighbourhood, with links to others of another depth.
func (v *visit) drawn(d *chart.GraphData, depth, deepest, left int) neighbourhood {
	out := neighbourhood{Drawn: chart.Graph(*d), List: chart.GraphList(*d), Nodes: len(d.Nodes), Left: left}
	for i := 1; i <= deepest; i++ {
		out.Depths = append(out.Depths, choice{Name: strconv.Itoa(i), Here: i == depth, Path: with(v.r.URL, "depth", strconv.Itoa(i)) + "#around"})
	}
	return out
}

// editing is a handler that changes the entity of the path and goes back to its page.
func editing(did string, do func(v *visit, e *edit.Editor, name string) error) func(*visit) error {
	return func(v *visit) error {
		name := v.r.PathValue("name")
		err := v.withStore(func(s store.Engine) error { return do(v, v.desk(s).Editor(), name) })
		if err != nil {
			return err
		}
		return v.did(v.back(pathOf("entities", name)), did)
	}
}

// said is a value of the form without what surrounds it.
func (v *visit) said(name string) string { return strings.TrimSpace(v.r.PostForm.Get(name)) }

// renameEntity goes on to the page under the new name.
func renameEntity(v *visit) error {
	name := v.said("to")
	err := v.withStore(func(s store.Engine) error {
		_, err := v.desk(s).Editor().Rename(v.ctx(), v.r.PathValue("name"), name)
		return err
	})
	if err != nil {
		return err
	}
	return v.did(pathOf("entities", name), "renamed")
}

func mergeEntity(v *visit, e *edit.Editor, name string) error {
	_, err := e.Merge(v.ctx(), name, v.said("into"), v.said("reason"))
	return err
}

func aliasEntity(v *visit, e *edit.Editor, name string) error {
	_, err := e.Alias(v.ctx(), name, v.said("other"), v.said("reason"))
	return err
}

func splitEntity(v *visit, e *edit.Editor, _ string) error {
	_, err := e.Split(v.ctx(), v.said("alias"), v.said("reason"))
	return err
}

func describeEntity(v *visit, e *edit.Editor, name string) error {
	_, err := e.Describe(v.ctx(), name, v.said("type"), v.said("text"))
	return err
}

// describeNew describes an entity that may not be known yet, by the name in the form.
func describeNew(v *visit) error {
	name := v.said("name")
	err := v.withStore(func(s store.Engine) error { return describeEntity(v, v.desk(s).Editor(), name) })
	if err != nil {
		return err
	}
	return v.did(pathOf("entities", name), "described")
}

func ruleEntity(v *visit, e *edit.Editor, name string) error {
	_, err := e.AddConstraint(v.ctx(), edit.NewConstraint{Text: v.said("text"), Entities: []string{name}, Aspect: v.said("aspect")})
	return err
}

// Which way a new dependency leads.
const (
	dependsOn = "on" // the entity depends on the other one
	neededBy  = "by"
)

func linkEntity(v *visit, e *edit.Editor, name string) error {
	source, target := name, v.said("other")
	switch v.said("way") {
	case dependsOn:
	case neededBy:
		source, target = target, source
	default:
		return &ken.Error{Code: ken.CodeInvalid, Field: "way", Msg: "says neither which of the two depends on the other", Try: "Choose one of the two ways."}
	}
	strength := 0.0
	if s := v.said("strength"); s != "" {
		var err error
		if strength, err = strconv.ParseFloat(s, 64); err != nil {
			return &ken.Error{Code: ken.CodeInvalid, Field: "strength", Msg: "is no number", Try: "Give a number from 0 to 1."}
		}
	}
	_, err := e.AddDependency(v.ctx(), source, v.said("type"), target, strength)
	return err
}

func unlinkEntity(v *visit, e *edit.Editor, _ string) error {
	_, err := e.RemoveDependency(v.ctx(), v.said("source"), v.said("type"), v.said("target"), v.said("reason"))
	return err
}
