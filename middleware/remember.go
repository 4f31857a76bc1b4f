package middleware

import (
	"context"
	"errors"

	"github.com/kenlayer/ken"
)

// Remember keeps a statement and returns the claim's id. What it is about, and whether it is a
// rule, is read from the text.
//
// Owner, project, session and agent are those of the turn in ctx: see ken.WithTurn. Without one,
// the statement is the configured owner's. It is the owner's own word, as good as a person's;
// with an agent in the turn it is that agent's word, and no rule until a person approves it.
//
// change may set further fields of the claim, such as its Key or Evidence, before it is written.
// The same key again is a new version. Errors: ErrInvalid for an empty text; ErrRefused for an
// agent's word under the key of a person's; those of the store.
func (l *Layer) Remember(ctx context.Context, text string, change ...func(*ken.Claim)) (id string, err error) {
	t, _ := ken.TurnFrom(ctx)
	t.Owner = l.ownerOrDefault(t.Owner)
	word := ken.FromHumanAssertion(t.Owner, l.now().UTC(), "")
	if t.Agent != "" {
		word = ken.FromAgentAssertion(t.Agent, "")
	}
	fill := func(c *ken.Claim) {
		c.SourceType = "remember"
		if t.Agent == "" {
			c.Actor = ken.Actor{Type: "user", ID: t.Owner}
		}
		for _, f := range change {
			f(c)
		}
		if t.Agent != "" && c.Constraint {
			c.Constraint, c.RuleCandidate = false, true
		}
	}
	if t.Agent != "" {
		asked := ken.Claim{Text: text}
		fill(&asked)
		if err := l.notOverPerson(ctx, t.Owner, asked.Key); err != nil {
			return "", err
		}
	}
	return l.Operator().Handle(t).Learn(ctx, text, []ken.Evidence{word}, fill)
}

// notOverPerson refuses an agent the key of what a person wrote.
func (l *Layer) notOverPerson(ctx context.Context, owner, key string) error {
	if key == "" {
		return nil
	}
	s, release, err := l.Store(ctx, owner)
	if err != nil {
		return err
	}
	defer release()
	had, err := s.ByKey(ctx, key)
	if errors.Is(err, ken.ErrNotFound) {
		return nil
	}
	if err == nil && had.Support(nil).Trust == ken.TrustOperator {
		err = &ken.Error{Code: ken.CodeRefused, Field: "key", Msg: "a person wrote what has this key", Try: "Use another key, or leave Agent out of the turn if it is a person's word."}
	}
	return err
}

// Recall answers a question with the claims that bear on it, best first. Owner and scopes are
// those of the turn in ctx: see ken.WithTurn. change may narrow the search, such as by its Limit
// or Filter. It returns the errors of opening the owner's store, of reading claims, and of ctx.
func (l *Layer) Recall(ctx context.Context, question string, change ...func(*RecallQuery)) (RecallAnswer, error) {
	t, _ := ken.TurnFrom(ctx)
	q := RecallQuery{Owner: t.Owner, Question: question, Filter: ken.Filter{Scopes: t.Scopes, Unscoped: true}}
	for _, f := range change {
		f(&q)
	}
	return l.Operator().Search(ctx, q)
}
