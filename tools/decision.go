package tools

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/code/decision"
)

// decisionView is the form of an architecture decision in answers.
type decisionView struct {
	Handle       string   `json:"handle" jsonschema:"names it in other calls, such as ADR-0042"`
	Title        string   `json:"title"`
	Status       string   `json:"status" jsonschema:"proposed, accepted, rejected, deprecated, superseded or unknown; only what is accepted holds"`
	Date         string   `json:"date,omitempty"`
	Path         string   `json:"path" jsonschema:"of its file"`
	Tags         []string `json:"tags,omitempty"`
	Governs      []string `json:"governs,omitempty" jsonschema:"the symbols and paths that it lists"`
	Supersedes   []string `json:"supersedes,omitempty"`
	SupersededBy []string `json:"superseded_by,omitempty"`
	Archived     bool     `json:"archived,omitempty"`
	Text         string   `json:"text" jsonschema:"what is decided, shortened; decision_read has all of it"`
	Tier         string   `json:"tier,omitempty" jsonschema:"how far it may be believed: Verified, Inferred, Assumed or Guessed"`

	item claimView
}

// maxListed is the maximum length of the lists of a decision that are shown.
const maxListed = 50

// showDecision converts a decision for an answer, and records that it was shown.
func (c *Call) showDecision(r *decision.Record) decisionView {
	out := decisionView{Handle: fileLine(r.Handle, maxName), Title: fileLine(r.Title.Text, maxHeading), Status: string(r.Status), Path: fileLine(r.Path, maxID),
		Tags: valueTexts(r.Tags), Governs: valueTexts(r.Governs), Supersedes: referenceNames(r.Supersedes), SupersededBy: referenceNames(r.SupersededBy), Archived: r.Archived}
	if r.Status == decision.Unknown {
		out.Status = "unknown"
	}
	if !r.Date.IsZero() {
		out.Date = r.Date.Format(time.DateOnly)
	}
	k, err := decision.Claim(*r)
	if err != nil { // the file has no decision
		out.item = claimView{ID: r.Handle, Kind: string(ken.KindDecision), Status: string(ken.StatusHypothesis), Tier: ken.Guessed.String(), Heading: out.Title,
			Source: out.Path, CreatedAt: seconds(r.ModTime)}
		return out
	}
	out.item = c.show(k)
	out.Text, out.Tier = out.item.Text, out.item.Tier
	return out
}

func valueTexts(list []decision.Value) (out []string) {
	for _, v := range list[:min(len(list), maxListed)] {
		if s := fileLine(v.Text, maxName); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func referenceNames(refs []decision.Reference) (out []string) {
	for _, r := range refs[:min(len(refs), maxListed)] {
		s := cmp.Or(r.ID, r.Text)
		if r.Partial {
			s += " (in part)"
		}
		out = append(out, fileLine(s, maxName))
	}
	return out
}

// decisionResult is a decision after a change.
type decisionResult struct {
	Outcome  string       `json:"outcome" rule:"enum=created|known|superseded"`
	Decision decisionView `json:"decision"`
	Notes    []string     `json:"notes,omitempty"`
}

// Write implements Output.
func (r *decisionResult) Write(p *Page) {
	d := &r.Decision
	switch r.Outcome {
	case "created":
		p.Line(d.Handle + " is written to " + d.Path + ", and is " + d.Status + ".")
	case "known":
		p.Line("It is there already as " + d.Handle + " in " + d.Path + ", and is " + d.Status + "; nothing was changed.")
	default:
		p.Line(d.Handle + " is superseded by " + strings.Join(d.SupersededBy, ", ") + ".")
	}
	p.notes(r.Notes)
	p.claim(&d.item)
}

// decisionSearchIn are decision_search's arguments.
type decisionSearchIn struct {
	Query    string   `json:"query,omitempty" rule:"chars=400" jsonschema:"words of the title or text; default: all"`
	Statuses []string `json:"statuses,omitempty" rule:"items=5;enum=proposed|accepted|rejected|deprecated|superseded" jsonschema:"default: every status"`
	Tag      string   `json:"tag,omitempty" rule:"chars=200"`
	Governs  string   `json:"governs,omitempty" rule:"chars=400" jsonschema:"only what governs this path or symbol"`
	Limit    int      `json:"limit,omitempty" rule:"min=1;max=50;default=10"`
	Offset   int      `json:"offset,omitempty" rule:"min=0;max=100000" jsonschema:"next of the page before"`
}

// decisionSearchResult holds the decisions that a search found, best first.
type decisionSearchResult struct {
	Decisions []decisionView `json:"decisions"`
	Total     int            `json:"total"`
	Next      int            `json:"next,omitempty" jsonschema:"the offset of the next page; none when this is the last"`
}

// Write implements Output.
func (f *decisionSearchResult) Write(p *Page) {
	if len(f.Decisions) == 0 {
		p.Line("There is no such decision.")
		return
	}
	p.Line(strconv.Itoa(len(f.Decisions)) + " of " + strconv.Itoa(f.Total) + " decisions, best first. Read one with decision_read.")
	p.next(f.Next)
	for i := range f.Decisions {
		p.claim(&f.Decisions[i].item)
	}
}

func decisionSearch() Tool {
	return Define(Spec{Name: "decision_search", Title: "Search architecture decisions", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Find this project's architecture decisions by words, tag, status, or the file or symbol that they govern, archived ones too. " +
			"Look here before you decide something.",
		Example: `{"query":"retry policy","statuses":["accepted"]}`},
		func(ctx context.Context, c *Call, in decisionSearchIn) (*decisionSearchResult, error) {
			code, err := c.decisions(ctx)
			if err != nil {
				return nil, err
			}
			page := code.Decisions().Search(decision.Query{Words: in.Query, Statuses: named[decision.Status](in.Statuses), Tag: in.Tag, Governs: in.Governs,
				Limit: in.Limit, Offset: in.Offset})
			out := &decisionSearchResult{Decisions: []decisionView{}, Total: page.Total, Next: nextOffset(in.Offset, len(page.Hits), page.Total)}
			for i := range page.Hits {
				out.Decisions = append(out.Decisions, c.showDecision(&page.Hits[i].Record))
			}
			return out, nil
		})
}

// decisionReadIn are decision_read's arguments.
type decisionReadIn struct {
	ID      string `json:"id" rule:"filled;chars=400" jsonschema:"such as ADR-0042, 42, the path of its file, or a part of its title"`
	History bool   `json:"history,omitempty" jsonschema:"also list what came before and after it"`
}

// alternativeView is an option that was considered.
type alternativeView struct {
	Title  string   `json:"title"`
	Text   string   `json:"text,omitempty"`
	Pros   []string `json:"pros,omitempty"`
	Cons   []string `json:"cons,omitempty"`
	Chosen bool     `json:"chosen,omitempty"`
}

// decisionReadResult is a decision with all of its sections.
type decisionReadResult struct {
	Decision     decisionView      `json:"decision"`
	Deciders     []string          `json:"deciders,omitempty"`
	Context      string            `json:"context,omitempty"`
	Drivers      []string          `json:"drivers,omitempty"`
	Chosen       string            `json:"chosen,omitempty" jsonschema:"the decision in its own words"`
	Alternatives []alternativeView `json:"alternatives"`
	Consequences string            `json:"consequences,omitempty"`
	Confirmation string            `json:"confirmation,omitempty"`
	More         string            `json:"more,omitempty"`
	Cut          bool              `json:"cut,omitempty" jsonschema:"some text is longer than what is shown: read the file"`
	Problems     []string          `json:"problems,omitempty" jsonschema:"what is wrong with its file"`
	History      []decisionView    `json:"history,omitempty" jsonschema:"the oldest first"`
}

// Bounds in code points of what is shown of one decision.
const (
	maxSection = 6000
	maxPart    = 1100 // in the text for a model
	maxEntry   = 400
)

// Write implements Output.
func (r *decisionReadResult) Write(p *Page) {
	d := &r.Decision
	p.Line(d.Handle + " is " + d.Status + ". It is in " + d.Path + ".")
	if r.Cut {
		p.Line("Some of it is longer than what is shown: read the file.")
	}
	for _, s := range r.Problems {
		p.Line("problem: " + s)
	}
	part := func(title, text string) {
		if text != "" {
			p.Part(title, []string{analysis.Clip(text, maxPart)})
		}
	}
	part("title", d.Title)
	if part("decision", r.Chosen); r.Chosen == "" {
		part("what it says", d.Text)
	}
	part("context", r.Context)
	part("consequences", r.Consequences)
	for _, list := range []struct {
		title string
		lines []string
	}{{"governs", d.Governs}, {"supersedes", d.Supersedes}, {"superseded by", d.SupersededBy}, {"tags", d.Tags}, {"drivers", r.Drivers}} {
		addList(p, list.title, list.lines)
	}
	var lines []string
	for _, a := range r.Alternatives {
		s := a.Title
		if a.Chosen {
			s += " (chosen)"
		}
		if a.Text != "" {
			s += ": " + a.Text
		}
		lines = append(lines, s)
	}
	addList(p, "considered", lines)
	part("confirmation", r.Confirmation)
	part("more", r.More)
	for i := range r.History {
		p.claim(&r.History[i].item)
	}
}

func decisionRead() Tool {
	return Define(Spec{Name: "decision_read", Title: "Read an architecture decision", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Read one architecture decision: what was decided and why, the alternatives, what follows, and what it governs.",
		Example:     `{"id":"ADR-0042"}`},
		func(ctx context.Context, c *Call, in decisionReadIn) (*decisionReadResult, error) {
			code, err := c.decisions(ctx)
			if err != nil {
				return nil, err
			}
			all := code.Decisions()
			r, err := all.Find(in.ID)
			if err != nil {
				return nil, err
			}
			out := c.readDecision(&r)
			for _, p := range all.Problems() {
				if p.Path == r.Path && len(out.Problems) < 10 {
					out.Problems = append(out.Problems, fileLine(location(p.Path, p.Line)+": "+p.Text, maxEntry))
				}
			}
			if in.History {
				line, err := all.History(r.Handle)
				if err != nil {
					return nil, err
				}
				for i := range line[:min(len(line), maxListed)] {
					if line[i].Path != r.Path {
						out.History = append(out.History, c.showDecision(&line[i]))
					}
				}
			}
			return out, nil
		})
}

func (c *Call) readDecision(r *decision.Record) *decisionReadResult {
	out := &decisionReadResult{Decision: c.showDecision(r), Deciders: valueTexts(r.Deciders), Drivers: valueTexts(r.Drivers), Alternatives: []alternativeView{}}
	text := func(s string) string {
		shown, cut := fileText(s, maxSection)
		out.Cut = out.Cut || cut
		return shown
	}
	out.Context, out.Chosen, out.Consequences = text(r.Context.Text), text(r.Decision.Text), text(r.Consequences.Text)
	out.Confirmation, out.More = text(r.Confirmation.Text), text(r.More.Text)
	for i := range r.Options[:min(len(r.Options), maxListed)] {
		o := &r.Options[i]
		shown, cut := fileText(o.Text, maxEntry)
		out.Cut = out.Cut || cut
		out.Alternatives = append(out.Alternatives, alternativeView{fileLine(o.Title.Text, maxHeading), shown, valueTexts(o.Pros), valueTexts(o.Cons), o.Chosen})
	}
	for _, s := range []string{out.Context, out.Chosen, out.Consequences} {
		if s != "" {
			c.showFile(out.Decision.item.ID, "decision", s)
		}
	}
	return out
}

// decisionCreateIn are decision_create's arguments.
type decisionCreateIn struct {
	Title        string          `json:"title" rule:"filled;chars=200" jsonschema:"the decision in a few words"`
	Context      string          `json:"context,omitempty" rule:"chars=10000" jsonschema:"what makes it necessary"`
	Decision     string          `json:"decision" rule:"filled;chars=10000" jsonschema:"what is decided, and why"`
	Alternatives []alternativeIn `json:"alternatives,omitempty" rule:"items=20" jsonschema:"all options, the chosen one marked"`
	Consequences string          `json:"consequences,omitempty" rule:"chars=10000" jsonschema:"what follows, good and bad"`
	Tags         []string        `json:"tags,omitempty" rule:"items=20;chars=60;filled"`
	Governs      []string        `json:"governs,omitempty" rule:"items=50;chars=200;filled" jsonschema:"symbols (store.Shelf) and paths (store/**)"`
	Status       string          `json:"status,omitempty" rule:"enum=proposed|accepted;default=proposed" jsonschema:"accepted: a person has decided so"`
}

// alternativeIn is an option that was considered.
type alternativeIn struct {
	Title  string   `json:"title" rule:"filled;chars=200"`
	Text   string   `json:"text,omitempty" rule:"chars=4000"`
	Pros   []string `json:"pros,omitempty" rule:"items=20;chars=400;filled"`
	Cons   []string `json:"cons,omitempty" rule:"items=20;chars=400;filled"`
	Chosen bool     `json:"chosen,omitempty"`
}

func decisionCreate() Tool {
	return Define(Spec{Name: "decision_create", Title: "Write an architecture decision", Effect: Writes, Right: Write, Idempotent: true,
		Description: "Write an architecture decision as a Markdown file, with the next free number. It is proposed unless a person has accepted it. " +
			"A title that still stands is not written again. To replace a decision, write the new one, then call decision_supersede.",
		Example: `{"title":"Keep sessions in bbolt","context":"Sessions must survive a restart.","decision":"Keep them in the store's own file.","governs":["session.Journal"]}`},
		func(ctx context.Context, c *Call, in decisionCreateIn) (*decisionResult, error) {
			code, err := c.decisions(ctx)
			if err != nil {
				return nil, err
			}
			d := &draft{}
			draft := in.draft(d)
			if err := c.checkDraft(ctx, d); err != nil {
				return nil, err
			}
			release, err := c.r.writeLocks.Take(ctx, c.Owner)
			if err != nil {
				return nil, err
			}
			defer release()
			for _, r := range code.Decisions().List() {
				if strings.EqualFold(collapseSpaces(r.Title.Text), draft.Title) && (r.Status == decision.Accepted || r.Status == decision.Proposed) {
					return &decisionResult{"known", c.showDecision(&r), d.notes()}, nil
				}
			}
			r, err := code.Decisions().Create(ctx, draft)
			if err != nil {
				return nil, err
			}
			return &decisionResult{"created", c.showDecision(&r), d.notes()}, code.Govern(ctx)
		})
}

func (in *decisionCreateIn) draft(d *draft) decision.Draft {
	out := decision.Draft{Title: d.line("title", in.Title), Context: d.text("context", in.Context), Decision: d.text("decision", in.Decision),
		Consequences: d.text("consequences", in.Consequences), Tags: d.lines("tags", in.Tags), Governs: d.lines("governs", in.Governs), Status: decision.Status(in.Status)}
	for i := range in.Alternatives {
		a := &in.Alternatives[i]
		out.Options = append(out.Options, decision.Alternative{Title: d.line("alternatives", a.Title), Text: d.text("alternatives", a.Text),
			Pros: d.lines("alternatives", a.Pros), Cons: d.lines("alternatives", a.Cons), Chosen: a.Chosen})
	}
	return out
}

// decisionSupersedeIn are decision_supersede's arguments.
type decisionSupersedeIn struct {
	ID string `json:"id" rule:"filled;chars=400" jsonschema:"of the old decision, such as ADR-0042"`
	By string `json:"by" rule:"filled;chars=400" jsonschema:"of the new one, which must be accepted"`
}

func decisionSupersede() Tool {
	return Define(Spec{Name: "decision_supersede", Title: "Supersede an architecture decision", Effect: Writes, Right: Write, Idempotent: true,
		Description: "Mark an architecture decision as superseded by a newer one that is accepted. Both files then say so; decision_search still finds the old one.",
		Example:     `{"id":"ADR-0012","by":"ADR-0042"}`},
		func(ctx context.Context, c *Call, in decisionSupersedeIn) (*decisionResult, error) {
			code, err := c.decisions(ctx)
			if err != nil {
				return nil, err
			}
			by, err := code.Decisions().Find(in.By)
			if err != nil {
				return nil, err
			}
			was, _, err := code.Decisions().Supersede(ctx, in.ID, by.Handle)
			if err != nil {
				return nil, err
			}
			return &decisionResult{"superseded", c.showDecision(&was), nil}, code.Govern(ctx)
		})
}
