package harvest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/extract"
	"github.com/kenlayer/ken/internal/harvest/model"
	"github.com/kenlayer/ken/internal/run/session"
)

// asksToHarvest reports whether the session is a request of the layer itself to a program to
// harvest another session. Learning from it would never end.
func asksToHarvest(tr *session.Transcript) bool {
	return slices.ContainsFunc(tr.Entries, func(e session.Entry) bool {
		return e.Message.Role == "user" && model.IsOwnRequest(e.Message.Text)
	})
}

// withdrawUnconfirmed supersedes facts that rules stored during this session, or in an earlier
// harvest of it, if the model, which has read the complete session, does not report them. It keeps
// rules, candidates for rules, and claims that somebody has changed since.
func (r *harvestRun) withdrawUnconfirmed(ctx context.Context) error {
	if r.out.Model == "" || r.o.NoFacts {
		return nil
	}
	confirmed := slices.Concat(r.confirmed, r.out.Learned, r.out.Reinforced, r.out.Superseded, r.out.Disputed)
	for _, s := range extract.Draft(r.tr, r.o.Rules).Statements {
		c, err := r.o.Store.ByKey(ctx, key("fact", &r.tr.Info, textDigest(s.Text)))
		switch {
		case errors.Is(err, ken.ErrNotFound):
			continue
		case err != nil:
			return fmt.Errorf("find a statement that was stored before the harvest: %w", err)
		case c.Status != ken.StatusObserved || c.Constraint || c.RuleCandidate || slices.Contains(confirmed, c.ID) || len(c.Evidence) > 1 ||
			c.AssignedBy == ken.AssignedByOperator:
			continue
		}
		err = r.o.Store.Transition(ctx, ken.Transition{ID: c.ID, To: ken.StatusSuperseded, Reason: "the session's model did not report it", Actor: r.actor()})
		if err != nil && !r.refused("fact", err) {
			return fmt.Errorf("withdraw a fact: %w", err)
		}
		if err == nil {
			r.out.Dropped[dropUnconfirmed]++
		}
	}
	return nil
}

// dropUnconfirmed is the reason for facts that rules stored and the model did not report.
const dropUnconfirmed = "unconfirmed"
