package console

import (
	"cmp"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/chart"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/store"
)

type entityBody struct {
	View     entity.View
	Now      time.Time
	Own      []ruleRow // its own rules
	Near     []ruleRow // rules of its direct dependencies
	Aspects  []aspectView
	Links    []linkTable // dependencies in both directions
	Tasks    []taskLine
	Evidence []pieceCount
	Saying   []row // claims that describe it
	Old      []row // replaced claims
	OldPath  string
	Around   neighbourhood
	Types    []string // types that it may have
	Ways     []string // types of dependencies
	Known    bool     // it has a description
}

// ruleRow is a constraint. Its text is not cut, because a cut rule could mean something
// else.
type ruleRow struct {
	row
	Via, Says string
}

type aspectView struct {
	Name   string
	Weight float64
	Rows   []row
	Rules  int // rules under the aspect, which are listed above
	More   int // claims not shown
}

type linkTable struct {
	Title, Other string // titles of the table and of its column of names
	Out          bool   // from the entity to others
	Links        []dependency
}

type dependency struct {
	entity.Dependency
	How string
}

type taskLine struct {
	task.Task
	Tone  string
	State string
}

// pieceCount is the number of pieces of evidence of a kind.
type pieceCount struct {
	Name  string
	Count int
}

// neighbourhood is a drawn graph with its text form.
type neighbourhood struct {
	Drawn, List template.HTML
	Depths      []choice
	Nodes       int
	Left        int // nodes left out
}

// attributesShown is how many claims of an aspect an entity's page shows.
const attributesShown = 8

func entityPage(v *visit) error {
	name, old := v.r.PathValue("name"), v.param("old") == "yes"
	b := entityBody{Now: v.now(), Types: describableTypes(), Ways: structure.DependencyTypes()}
	err := v.withStore(func(s store.Engine) (err error) {
		b.View, err = entity.Show(v.ctx(), s, name, v.currentFilter(), func(o *entity.Options) {
			o.Now, o.DecayDays, o.Superseded, o.Attributes = v.con.opts.Now, v.con.layer.Config().Knowledge.DecayDays, old, attributesShown
		})
		if err != nil {
			return err
		}
		b.Around, err = v.entityGraph(s, b.View.Name)
		return err
	})
	if err != nil {
		return err
	}
	v.fillEntity(&b)
	if !old {
		b.OldPath = withParam(v.r.URL, "old", "yes")
	}
	return v.page("entity", page{Title: b.View.Display, Section: secStructure, Tab: "Entities", Live: []string{liveClaims}, Body: b})
}

func (v *visit) fillEntity(b *entityBody) {
	e := &b.View
	for i := range e.Constraints {
		c := &e.Constraints[i]
		r := ruleRow{v.claimRow(&c.Claim), c.Via, c.Says}
		if c.Distance == 0 {
			b.Own = append(b.Own, r)
		} else {
			b.Near = append(b.Near, r)
		}
	}
	for i := range e.Aspects {
		a := &e.Aspects[i]
		if len(a.Attributes) == 0 { // only rules, which are listed already
			continue
		}
		b.Aspects = append(b.Aspects, aspectView{Name: a.Name, Weight: a.Weight, Rows: mapped(a.Attributes, v.claimRow), Rules: a.Constraints,
			More: max(a.Claims-a.Constraints-len(a.Attributes), 0)})
	}
	b.Links = []linkTable{{"Depends on", "What", true, dependencies(e.Dependencies)}, {"Needed by", "By what", false, dependencies(e.Dependents)}}
	b.Tasks = mapped(e.Tasks, taskLineOf)
	for _, k := range slices.SortedFunc(maps.Keys(e.Evidence), func(a, b ken.EvidenceKind) int {
		return cmp.Or(cmp.Compare(e.Evidence[b], e.Evidence[a]), cmp.Compare(a, b))
	}) {
		b.Evidence = append(b.Evidence, pieceCount{words(k), e.Evidence[k]})
	}
	b.Saying, b.Old = mapped(e.Descriptions, v.claimRow), mapped(e.Superseded, v.claimRow)
	b.Known = slices.ContainsFunc(e.Descriptions, func(c entity.Claim) bool { return c.Kind == ken.KindEntity })
}

func dependencies(links []entity.Dependency) []dependency {
	return mapped(links, func(d *entity.Dependency) dependency { return dependency{*d, words(d.Type)} })
}

func (v *visit) claimRow(c *entity.Claim) row {
	whole := v.con.layer.Operator().View(c.Whole)
	return rowOf(&whole, v.now())
}

// taskTones gives the tones of task statuses.
var taskTones = map[task.Status]string{task.InProgress: "info", task.Blocked: "warning", task.Done: "success"}

func taskLineOf(t *task.Task) taskLine {
	r := taskLine{Task: *t, Tone: taskTones[t.Status], State: words(t.Status)}
	if t.Expired {
		r.State, r.Tone = r.State+", expired", "warning"
	}
	return r
}

// entityGraph draws the neighbourhood of an entity, up to the depth in the address.
func (v *visit) entityGraph(s store.Engine, name string) (neighbourhood, error) {
	depth := v.intParam("depth", 1, 1, entity.MaxDepth)
	g, err := entity.Neighbourhood(v.ctx(), s, name, depth, v.currentFilter(), func(o *entity.Options) { o.Now = v.con.opts.Now })
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
		d.Edges = append(d.Edges, chart.Edge{From: e.Source, To: e.Target, Label: words(e.Type), Weight: e.Strength})
	}
	return v.drawGraph(&d, depth, entity.MaxDepth, g.Left), nil
}

func (v *visit) drawGraph(d *chart.GraphData, depth, deepest, left int) neighbourhood {
	out := neighbourhood{Drawn: chart.Graph(*d), List: chart.GraphList(*d), Nodes: len(d.Nodes), Left: left}
	for i := 1; i <= deepest; i++ {
		out.Depths = append(out.Depths, choice{Name: strconv.Itoa(i), Here: i == depth, Path: withParam(v.r.URL, "depth", strconv.Itoa(i)) + "#around"})
	}
	return out
}

// entityAction returns a handler that changes the entity of the path and redirects to
// its page.
func entityAction(did string, do func(v *visit, e *edit.Editor, name string) (ken.Claim, error)) func(*visit) error {
	return func(v *visit) error {
		name := v.r.PathValue("name")
		return v.changeEntity(v.returnPath(pathOf("entities", name)), did, func(e *edit.Editor) (ken.Claim, error) { return do(v, e, name) })
	}
}

// changeEntity is change for the editor of entities.
func (v *visit) changeEntity(path, did string, do func(*edit.Editor) (ken.Claim, error)) error {
	return v.change(path, did, func(d *operator.Desk) error {
		_, err := do(d.Editor())
		return err
	})
}

// formValue returns a form value without surrounding space.
func (v *visit) formValue(name string) string { return strings.TrimSpace(v.r.PostForm.Get(name)) }

// renameEntity redirects to the page of the new name.
func renameEntity(v *visit) error {
	name := v.formValue("to")
	return v.changeEntity(pathOf("entities", name), "renamed", func(e *edit.Editor) (ken.Claim, error) {
		return e.Rename(v.ctx(), v.r.PathValue("name"), name)
	})
}

func mergeEntity(v *visit, e *edit.Editor, name string) (ken.Claim, error) {
	return e.Merge(v.ctx(), name, v.formValue("into"), v.formValue("reason"))
}

func aliasEntity(v *visit, e *edit.Editor, name string) (ken.Claim, error) {
	return e.Alias(v.ctx(), name, v.formValue("other"), v.formValue("reason"))
}

func splitEntity(v *visit, e *edit.Editor, _ string) (ken.Claim, error) {
	return e.Split(v.ctx(), v.formValue("alias"), v.formValue("reason"))
}

func describeEntity(v *visit, e *edit.Editor, name string) (ken.Claim, error) {
	return e.Describe(v.ctx(), name, v.formValue("type"), v.formValue("text"))
}

// describeNew describes the entity that the form names. The entity may be new.
func describeNew(v *visit) error {
	name := v.formValue("name")
	return v.changeEntity(pathOf("entities", name), "described", func(e *edit.Editor) (ken.Claim, error) { return describeEntity(v, e, name) })
}

func ruleEntity(v *visit, e *edit.Editor, name string) (ken.Claim, error) {
	c, err := e.AddConstraint(v.ctx(), edit.NewConstraint{Text: v.formValue("text"), Entities: []string{name}, Aspect: v.formValue("aspect")})
	return c.Claim, err
}

// The direction of a new dependency.
const (
	dependsOn = "on" // the entity depends on the other
	neededBy  = "by"
)

func linkEntity(v *visit, e *edit.Editor, name string) (ken.Claim, error) {
	source, target := name, v.formValue("other")
	switch v.formValue("way") {
	case dependsOn:
	case neededBy:
		source, target = target, source
	default:
		return ken.Claim{}, &ken.Error{Code: ken.CodeInvalid, Field: "way", Msg: "the direction of the dependency is missing", Try: "Choose one of the two directions."}
	}
	strength := 0.0
	if s := v.formValue("strength"); s != "" {
		var err error
		if strength, err = strconv.ParseFloat(s, 64); err != nil {
			return ken.Claim{}, &ken.Error{Code: ken.CodeInvalid, Field: "strength", Msg: "is not a number", Try: "Give a number from 0 to 1."}
		}
	}
	return e.AddDependency(v.ctx(), source, v.formValue("type"), target, strength)
}

func unlinkEntity(v *visit, e *edit.Editor, _ string) (ken.Claim, error) {
	return e.RemoveDependency(v.ctx(), v.formValue("source"), v.formValue("type"), v.formValue("target"), v.formValue("reason"))
}
