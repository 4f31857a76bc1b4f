package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
)

// editor changes the structure for the caller. What it writes is the agent's, whatever
// it cites, and a rule only where no external source says so.
func (c *Call) editor(tool string, evidence []ken.Evidence) *edit.Editor {
	return edit.New(c.Store, edit.Options{Now: c.Now, Actor: c.actor(), Evidence: evidence, By: ken.AssignedByModel, Scope: c.scope(), Scopes: c.Scopes,
		Project: c.Project, Session: c.Session, Branch: c.Branch, SourceType: "tool:" + tool})
}

// seen admits what stands now, is within the caller's scopes and trusted enough.
func (c *Call) seen() *ken.Filter {
	f := c.filter(nil)
	f.MinTrust, f.Now = c.r.layer.Config().Retrieval.MinTrust, c.Now()
	return &f
}

// backed is the evidence of something that an agent says: what it gives, or its word.
// Where the words are those of an external claim, that claim is evidence too, and so
// they stay external: to say again what a page says must not make it the agent's.
func (c *Call) backed(ctx context.Context, text string, given []evidenceView) (evidenceRead, error) {
	if len(given) == 0 {
		given = []evidenceView{{Kind: string(ken.EvidenceAgentAssertion)}}
	}
	ev, err := c.evidence(ctx, given)
	if err != nil {
		return ev, err
	}
	ids, err := c.repeats(ctx, text)
	if err != nil {
		return ev, err
	}
	for _, id := range ids {
		k, err := c.Store.Get(ctx, id)
		if errors.Is(err, ken.ErrNotFound) {
			continue
		}
		if err != nil {
			return ev, err
		}
		if k.Support(nil).Trust < ken.TrustAgent {
			from := ken.FromRepositoryMemory(id)
			from.Trust, from.FetchedAt = ken.TrustExternal, c.Now()
			ev.pieces = append(ev.pieces, from)
			ev.notes = append(ev.notes, "claim "+shortID(id)+" of an external source says so, and this is as external as that")
		}
	}
	return ev, nil
}

// repeats are the claims that say what a text says: that the caller was shown in this
// session, or that are known.
func (c *Call) repeats(ctx context.Context, text string) ([]string, error) {
	var ids []string
	id, echo, err := c.echo(ctx, text)
	if err != nil {
		return nil, err
	}
	if echo && id != "" {
		ids = append(ids, id)
	}
	k := ken.Claim{Kind: ken.KindFact, Text: text, Scope: c.scope(), Status: ken.StatusObserved, CreatedAt: c.Now(),
		Evidence: []ken.Evidence{ken.FromAgentAssertion(c.Agent, "")}}
	known, err := consolidate.Similar(ctx, c.Store, k)
	if err != nil {
		return nil, err
	}
	known = slices.DeleteFunc(known, func(o ken.Claim) bool { return !c.sees(&o) })
	if a := consolidate.Plan(k, known); a.Do == consolidate.Skip || a.Do == consolidate.Reinforce {
		for _, id := range append(a.IDs, a.Own) {
			if id != "" && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}

// when reads a date or a time; zero for nothing.
func when(field, s string) (time.Time, error) {
	if s = strings.TrimSpace(s); s == "" || s == "never" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, invalid(field, clipped(s)+" is no time", "Write it as in 2026-12-31 or 2026-12-31T18:00:00Z.")
}

// names makes names fit to be shown in a line.
func names(list []string) string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = oneLine(n, maxName)
	}
	return strings.Join(out, ", ")
}

// maxName bounds what is shown of a name, in code points.
const maxName = 120

// entitySearchIn are entity_search's arguments.
type entitySearchIn struct {
	Query  string `json:"query,omitempty" rule:"chars=200" jsonschema:"a name or part of one; default: all"`
	Limit  int    `json:"limit,omitempty" rule:"min=1;max=50;default=20"`
	Offset int    `json:"offset,omitempty" rule:"min=0;max=100000" jsonschema:"next of the page before"`
}

// entityFound is an entity that a search found.
type entityFound struct {
	Name        string   `json:"name"`
	Display     string   `json:"display,omitempty" jsonschema:"as people write it"`
	Type        string   `json:"type"`
	Of          []string `json:"of,omitempty" jsonschema:"what the name is another name of"`
	Match       string   `json:"match" rule:"enum=exact|prefix|word|part|near|any" jsonschema:"how the name matches"`
	Records     int      `json:"records" jsonschema:"how many claims are about it or mention it"`
	Constraints int      `json:"constraints,omitempty" jsonschema:"how many of these are rules"`
}

// entitySearchOutput are what a search found, best first.
type entitySearchOutput struct {
	Entities []entityFound `json:"entities"`
	Total    int           `json:"total"`
	Next     int           `json:"next,omitempty" jsonschema:"the offset of the next page; none when this is the last"`
}

// Write implements Output.
func (f *entitySearchOutput) Write(p *Page) {
	if len(f.Entities) == 0 {
		p.Line("No entity of such a name is known.")
		return
	}
	p.Line(strconv.Itoa(len(f.Entities)) + " of " + strconv.Itoa(f.Total) + " entities, best first. See one with entity_show.")
	if f.Next > 0 {
		p.Line("There is more: offset " + strconv.Itoa(f.Next))
	}
	lines := make([]string, len(f.Entities))
	for i := range f.Entities {
		e := &f.Entities[i]
		s := e.Name + " (" + e.Type + ")"
		if e.Display != "" && e.Display != e.Name {
			s = e.Display + " = " + s
		}
		if len(e.Of) > 0 {
			s += ", another name of " + names(e.Of)
		}
		s += ": " + strconv.Itoa(e.Records) + " records"
		if e.Constraints > 0 {
			s += ", " + strconv.Itoa(e.Constraints) + " constraints"
		}
		lines[i] = s
	}
	p.Part("entities", lines)
}

func entitySearch() Tool {
	return Define(Spec{Name: "entity_search", Title: "Find entities", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Find known things (services, people, files, concepts, tools) by a name or part of one, misspelled ones too. " +
			"Then see one with entity_show.",
		Example: `{"query":"payments"}`},
		func(ctx context.Context, c *Call, in entitySearchIn) (*entitySearchOutput, error) {
			if in.Limit == 0 {
				in.Limit = 20
			}
			found, err := entity.SearchFrom(ctx, c.Store, in.Query, c.seen(), in.Offset, in.Limit)
			if err != nil {
				return nil, err
			}
			out := &entitySearchOutput{Entities: []entityFound{}, Total: found.Total}
			for _, h := range found.Hits {
				out.Entities = append(out.Entities, entityFound{Name: h.Name, Display: oneLine(h.Display, maxName), Type: oneLine(h.Type, maxName), Of: h.Of,
					Match: h.Match, Records: h.Records, Constraints: h.Constraints})
			}
			if n := in.Offset + len(found.Hits); n < found.Total && len(found.Hits) > 0 {
				out.Next = n
			}
			return out, nil
		})
}

// entityShowIn are entity_show's arguments.
type entityShowIn struct {
	Name       string `json:"name" rule:"filled;chars=200" jsonschema:"any name of the entity"`
	Superseded bool   `json:"superseded,omitempty" jsonschema:"also show replaced claims"`
}

// ruleView is a constraint that holds for an entity.
type ruleView struct {
	Claim claimView `json:"claim"`
	Via   string    `json:"via,omitempty" jsonschema:"the entity one dependency away that the rule is about; none when it is this one"`
}

// aspectView is a side of an entity.
type aspectView struct {
	Name   string      `json:"name" jsonschema:"empty for what has no aspect yet"`
	Weight float64     `json:"weight" jsonschema:"how much it counts, 0 to 1"`
	Total  int         `json:"total" jsonschema:"how many claims are under it, rules included"`
	Claims []claimView `json:"claims" jsonschema:"without rules"`
}

// linkView is a dependency.
type linkView struct {
	Name     string  `json:"name" jsonschema:"the other end"`
	Type     string  `json:"type"`
	Strength float64 `json:"strength"`
	ID       string  `json:"id" jsonschema:"of the claim"`
	Trust    string  `json:"trust"`
}

// entityShowOutput is what is known of an entity.
type entityShowOutput struct {
	Name         string       `json:"name"`
	Display      string       `json:"display,omitempty" jsonschema:"as people write it"`
	Type         string       `json:"type"`
	About        string       `json:"about,omitempty"`
	Aliases      []string     `json:"aliases,omitempty" jsonschema:"other names of it"`
	Others       []string     `json:"others,omitempty" jsonschema:"other entities that the name may mean"`
	Records      int          `json:"records"`
	Constraints  []ruleView   `json:"constraints" jsonschema:"rules that must be kept: its own, then those of what is one dependency away"`
	More         int          `json:"more_constraints,omitempty" jsonschema:"constraints that are left out here"`
	Aspects      []aspectView `json:"aspects" jsonschema:"what counts most first"`
	Dependencies []linkView   `json:"dependencies" jsonschema:"what it depends on"`
	Dependents   []linkView   `json:"dependents" jsonschema:"what depends on it"`
	Tasks        []taskView   `json:"tasks"`
	Superseded   []claimView  `json:"superseded,omitempty"`
}

// Bounds of what entity_show shows. A page of text has less room still.
const (
	maxRules      = 200
	shownAspects  = 10
	shownOfAspect = 10
	shownLinks    = 40
)

// Write implements Output.
func (s *entityShowOutput) Write(p *Page) {
	head := "What is known of " + s.Name + " (" + s.Type + "): " + strconv.Itoa(s.Records) + " records."
	if len(s.Aliases) > 0 {
		head += " Other names: " + names(s.Aliases) + "."
	}
	p.Line(head)
	if len(s.Others) > 0 {
		p.Line("The name may also mean " + names(s.Others) + ".")
	}
	if s.More > 0 {
		p.Line(strconv.Itoa(s.More) + " more constraints are left out.")
	}
	if s.About != "" {
		p.Part("what it is", []string{s.About})
	}
	for i := range s.Constraints {
		p.Item(&s.Constraints[i].Claim)
	}
	links(p, "depends on", s.Dependencies)
	links(p, "what depends on it", s.Dependents)
	if len(s.Tasks) > 0 {
		lines := make([]string, len(s.Tasks))
		for i := range s.Tasks {
			lines[i] = s.Tasks[i].line()
		}
		p.Part("tasks", lines)
	}
	for i := range s.Aspects {
		a := &s.Aspects[i]
		for j := range a.Claims {
			p.Item(&a.Claims[j])
		}
	}
	for i := range s.Superseded {
		p.Item(&s.Superseded[i])
	}
}

func links(p *Page, title string, all []linkView) {
	if len(all) == 0 {
		return
	}
	lines := make([]string, len(all))
	for i, l := range all {
		lines[i] = fmt.Sprintf("%s: %s (%.2g)", l.Type, l.Name, l.Strength)
		if l.Trust == external {
			lines[i] += " external"
		}
	}
	p.Part(title, lines)
}

func entityShow() Tool {
	return Define(Spec{Name: "entity_show", Title: "Show an entity", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Show what is known of one thing: its rules and those of its neighbours, its dependencies, tasks and facts. " +
			"Look here before you change it.",
		Example: `{"name":"payments"}`},
		func(ctx context.Context, c *Call, in entityShowIn) (*entityShowOutput, error) {
			v, err := entity.Show(ctx, c.Store, in.Name, c.seen(), func(o *entity.Options) {
				o.Now, o.Superseded, o.Aspects, o.Attributes, o.Links = c.Now, in.Superseded, shownAspects, shownOfAspect, shownLinks
			})
			if err != nil {
				return nil, err
			}
			return c.showEntity(&v), nil
		})
}

func (c *Call) showEntity(v *entity.View) *entityShowOutput {
	out := &entityShowOutput{Name: v.Name, Display: oneLine(v.Display, maxName), Type: oneLine(v.Type, maxName), About: bounded(safe(v.About), maxItem),
		Aliases: v.Aliases, Others: v.Others, Records: v.Records, Constraints: []ruleView{}, Aspects: []aspectView{}, Dependencies: c.showLinks(v.Dependencies),
		Dependents: c.showLinks(v.Dependents), Tasks: []taskView{}, More: max(0, len(v.Constraints)-maxRules)}
	for _, r := range v.Constraints[:min(len(v.Constraints), maxRules)] {
		out.Constraints = append(out.Constraints, ruleView{c.show(r.Whole), r.Via})
	}
	for _, a := range v.Aspects {
		shown := aspectView{oneLine(a.Name, maxName), a.Weight, a.Claims, []claimView{}}
		for _, k := range a.Attributes {
			shown.Claims = append(shown.Claims, c.show(k.Whole))
		}
		out.Aspects = append(out.Aspects, shown)
	}
	for _, t := range v.Tasks[:min(len(v.Tasks), shownLinks)] {
		out.Tasks = append(out.Tasks, c.showTask(t))
	}
	for _, k := range v.Superseded {
		out.Superseded = append(out.Superseded, c.show(k.Whole))
	}
	return out
}

func (c *Call) showLinks(all []entity.Dependency) []linkView {
	out := []linkView{}
	for _, d := range all {
		k := c.show(d.Claim.Whole)
		out = append(out, linkView{oneLine(d.Name, maxName), oneLine(d.Type, maxName), d.Strength, k.ID, k.Trust})
	}
	return out
}

// dependencyIn are dependency_add's arguments.
type dependencyIn struct {
	Source   string         `json:"source" rule:"filled;chars=200" jsonschema:"what depends"`
	Type     string         `json:"type" rule:"enum=uses|requires|owned_by|blocks|informs"`
	Target   string         `json:"target" rule:"filled;chars=200" jsonschema:"what it depends on"`
	Strength *float64       `json:"strength,omitempty" rule:"min=0.01;max=1" jsonschema:"default 0.5; below 0.3 it is not followed by default"`
	Evidence []evidenceView `json:"evidence,omitempty" rule:"items=20" jsonschema:"who or what says so; default: your own word"`
}

// dependencyAddOutput is a dependency as it stands.
type dependencyAddOutput struct {
	ID       string   `json:"id"`
	Text     string   `json:"text"`
	Strength float64  `json:"strength"`
	Status   string   `json:"status"`
	Tier     string   `json:"tier" jsonschema:"how far it may be believed: Verified, Inferred, Assumed or Guessed"`
	Trust    string   `json:"trust"`
	Notes    []string `json:"notes,omitempty"`
}

// Write implements Output.
func (d *dependencyAddOutput) Write(p *Page) {
	p.Line("It is known now that " + d.Text + ".")
	p.Line("id " + d.ID + ", " + d.Status + ", tier " + d.Tier + ", trust " + d.Trust)
	for _, n := range d.Notes {
		p.Line("note: " + n)
	}
}

func dependencyAdd() Tool {
	return Define(Spec{Name: "dependency_add", Title: "Add a dependency", Effect: Writes, Right: Write, Idempotent: true,
		Description: "Record that one thing uses, requires, is owned by, blocks or informs another. Turns about one then show the rules of the other.",
		Example:     `{"source":"payments","type":"requires","target":"ledger"}`},
		func(ctx context.Context, c *Call, in dependencyIn) (*dependencyAddOutput, error) {
			ev, err := c.backed(ctx, structure.Sentence(in.Source, in.Type, in.Target), in.Evidence)
			if err != nil {
				return nil, err
			}
			strength := 0.0
			if in.Strength != nil {
				strength = *in.Strength
			}
			before := c.Store.Seq()
			got, err := c.editor("dependency_add", ev.pieces).AddDependency(ctx, in.Source, in.Type, in.Target, strength)
			if err != nil {
				return nil, err
			}
			if c.Store.Seq() != before {
				c.Touch(got.ID)
			}
			k := c.show(got)
			return &dependencyAddOutput{k.ID, oneLine(got.Text, maxHeading), got.Importance, k.Status, k.Tier, k.Trust, ev.notes}, nil
		})
}

// constraintIn are constraint_add's arguments.
type constraintIn struct {
	Text      string         `json:"text" rule:"filled;chars=2000" jsonschema:"one statement that makes sense without this conversation"`
	Entities  []string       `json:"entities,omitempty" rule:"items=20;chars=200;filled" jsonschema:"what it is about, the most important first; default: names in the text. A rule about nothing is in every turn"`
	Aspect    string         `json:"aspect,omitempty" rule:"chars=80" jsonschema:"such as deployment or security"`
	ExpiresAt string         `json:"expires_at,omitempty" rule:"chars=40" jsonschema:"such as 2026-12-31; default: never"`
	Evidence  []evidenceView `json:"evidence,omitempty" rule:"items=20" jsonschema:"who or what says so; default: your own word"`
}

// constraintAddOutput is what came of a rule.
type constraintAddOutput struct {
	Outcome      string   `json:"outcome" rule:"enum=candidate|rule|known" jsonschema:"candidate: a person has to approve it; rule: it is one already"`
	ID           string   `json:"id"`
	Status       string   `json:"status"`
	Tier         string   `json:"tier" jsonschema:"how far it may be believed: Verified, Inferred, Assumed or Guessed"`
	Trust        string   `json:"trust"`
	Entities     []string `json:"entities" jsonschema:"what it is about; none: it is in every turn"`
	Aspect       string   `json:"aspect,omitempty"`
	Dependencies []string `json:"dependencies,omitempty" jsonschema:"that its text states, and that are known now"`
	Notes        []string `json:"notes,omitempty"`
}

// Outcomes of constraint_add, beside outcomeKnown.
const (
	outcomeCandidate = "candidate"
	outcomeRule      = "rule"
)

// Write implements Output.
func (a *constraintAddOutput) Write(p *Page) {
	switch a.Outcome {
	case outcomeKnown:
		p.Line("That rule is there already; nothing was changed.")
	case outcomeRule:
		p.Line("The rule is kept.")
	default:
		p.Line("Kept as a candidate rule. Turns that it bears on are told it as that, until a person approves it: ken memory approve " + shortID(a.ID))
	}
	if what := "Approved, it is"; a.Outcome == outcomeCandidate && len(a.Entities) == 0 {
		p.Line(what + " in every turn, since it is about nothing in particular. Name entities to narrow it.")
	} else if a.Outcome == outcomeCandidate {
		p.Line(what + " in every turn about " + names(a.Entities) + " and what is one dependency away.")
	}
	p.Line("id " + a.ID + ", " + a.Status + ", tier " + a.Tier + ", trust " + a.Trust)
	for _, d := range a.Dependencies {
		p.Line("dependency: " + d)
	}
	for _, n := range a.Notes {
		p.Line("note: " + n)
	}
}

func constraintAdd() Tool {
	return Define(Spec{Name: "constraint_add", Title: "Add a constraint", Effect: Writes, Right: Write, Idempotent: true,
		Description: "Propose a rule, such as \"never deploy payments on Fridays\", when the user sets one. It is a candidate until a person approves " +
			"it; then it is in every turn about its entities. For facts use knowledge_learn. An external source cannot set rules.",
		Example: `{"text":"Never deploy the payments service on Fridays.","entities":["payments"],"evidence":[{"kind":"user_statement"}]}`},
		func(ctx context.Context, c *Call, in constraintIn) (*constraintAddOutput, error) {
			until, err := when("expires_at", in.ExpiresAt)
			if err != nil {
				return nil, err
			}
			ev, err := c.backed(ctx, in.Text, in.Evidence)
			if err != nil {
				return nil, err
			}
			release, err := c.r.writing.Take(ctx, c.Owner)
			if err != nil {
				return nil, err
			}
			defer release()
			got, err := c.editor("constraint_add", ev.pieces).AddConstraint(ctx, edit.NewConstraint{Text: in.Text, Entities: in.Entities, Aspect: in.Aspect, ExpiresAt: until})
			if err != nil {
				return nil, err
			}
			k := c.show(got.Claim)
			out := &constraintAddOutput{Outcome: outcomeCandidate, ID: k.ID, Status: k.Status, Tier: k.Tier, Trust: k.Trust, Entities: append([]string{}, got.Claim.Entities...),
				Aspect: got.Claim.Aspect, Notes: ev.notes}
			if got.Claim.Constraint {
				out.Outcome = outcomeRule
			}
			if !got.Changed {
				out.Outcome = outcomeKnown
				return out, nil
			}
			c.Touch(k.ID)
			for _, d := range got.Dependencies {
				c.Touch(d.ID)
				out.Dependencies = append(out.Dependencies, oneLine(d.Text, maxHeading))
			}
			return out, nil
		})
}
