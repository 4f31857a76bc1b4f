package harvest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/harvest/extract"
	"github.com/kenlayer/ken/internal/run/session"
)

// worth reports whether something was decided, done or found in a session: a person
// stated something, or a tool answered. A session of questions and answers alone is worth
// no episode, because it would repeat the question to whoever asks it next. Answers of
// Ken's own tools tell what is known already.
func worth(tr *session.Transcript, d *draft.Draft) bool {
	return len(d.Statements) > 0 || extract.States(tr) || slices.ContainsFunc(tr.Entries, func(e session.Entry) bool {
		m := &e.Message
		return (m.Role == "tool" || m.Role == "function") && !strings.Contains(m.Text, guardrail.Reference)
	})
}

// knownGoal returns an episode of another session that had the same goal and tells all
// that c tells; ErrNotFound when there is none.
func (r *run) knownGoal(ctx context.Context, c *ken.Claim) (ken.Claim, error) {
	f := ken.Filter{Scopes: []ken.Scope{c.Scope}, Kinds: []ken.Kind{ken.KindEpisode}, ClaimsOnly: true}
	found, err := r.o.Store.Query(ctx, ken.Query{Question: c.Heading + "\n" + c.Text, Filter: f, Limit: sameGoals})
	if err != nil {
		return ken.Claim{}, fmt.Errorf("find episodes with the same goal: %w", err)
	}
	for i := range found {
		k := &found[i]
		if k.Heading == c.Heading && k.Session != c.Session && k.Project == c.Project && k.Branch == c.Branch && k.Status == c.Status && extract.Tells(k.Text, c.Text) {
			return *k, nil
		}
	}
	return ken.Claim{}, &ken.Error{Code: ken.CodeNotFound, Msg: "no episode has this goal"}
}

// sameGoals is the number of episodes that a new one is compared with.
const sameGoals = 20

// countUp reinforces an episode that tells all that c does, once a session. It returns
// false when there is none, or when c was written before.
func (r *run) countUp(ctx context.Context, c *ken.Claim) (bool, error) {
	if _, err := r.o.Store.ByKey(ctx, c.Key); !errors.Is(err, ken.ErrNotFound) {
		return false, err
	}
	known, err := r.knownGoal(ctx, c)
	if errors.Is(err, ken.ErrNotFound) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	r.out.Episode = known.ID
	if again, err := r.counted(ctx, &known); err != nil || again {
		return true, err
	}
	evidence := c.Evidence
	if len(known.Evidence) >= maxWitnesses {
		evidence = nil
	}
	if err := r.o.Store.Reinforce(ctx, known.ID, evidence, r.actor()); err != nil {
		return true, fmt.Errorf("count an episode up: %w", err)
	}
	return true, nil
}
