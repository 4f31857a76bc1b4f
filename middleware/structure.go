package middleware

import (
	"context"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// assign files what is written, at once and without a model.
func assign(names store.Structure, c *ken.Claim) { reading.Assign(c, names) }

// structural translates the configuration; nil when it switches the structure off.
func structural(c *config.Config) *retriever.Structure {
	s := &c.Structure
	if !s.Enabled {
		return nil
	}
	b := structure.Bounds{Focal: s.Focal, Aspects: s.Aspects, Attributes: s.Attributes, Dependencies: s.Dependencies, MinStrength: s.MinStrength}
	if b.MinStrength == 0 {
		b.MinStrength = -1 // the configuration's 0 follows every dependency, the traversal's is its default
	}
	return &retriever.Structure{Bounds: b}
}

// said is the text of the turn's user message, whole: names may stand beyond what is
// searched for.
func said(msgs []ken.Message) string {
	i := lastUser(msgs)
	if i < 0 {
		return ""
	}
	m := &msgs[i]
	text := m.Text
	if text == "" {
		for _, p := range m.Parts {
			if p.Type == "text" {
				text += p.Text + "\n"
			}
		}
	}
	return text
}

func focalNames(focal []structure.Focus) (names []string) {
	for i := range focal {
		names = append(names, focal[i].Name)
	}
	return names
}

// claim reads a candidate's claim for the block. A rule that was disputed, superseded
// or has expired since it was found is none any more, and its word counts too much to
// be given for a moment longer.
func (st *State) claim(ctx context.Context, c *retriever.Candidate) (ken.Claim, error) {
	filter := st.filter
	filter.Shared = c.Owner != ""
	claim, err := st.projections(c).Claim(ctx, c.Ref)
	switch {
	case err != nil:
		return claim, err
	case c.Row.Facts.Kind == ken.KindEntity:
		return reminder(claim, st.filter.Now)
	case !c.Row.Constraint:
		return from(c.Owner, claim), nil
	}
	if why := filter.Reject(claim.Facts()); why != "" || !claim.Constraint {
		return claim, &ken.Error{Code: ken.CodeNotFound, Field: "claim", Msg: "it holds no longer since it was found: " + orChanged(why),
			Try: "Look at its history."}
	}
	return from(c.Owner, claim), nil
}

func orChanged(why ken.CutReason) string {
	if why == "" {
		return "it is no constraint any more"
	}
	return string(why)
}

// reminder is a task as a turn shows it, as long as there is something to do about it.
func reminder(c ken.Claim, now time.Time) (ken.Claim, error) {
	t, ok := task.Of(c, now)
	if !ok || t.Status.Over() || t.Expired {
		return c, &ken.Error{Code: ken.CodeNotFound, Field: "task", Msg: "there is nothing to do about it any more", Try: "Look at it with ken tasks show."}
	}
	c.Heading = "Task " + t.ID + ", " + string(t.Status)
	if !t.ExpiresAt.IsZero() {
		c.Heading += ", until " + t.ExpiresAt.Format(time.DateOnly)
	}
	return c, nil
}
