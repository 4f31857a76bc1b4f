package tools

import (
	"context"
	"strings"

	"github.com/kenlayer/ken/internal/code/decision"
)

// decisionCreateIn are decision_create's arguments.
type decisionCreateIn struct {
	Title        string          `json:"title" rule:"filled;chars=200" jsonschema:"the decision in a few words"`
	Context      string          `json:"context,omitempty" rule:"chars=10000" jsonschema:"what makes it necessary"`
	Decision     string          `json:"decision" rule:"filled;chars=10000" jsonschema:"what is decided, and why"`
	Alternatives []AlternativeIn `json:"alternatives,omitempty" rule:"items=20" jsonschema:"all options, the chosen one marked"`
	Consequences string          `json:"consequences,omitempty" rule:"chars=10000" jsonschema:"what follows, good and bad"`
	Tags         []string        `json:"tags,omitempty" rule:"items=20;chars=60;filled"`
	Governs      []string        `json:"governs,omitempty" rule:"items=50;chars=200;filled" jsonschema:"symbols (store.Shelf) and paths (store/**)"`
	Status       string          `json:"status,omitempty" rule:"enum=proposed|accepted;default=proposed" jsonschema:"accepted: a person has decided so"`
}

// AlternativeIn is an option that was considered.
type AlternativeIn struct {
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
		func(ctx context.Context, c *Call, in decisionCreateIn) (*DecisionResult, error) {
			code, err := c.decided(ctx)
			if err != nil {
				return nil, err
			}
			d := &draft{}
			draft := in.draft(d)
			if err := c.ours(ctx, d); err != nil {
				return nil, err
			}
			release, err := c.r.writing.Take(ctx, c.Owner)
			if err != nil {
				return nil, err
			}
			defer release()
			for _, r := range code.Decisions().List() {
				if strings.EqualFold(squeeze(r.Title.Text), draft.Title) && (r.Status == decision.Accepted || r.Status == decision.Proposed) {
					return &DecisionResult{"known", c.showDecision(&r), d.notes()}, nil
				}
			}
			r, err := code.Decisions().Create(ctx, draft)
			if err != nil {
				return nil, err
			}
			return &DecisionResult{"created", c.showDecision(&r), d.notes()}, code.Govern(ctx)
		})
}

func (in *decisionCreateIn) draft(d *draft) decision.Draft {
	out := decision.Draft{Title: d.line("title", in.Title), Context: d.text("context", in.Context), Decision: d.text("decision", in.Decision),
		Consequences: d.text("consequences", in.Consequences), Tags: d.lines("tags", in.Tags), Governs: d.lines("governs", in.Governs), Status: decision.Proposed}
	if in.Status != "" {
		out.Status = decision.Status(in.Status)
	}
	for i := range in.Alternatives {
		a := &in.Alternatives[i]
		out.Options = append(out.Options, decision.Alternative{Title: d.line("alternatives", a.Title), Text: d.text("alternatives", a.Text),
			Pros: d.lines("alternatives", a.Pros), Cons: d.lines("alternatives", a.Cons), Chosen: a.Chosen})
	}
	return out
}
