package middleware

import (
	"context"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/internal/code/objective"
)

// objectivesID is the id of the item that says what is aimed at.
const objectivesID = "objectives"

const objectivesHeading = "What the project aims at"

// goals returns what the project aims at, as an item of the turn's memory; false when
// there is nothing to say, or the turn asks for nothing. A conversation that holds it already is not told again until
// something has changed, and one that was cut is.
func (l *Layer) goals(ctx context.Context, st *State) (c budgeter.Candidate, ok bool) {
	o := l.settings(st)
	if !st.Signals.Asks && !st.Signals.Resumes {
		return c, false
	}
	if l.code.objectives == nil || !o.Middleware.Objectives || o.Objectives.Chars == 0 || !l.owns(st.Turn.Owner) || !ken.TrustAgent.AtLeast(o.Retrieval.MinTrust) {
		return c, false
	}
	var text string
	var at time.Time
	err := protect(ctx, st, func(ctx context.Context, _ *State) error {
		active, _, err := l.code.objectives.List(ctx, objective.Active)
		text = objective.Summary(active, o.Objectives.Chars)
		for i := range active {
			if active[i].Updated.After(at) {
				at = active[i].Updated
			}
		}
		return err
	})
	if err != nil {
		st.degrade("objectives", err)
		return c, false
	}
	// Agents may write the files as well as people.
	return budgeter.Candidate{Memory: true, Item: ken.Item{ID: objectivesID, Kind: budgeter.KindObjectives, Tier: ken.Inferred, Trust: ken.TrustAgent,
		Source: l.cfg.Objectives.Folder, Heading: objectivesHeading, Text: text, CreatedAt: at}}, text != ""
}

// owns reports whether the project's files are an owner's: those of the one that is
// configured, whose store has them, and nobody else's.
func (l *Layer) owns(owner string) bool { return owner == l.cfg.Knowledge.Owner }
