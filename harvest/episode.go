package harvest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/harvest/extract"
	"github.com/kenlayer/ken/internal/run/session"
)

// episode writes the session's summary, as one claim per session and part. It writes none for a
// session in which nothing was decided, done or found. If the summary says no more than an earlier
// episode with the same goal, it reinforces that one instead.
func (r *harvestRun) episode(ctx context.Context, d *draft.Draft) error {
	summary := strings.TrimSpace(r.outside.withoutFlagged(d.Summary))
	switch {
	case summary == "" || len(r.tr.Entries) == 0:
		r.note("nothing was said that a summary could hold")
		return nil
	case !worthEpisode(r.tr, d):
		r.note("nothing was decided, done or found")
		return nil
	}
	info := &r.tr.Info
	first, last := &r.tr.Entries[0], &r.tr.Entries[len(r.tr.Entries)-1]
	body := session.EpisodeBody{Session: info.ID, Part: info.Part, Messages: len(r.tr.Entries), Started: first.At, Ended: last.At,
		Model: r.out.Model, Note: r.out.Note}
	if cp := r.tr.Checkpoint; cp != nil {
		body.Files, body.Open = cp.Files, cp.Open
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode episode: %w", err)
	}
	c := r.claim(ken.KindEpisode, summary, last.At)
	c.Key = key("episode", info, "")
	c.Heading = heading(r.tr, summary)
	c.Body = raw
	c.Confidence = 0.8 // a summary may leave out important facts
	derived := r.derivation(c.Heading+"\n"+summary, true)
	c.Evidence = append(r.summaryEvidence(), derived...)
	c.Source = "session of " + first.At.UTC().Format(time.DateOnly)
	if len(derived) == 0 { // an external text must not become evidence of another session's episode
		if known, err := r.reinforceKnown(ctx, &c); err != nil || known {
			return err
		}
	}
	if have, err := r.o.Store.ByKey(ctx, c.Key); err == nil && analysis.WithoutPastNotes(have.Text) == c.Text {
		c.Text, c.Heading = have.Text, have.Heading // keep the notes about values that have changed since
	}
	id, err := r.o.Store.WriteClaim(ctx, c)
	switch {
	case errors.Is(err, ken.ErrRefused) && r.refused("episode", err): // for example, it is only reasoning
		r.note("the summary was refused")
		return nil
	case err != nil:
		return fmt.Errorf("write episode: %w", err)
	}
	r.out.Episode = id
	return nil
}

// summaryEvidence returns the first and the last message of a user or the model as evidence, with
// the trust of an agent. Results of tools are no evidence for a summary.
func (r *harvestRun) summaryEvidence() (out []ken.Evidence) {
	var first, last *session.Entry
	for i := range r.tr.Entries {
		if e := &r.tr.Entries[i]; e.Message.Role == "user" || e.Message.Role == "assistant" {
			if last = e; first == nil {
				first = e
			}
		}
	}
	for _, e := range []*session.Entry{first, last} {
		if e != nil && !slices.ContainsFunc(out, func(o ken.Evidence) bool { return o.MessageID == e.ID() }) {
			ev := message(r.tr.Info.ID, e, "")
			ev.Trust = ken.TrustAgent
			out = append(out, ev)
		}
	}
	if len(out) == 0 {
		out = append(out, message(r.tr.Info.ID, &r.tr.Entries[0], ""))
	}
	return out
}

// heading returns the title of a session's episode: the goal in the summary or, without one, the
// first user message. A session with a request to forget something has no goal if that was all of it.
func heading(tr *session.Transcript, summary string) string {
	goal := ""
	for line := range strings.Lines(summary) {
		if g, ok := strings.CutPrefix(line, "Goal:"); ok {
			goal = g
			break
		}
	}
	forgets := strings.TrimSpace(goal) == "" && len(extract.ForgetRequests(tr)) > 0
	for i := 0; !forgets && strings.TrimSpace(goal) == "" && i < len(tr.Entries); i++ {
		if m := &tr.Entries[i].Message; m.Role == "user" {
			goal = m.Text
		}
	}
	if goal = clip(strings.Join(strings.Fields(goal), " "), 100); goal == "" {
		return "Session"
	}
	return "Session: " + goal
}

// claim returns a claim of this session. The caller sets the fields that depend on the kind.
func (r *harvestRun) claim(kind ken.Kind, text string, at time.Time) ken.Claim {
	info := &r.tr.Info
	return ken.Claim{Kind: kind, Text: text, Status: ken.StatusObserved, Confidence: 1, Importance: 0.5,
		Scope: info.Scope, Project: info.Project, Session: info.ID, Branch: info.Branch,
		Actor: ken.Actor{Type: "system", ID: "harvest"}, Source: "session " + info.ID, SourceType: "harvest",
		CreatedAt: at, UpdatedAt: at}
}

// key returns the key of a claim of a session, so that harvesting the session again gives the same
// claim.
func key(kind string, info *session.Info, what string) string {
	k := kind + ":" + info.ID
	if info.Part > 1 {
		k += "/" + strconv.Itoa(info.Part)
	}
	if what != "" {
		k += ":" + what
	}
	return k
}

// message returns evidence from a journal entry. What the user said has the operator's trust; what
// the assistant or a tool said does not.
func message(sessionID string, e *session.Entry, quote string) ken.Evidence {
	ev := ken.FromMessage(sessionID, e.ID(), quote)
	ev.FetchedAt = e.At
	switch e.Message.Role {
	case "user":
		ev.Trust = ken.TrustOperator
	case "assistant":
		ev.Trust = ken.TrustAgent
	default:
		ev.Trust = ken.TrustExternal
	}
	return ev
}

func (r *harvestRun) note(s string) {
	if r.out.Note != "" {
		r.out.Note += "; "
	}
	r.out.Note += s
}

// clip returns the first n code points of s, with an ellipsis if there are more.
func clip(s string, n int) string {
	runes := 0
	for i := range s {
		if runes++; runes > n {
			return strings.TrimSpace(s[:i]) + "…"
		}
	}
	return s
}

// worthEpisode reports whether something was decided, done or found in a session: a user stated
// something, or a tool answered. A session with only questions and answers gets no episode, because
// the episode would repeat the question to whoever asks it next. Answers of Ken's own tools contain
// only known claims.
func worthEpisode(tr *session.Transcript, d *draft.Draft) bool {
	return len(d.Statements) > 0 || extract.HasStatement(tr) || slices.ContainsFunc(tr.Entries, func(e session.Entry) bool {
		m := &e.Message
		return (m.Role == "tool" || m.Role == "function") && !strings.Contains(m.Text, guardrail.Reference)
	})
}

// knownGoal returns an episode of another session that has the same goal and says everything that c
// says; ErrNotFound if there is none.
func (r *harvestRun) knownGoal(ctx context.Context, c *ken.Claim) (ken.Claim, error) {
	f := ken.Filter{Scopes: []ken.Scope{c.Scope}, Kinds: []ken.Kind{ken.KindEpisode}, ClaimsOnly: true}
	found, err := r.o.Store.Query(ctx, ken.Query{Question: c.Heading + "\n" + c.Text, Filter: f, Limit: sameGoals})
	if err != nil {
		return ken.Claim{}, fmt.Errorf("find episodes with the same goal: %w", err)
	}
	for i := range found {
		k := &found[i]
		if k.Heading == c.Heading && k.Session != c.Session && k.Project == c.Project && k.Branch == c.Branch && k.Status == c.Status && extract.CoversSummary(k.Text, c.Text) {
			return *k, nil
		}
	}
	return ken.Claim{}, &ken.Error{Code: ken.CodeNotFound, Msg: "no episode has this goal"}
}

// sameGoals is the maximum number of episodes that a new one is compared with.
const sameGoals = 20

// reinforceKnown reinforces an episode that says everything that c says, once per session. It
// returns false if there is none, or if c was written before.
func (r *harvestRun) reinforceKnown(ctx context.Context, c *ken.Claim) (bool, error) {
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
	if again, err := r.alreadyCounted(ctx, &known); err != nil || again {
		return true, err
	}
	evidence := c.Evidence
	if len(known.Evidence) >= maxToolResults {
		evidence = nil
	}
	if err := r.o.Store.Reinforce(ctx, known.ID, evidence, r.actor()); err != nil {
		return true, fmt.Errorf("raise the count of an episode: %w", err)
	}
	return true, nil
}
