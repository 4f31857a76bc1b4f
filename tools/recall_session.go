package tools

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
)

// sessionIn are recall_session's arguments.
type sessionIn struct {
	Session string `json:"session,omitempty" rule:"chars=256" jsonschema:"its id or the first 6 characters or more; default: the last session that ended"`
	Limit   int    `json:"limit,omitempty" rule:"min=1;max=50;default=10"`
}

// sessionResult is the stored content of a session.
type sessionResult struct {
	Session  string      `json:"session_id"`
	State    string      `json:"state,omitempty" jsonschema:"open, ended, harvested or failed; none when no journal of it is kept"`
	Agent    string      `json:"agent,omitempty"`
	Started  time.Time   `json:"started,omitzero"`
	Active   time.Time   `json:"active,omitzero"`
	Goal     string      `json:"goal,omitempty" jsonschema:"what the user was after"`
	LastStep string      `json:"last_step,omitempty"`
	Open     []string    `json:"open,omitempty" jsonschema:"questions without an answer"`
	Files    []string    `json:"files,omitempty"`
	Claims   []claimView `json:"claims" jsonschema:"its summary first, then what was learned in it"`
	NotShown int         `json:"not_shown,omitempty" jsonschema:"claims beyond the limit"`
}

// Write implements Output.
func (s *sessionResult) Write(p *Page) {
	line := "Session " + s.Session
	if s.State != "" {
		line += ", " + s.State + ", last active " + s.Active.Format("2006-01-02 15:04") + " UTC"
	}
	p.Line(line)
	if len(s.Claims) == 0 {
		p.Line("Nothing of it is kept.")
	}
	p.claims(s.Claims)
	// The content of the session goes into the frame, as all such content.
	for _, part := range []struct {
		title string
		texts []string
	}{{"goal", nonEmpty(s.Goal)}, {"last step", nonEmpty(s.LastStep)}, {"open questions", s.Open}, {"files", s.Files}} {
		if len(part.texts) > 0 {
			p.Part(part.title, part.texts)
		}
	}
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func recallSession() Tool {
	return Define(Spec{Name: "recall_session", Title: "Recall a session", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Show what is left of an earlier session: its summary, what was learned, and where it stopped. Use it to continue earlier work.",
		Example:     `{"limit":10}`},
		func(ctx context.Context, c *Call, in sessionIn) (*sessionResult, error) {
			info, journaled, err := c.session(ctx, in.Session)
			if err != nil {
				return nil, err
			}
			out := &sessionResult{Session: info.ID, Claims: []claimView{}}
			var claims []ken.Claim
			if journaled {
				out.State, out.Agent, out.Started, out.Active = string(info.State), oneLine(info.Agent, maxSource), info.Started.UTC(), info.Active.UTC()
				if err := c.checkpoint(ctx, out); err != nil {
					return nil, err
				}
				claims, err = c.outcomeOf(ctx, &info)
			}
			if err == nil && len(claims) == 0 {
				claims, err = c.learnedIn(ctx, info.ID)
			}
			if err != nil {
				return nil, err
			}
			if len(claims) == 0 && !journaled {
				return nil, noSession(in.Session)
			}
			slices.SortStableFunc(claims, func(a, b ken.Claim) int { return sessionOrder(&a) - sessionOrder(&b) })
			shown := claims[:min(len(claims), in.Limit)]
			out.NotShown = len(claims) - len(shown)
			for _, k := range shown {
				out.Claims = append(out.Claims, c.show(k))
			}
			return out, nil
		})
}

// sessionOrder sorts a session's summary first.
func sessionOrder(k *ken.Claim) int {
	if k.Kind == ken.KindEpisode {
		return 0
	}
	return 1
}

func noSession(id string) error {
	return &ken.Error{Code: ken.CodeNotFound, Field: "session", Msg: "there is no session " + clip(id),
		Try: "Leave session out for the last one, or take the id from knowledge_history of a claim."}
}

// session finds a session that the caller may see. journaled is false if only claims refer to it.
func (c *Call) session(ctx context.Context, id string) (info session.Info, journaled bool, err error) {
	j := c.r.layer.Operator().Journal(c.Owner)
	if id == "" {
		all, err := j.List(ctx)
		if err != nil {
			return info, false, err
		}
		for i := range all {
			if s := &all[i]; s.ID != c.Session && s.State != session.Open && c.seesSession(s) {
				return *s, true, nil
			}
		}
		return info, false, &ken.Error{Code: ken.CodeNotFound, Field: "session", Msg: "no earlier session is kept", Try: "Use memory_recall instead."}
	}
	info, err = j.Find(ctx, id)
	switch {
	case errors.Is(err, ken.ErrNotFound), err == nil && !c.seesSession(&info):
		return session.Info{About: session.About{ID: id}}, false, nil
	case errors.Is(err, ken.ErrInvalid):
		return info, false, invalid("session", clip(id)+" does not name one session", "Give the whole id.")
	}
	return info, true, err
}

// seesSession reports whether a session is within the caller's scopes.
func (c *Caller) seesSession(i *session.Info) bool {
	if len(c.Scopes) == 0 {
		return true
	}
	return !slices.ContainsFunc(append([]ken.Scope{i.Scope}, i.Scopes...), func(s ken.Scope) bool { return !s.IsZero() && !slices.Contains(c.Scopes, s) })
}

// checkpoint sets the state at the end of the session.
func (c *Call) checkpoint(ctx context.Context, out *sessionResult) error {
	cp, ok, err := c.r.layer.Operator().Journal(c.Owner).Checkpoint(ctx, out.Session)
	if err != nil || !ok {
		return err
	}
	most := func(in []string, n int) (list []string) {
		for _, s := range in[:min(n, len(in))] {
			list = append(list, oneLine(s, 300))
		}
		return list
	}
	out.Goal, out.LastStep = oneLine(cp.Goal, 500), oneLine(cp.LastStep, 300)
	out.Open, out.Files = most(cp.Open, 5), most(cp.Files, 10)
	return nil
}

// outcomeOf returns the claims that a session's harvest wrote.
func (c *Call) outcomeOf(ctx context.Context, info *session.Info) (out []ken.Claim, err error) {
	if info.Outcome == nil {
		return nil, nil
	}
	o := info.Outcome
	ids := slices.Concat(nonEmpty(o.Episode), o.Learned, o.Findings, o.Patterns)
	for _, id := range ids {
		k, err := c.Store.Get(ctx, id)
		if errors.Is(err, ken.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if f := c.filter(ken.RecallStatuses()); f.Reject(k.Facts()) == "" {
			out = append(out, k)
		}
	}
	return out, nil
}

// learnedIn returns the claims that carry a session's id.
func (c *Call) learnedIn(ctx context.Context, id string) (out []ken.Claim, err error) {
	f := c.filter(ken.RecallStatuses())
	f.Now = c.Now()
	for k, err := range c.Store.Scan(ctx, &f, allClaims) {
		if err != nil {
			return nil, err
		}
		if k.Session == id {
			out = append(out, k)
		}
	}
	return out, nil
}
