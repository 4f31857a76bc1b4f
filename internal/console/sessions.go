package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/console/facet"
	"github.com/kenlayer/ken/internal/console/ledger"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

const (
	sessionsPerPage = 40
	messagesPerPage = 50
	turnsOnTimeline = 1000
	turnsOfASession = 12
	maxMessageRunes = 4000 // of a message on a turn's page
	maxStepRunes    = 2000 // of a message on a timeline
	maxResultRunes  = 1500 // of a tool’s result on a timeline
)

// sessionsBody lists the sessions, the last active first.
type sessionsBody struct {
	Now      time.Time
	Sessions []session.Info
	Total    int
	Own      bool // only the visitor's own sessions
	Next     string
	Warnings []string
}

// sessionsPage lists all sessions for operators, and for others the sessions whose turns all
// came with their key.
func sessionsPage(v *visit) error {
	if !v.canOperate() && !v.hasOwnTurns() {
		return v.principal.Need(access.Operate)
	}
	all, err := v.con.layer.Operator().Journal(v.owner()).List(v.ctx())
	b := sessionsBody{Now: v.now(), Own: !v.canOperate()}
	if b.Warnings, err = splitCorrupt(err); err != nil {
		return err
	}
	if b.Own {
		all = slices.DeleteFunc(all, func(i session.Info) bool { return !v.isOwn(i.Key) })
	}
	b.Total = len(all)
	slices.SortFunc(all, func(a, b session.Info) int { return cmp.Or(b.Active.Compare(a.Active), cmp.Compare(a.ID, b.ID)) })
	from := v.intParam("from", 0, 0, len(all))
	to := min(from+sessionsPerPage, len(all))
	b.Sessions = all[from:to]
	if to < len(all) {
		b.Next = withParam(v.r.URL, "from", strconv.Itoa(to))
	}
	return v.page("sessions", page{Title: "Sessions", Section: secStore, Tab: "Sessions", Live: []string{liveTurns, liveClaims, liveJobs}, Body: b})
}

type sessionBody struct {
	Now     time.Time
	Info    session.Info
	Learned []learnedClaim
	Dropped []dropped
	Turns   []ledger.Turn
	More    int // turns not listed
	Sum     turnSum

	// The messages and turns, for operators and for the owner of the session's key.
	Steps        []timelineStep
	Injected     int
	Checkpoint   *session.Checkpoint
	Next         string
	Earlier      string
	ShowMessages bool // the visitor may see them
}

// learnedClaim is a claim that resulted from a session, and how.
type learnedClaim struct {
	row
	How string
}

type dropped struct {
	Why   string
	Count int
}

func sessionPage(v *visit) error {
	id := v.r.PathValue("id")
	info, err := v.con.layer.Operator().Journal(v.owner()).Info(v.ctx(), id)
	if err != nil {
		return sessionError(err)
	}
	b := sessionBody{Now: v.now(), Info: info, ShowMessages: v.canSeeMessages(info.Key)}
	if err := v.withStore(func(s store.Engine) error {
		claims, err := v.con.layer.Operator().SessionClaims(v.ctx(), s, &info)
		b.Learned = learnedClaims(claims, &info, b.Now)
		return err
	}); err != nil {
		return err
	}
	if info.Outcome != nil {
		for why, n := range info.Outcome.Dropped {
			b.Dropped = append(b.Dropped, dropped{why, n})
		}
		slices.SortFunc(b.Dropped, func(a, b dropped) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Why, b.Why)) })
	}
	if _, err := v.catchUpTurns(); err != nil {
		return err
	}
	turns, more := v.con.turns.Turns(v.owner(), time.Time{}, turnsOnTimeline, ledger.Match{Session: id})
	b.Sum = sumTurns(turns)
	b.Turns = turns[:min(len(turns), turnsOfASession)]
	b.More = more + len(turns) - len(b.Turns)
	if b.ShowMessages {
		if err := v.addTimeline(&b, turns); err != nil {
			return err
		}
	}
	return v.page("session", page{Title: "Session", Section: secStore, Tab: "Sessions", Live: []string{liveTurns, liveClaims, liveJobs}, Body: b})
}

// sessionError returns the same error for a session that does not exist and for another owner's.
func sessionError(err error) error {
	if errors.Is(err, ken.ErrNotFound) || errors.Is(err, ken.ErrInvalid) {
		return &ken.Error{Code: ken.CodeNotFound, Field: "session", Msg: "no such session", Try: "Look at the list of sessions: what was forgotten is not in it."}
	}
	return err
}

// learnedClaims describes how each claim resulted from a session.
func learnedClaims(claims []inspect.Claim, info *session.Info, now time.Time) []learnedClaim {
	how := map[string]string{}
	if o := info.Outcome; o != nil {
		how[o.Episode] = "what happened"
		for word, ids := range map[string][]string{"learned": o.Learned, "seen again": o.Reinforced, "replaced": o.Superseded, "contradicted": o.Disputed,
			"a candidate": o.Patterns, "found out": o.Findings} {
			for _, id := range ids {
				how[id] = word
			}
		}
	}
	return mapped(claims, func(c *inspect.Claim) learnedClaim { return learnedClaim{rowOf(c, now), how[c.ID]} })
}

// sessionAction returns a handler that changes the session of the path.
func sessionAction(did string, do func(v *visit, id string) error) func(*visit) error {
	return func(v *visit) error {
		info, err := v.con.layer.Operator().Journal(v.owner()).Info(v.ctx(), v.r.PathValue("id"))
		if err != nil {
			return sessionError(err)
		}
		if err := do(v, info.ID); err != nil {
			return err
		}
		if did == "forgotten" {
			return v.redirectDone(pathOf("sessions"), did)
		}
		return v.redirectDone(pathOf("sessions", info.ID), did)
	}
}

func endSession(v *visit, id string) error {
	return v.con.layer.End(v.ctx(), v.owner(), id)
}

func harvestSession(v *visit, id string) error {
	_, err := v.con.layer.Operator().HarvestAgain(v.ctx(), v.owner(), id)
	return err
}

// forgetSession erases a session. It continues if the visitor leaves, because a partly erased
// session would be worse.
func forgetSession(v *visit, id string) error {
	ctx := context.WithoutCancel(v.ctx())
	return v.withStore(func(s store.Engine) error {
		if err := v.con.layer.Operator().ForgetSession(ctx, v.owner(), id); err != nil {
			return err
		}
		v.con.turns.Drop(v.owner())
		if err := s.Compact(ctx); err != nil { // free pages still contain the deleted text
			return fmt.Errorf("clear the disk of a session: %w", err)
		}
		return nil
	})
}

// forgetLearnedPage shows what forgetting all that a session taught would delete, and asks for confirmation.
func forgetLearnedPage(v *visit) error {
	id := v.r.PathValue("id")
	if _, err := v.con.layer.Operator().Journal(v.owner()).Info(v.ctx(), id); err != nil {
		return sessionError(err)
	}
	p := page{Title: "Forget what a session taught", Section: secStore, Tab: "Sessions"}
	return v.pageWithSlowPart("forget", p, map[string]any{"Session": id}, func() (string, any, error) {
		blast, err := v.con.layer.Operator().WouldForgetLearned(v.ctx(), v.owner(), id)
		return "blast", v.previewOf(blast, forgetPreview{ID: id, Session: true}), err
	})
}

func forgetLearned(v *visit) error {
	id := v.r.PathValue("id")
	if _, err := v.con.layer.Operator().Journal(v.owner()).Info(v.ctx(), id); err != nil {
		return sessionError(err)
	}
	return v.pageWithSlowPart("forgotten", page{Title: "Forgotten", Section: secStore, Tab: "Sessions"}, map[string]any{}, func() (string, any, error) {
		b := deletionReport{Clean: true}
		err := v.withStore(func(s store.Engine) (err error) {
			b.Forgotten, err = v.desk(s).ForgetLearned(v.ctx(), id, strings.TrimSpace(v.param("reason")))
			return err
		})
		v.con.turns.Drop(v.owner()) // receipts were deleted
		return "erased", b, err
	})
}

// agentsBody holds the data of the list of agents: those that wrote or received claims.
type agentsBody struct {
	Now    time.Time
	Agents []agentRow
}

type agentRow struct {
	Name   string
	Claims int // number of claims that it wrote
	Turns  int // number of its turns in the ledger
	Last   time.Time
}

const maxAgents = 500

func agentsPage(v *visit) error {
	b := agentsBody{Now: v.now()}
	by := map[string]*agentRow{}
	of := func(name string) *agentRow {
		if by[name] == nil {
			by[name] = &agentRow{Name: name}
		}
		return by[name]
	}
	err := v.withClaims(func(s store.Engine) error {
		values, err := v.con.claims.Values(s.Owner(), facet.Agent, "", maxAgents)
		for _, x := range values {
			of(x.Value).Claims = x.Count
		}
		return err
	})
	if err != nil {
		return err
	}
	if _, err := v.catchUpTurns(); err != nil {
		return err
	}
	for _, a := range v.con.turns.Agents(v.owner()) {
		r := of(a.Name)
		r.Turns, r.Last = a.Turns, a.Last
	}
	for _, r := range by {
		b.Agents = append(b.Agents, *r)
	}
	slices.SortFunc(b.Agents, func(a, b agentRow) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(b.Claims, a.Claims), cmp.Compare(a.Name, b.Name))
	})
	return v.page("agents", page{Title: "Agents", Section: secStore, Tab: "Agents", Live: []string{liveTurns, liveClaims}, Body: b})
}

// agentBody holds the data of an agent's page: its claims and its turns.
type agentBody struct {
	Now     time.Time
	Name    string
	Only    []row // claims in its own scope
	OnlyAll int
	Wrote   []row // claims that it wrote
	WroteN  int
	Kinds   []facetValue // kinds of the claims that it wrote
	Turns   []ledger.Turn
	More    int
}

const claimsOfAnAgent = 15

func agentPage(v *visit) error {
	name := v.r.PathValue("name")
	b := agentBody{Now: v.now(), Name: name}
	err := v.withClaims(func(s store.Engine) error {
		only, err := v.con.claims.Select(s.Owner(), facet.Selection{Scopes: []string{ken.Scope{Type: ken.ScopeAgent, ID: name}.String()}, Limit: claimsOfAnAgent})
		if err != nil {
			return err
		}
		wrote, err := v.con.claims.Select(s.Owner(), facet.Selection{Agents: []string{name}, Limit: claimsOfAnAgent})
		if err != nil {
			return err
		}
		b.OnlyAll, b.WroteN = only.Total, wrote.Total
		b.Kinds = mapped(valuesOf(wrote.Facets, facet.Kind), countOf)
		if b.Only, err = v.readRows(s, only.IDs); err != nil {
			return err
		}
		b.Wrote, err = v.readRows(s, wrote.IDs)
		return err
	})
	if err != nil {
		return err
	}
	if _, err := v.catchUpTurns(); err != nil {
		return err
	}
	b.Turns, b.More = v.con.turns.Turns(v.owner(), time.Time{}, turnsOfASession, ledger.Match{Agent: name})
	if len(b.Turns) == 0 && b.OnlyAll == 0 && b.WroteN == 0 {
		return &ken.Error{Code: ken.CodeNotFound, Field: "agent", Msg: "nothing is known of an agent of that name", Try: "Look at the list of agents."}
	}
	return v.page("agent", page{Title: "Agent", Section: secStore, Tab: "Agents", Live: []string{liveTurns, liveClaims}, Body: b})
}

// timelineStep is a step of a session: a message, or a turn.
type timelineStep struct {
	Entry *session.Entry
	Of    string // the tool that returned the message
	Turn  *turnRow
}

// addTimeline adds the messages of a session, each followed by the turns that were made for it.
func (v *visit) addTimeline(b *sessionBody, turns []ledger.Turn) error {
	tr, err := v.con.layer.Operator().Transcript(v.ctx(), v.owner(), b.Info.ID)
	if err != nil {
		return sessionError(err)
	}
	from := v.intParam("from", 0, 0, len(tr.Entries))
	to := min(from+messagesPerPage, len(tr.Entries))
	b.Injected, b.Checkpoint = len(tr.Injected), tr.Checkpoint
	behind := turnsBehind(tr.Entries, turns)
	tools := map[string]string{} // by call id
	for i := range tr.Entries[:to] {
		e := &tr.Entries[i]
		for _, c := range e.Message.ToolCalls {
			tools[c.ID] = c.Name
		}
		if i < from {
			continue
		}
		b.Steps = append(b.Steps, timelineStep{Entry: e, Of: tools[e.Message.ToolCallID]})
		for _, t := range behind[i] {
			row := turnRowOf(t, nil, v.r.URL)
			b.Steps = append(b.Steps, timelineStep{Turn: &row})
		}
	}
	if to < len(tr.Entries) {
		b.Next = withParam(v.r.URL, "from", strconv.Itoa(to))
	}
	if from > 0 {
		b.Earlier = withParam(v.r.URL, "from", strconv.Itoa(max(0, from-messagesPerPage)))
	}
	return nil
}

// turnsBehind maps the index of a user's message to the turns that were made for it, in order.
// It leaves out turns whose message was deleted.
func turnsBehind(entries []session.Entry, turns []ledger.Turn) map[int][]ledger.Turn {
	out := map[int][]ledger.Turn{}
	for _, t := range slices.Backward(turns) { // newest first
		at, ok := slices.BinarySearchFunc(entries, t.Through, func(e session.Entry, seq uint64) int {
			return int(int64(e.Seq) - int64(seq))
		})
		if !ok {
			continue
		}
		for at > 0 && entries[at].Message.Role != "user" {
			at--
		}
		out[at] = append(out[at], t)
	}
	return out
}

type turnSum struct {
	Turns, Blocks, Chars, Tokens int
	Slowest                      float64 // in milliseconds
}

func sumTurns(turns []ledger.Turn) (s turnSum) {
	for i := range turns {
		t := &turns[i]
		s.Turns++
		if t.Chars > 0 {
			s.Blocks++
		}
		s.Chars, s.Tokens, s.Slowest = s.Chars+t.Chars, s.Tokens+t.Tokens, max(s.Slowest, t.TotalMS)
	}
	return s
}
