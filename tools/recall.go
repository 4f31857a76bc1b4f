package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
)

// Found is what a recall found, best first.
type Found struct {
	Mode   string      `json:"mode" jsonschema:"how it was searched: hybrid, keyword or vector"`
	Cause  string      `json:"cause,omitempty" jsonschema:"why the mode is less than what is configured"`
	Claims []claimView `json:"claims"`
	More   int         `json:"more,omitempty" jsonschema:"rules about it that the limit left out"`
}

// Write implements Output.
func (f *Found) Write(p *Page) {
	if len(f.Claims) == 0 {
		p.Line("Nothing is known that bears on it.")
	} else {
		p.Line(strconv.Itoa(len(f.Claims)) + " found, best first.")
	}
	if f.Cause != "" {
		p.Line("Searched by " + f.Mode + ": " + f.Cause)
	}
	if f.More > 0 {
		p.Line(strconv.Itoa(f.More) + " rules about it were left out by the limit.")
	}
	for i := range f.Claims {
		p.Item(&f.Claims[i])
	}
}

// recall asks what is known. Nothing of the question is kept.
func (c *Call) recall(ctx context.Context, in recallIn) (*Found, error) {
	f := c.filter(statuses(in.Statuses))
	f.Kinds, f.ClaimsOnly = kinds(in.Kinds), !in.Documents
	if in.MinTrust != "" {
		if err := f.MinTrust.UnmarshalText([]byte(in.MinTrust)); err != nil {
			return nil, err
		}
	}
	got, err := c.r.layer.Recaller(c.Store, middleware.RecallQuery{Limit: cmp.Or(in.Limit, defaultLimit), Filter: f}).Ask(ctx, in.Query, f.Scopes)
	if err != nil {
		return nil, err
	}
	out := &Found{Mode: string(got.Mode), Cause: oneLine(got.Cause, maxHeading), Claims: make([]claimView, 0, len(got.Claims)), More: got.More}
	for i := range got.Claims {
		r := &got.Claims[i]
		k := c.showAs(r.Claim, r.Tier, r.Trust)
		k.Score = r.Score
		out.Claims = append(out.Claims, k)
	}
	return out, nil
}

// recallIn are memory_recall's arguments.
type recallIn struct {
	Query string `json:"query" rule:"filled;chars=2000" jsonschema:"what you want to know"`
	recallOptions
}

// recallOptions are the arguments that both names of a recall have.
type recallOptions struct {
	Limit     int      `json:"limit,omitempty" rule:"min=1;max=50;default=5"`
	Kinds     []string `json:"kinds,omitempty" rule:"items=10;chars=64;filled" jsonschema:"only these: fact, finding, episode, playbook, pattern, decision or hot"`
	Statuses  []string `json:"statuses,omitempty" rule:"items=6;enum=observed|inferred|hypothesis|verified|disputed|superseded" jsonschema:"default: observed, inferred and verified"`
	Documents bool     `json:"documents,omitempty" jsonschema:"search files of the repository as well"`
	MinTrust  string   `json:"min_trust,omitempty" rule:"enum=external|agent|operator"`
}

// defaultLimit is how many claims a recall finds unless it says otherwise.
const defaultLimit = 5

func memoryRecall() Tool {
	return Define(Spec{Name: "memory_recall", Title: "Recall", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Search what is known: facts, findings, summaries of sessions, playbooks, decisions. Use it before you ask the user " +
			"what they may have said already, and when the knowledge block of this turn is not enough.",
		Example: `{"query":"how are payments retried?","limit":5}`},
		func(ctx context.Context, c *Call, in recallIn) (*Found, error) { return c.recall(ctx, in) })
}

// knowledgeIn are knowledge_recall's arguments.
type knowledgeIn struct {
	Question string `json:"question" rule:"filled;chars=2000" jsonschema:"what you want to know"`
	recallOptions
}

// knowledgeRecall is memory_recall under an older name.
func knowledgeRecall() Tool {
	return Define(Spec{Name: "knowledge_recall", Title: "Recall claims", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Another name of memory_recall.",
		Example:     `{"question":"what patterns does this codebase use for transactions?","statuses":["verified","disputed"]}`},
		func(ctx context.Context, c *Call, in knowledgeIn) (*Found, error) {
			return c.recall(ctx, recallIn{in.Question, in.recallOptions})
		})
}

// sessionIn are recall_session's arguments.
type sessionIn struct {
	Session string `json:"session,omitempty" rule:"chars=256" jsonschema:"its id or the first 6 characters or more; default: the last session that ended"`
	Limit   int    `json:"limit,omitempty" rule:"min=1;max=50;default=10"`
}

// sessionRecallOutput is what is left of a session.
type sessionRecallOutput struct {
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
func (s *sessionRecallOutput) Write(p *Page) {
	line := "Session " + s.Session
	if s.State != "" {
		line += ", " + s.State + ", last active " + s.Active.Format("2006-01-02 15:04") + " UTC"
	}
	p.Line(line)
	if len(s.Claims) == 0 {
		p.Line("Nothing of it is kept.")
	}
	for i := range s.Claims {
		p.Item(&s.Claims[i])
	}
	// What was said in it is content, and stands in the frame like any other.
	for _, part := range []struct {
		title string
		texts []string
	}{{"goal", filled(s.Goal)}, {"last step", filled(s.LastStep)}, {"open questions", s.Open}, {"files", s.Files}} {
		if len(part.texts) > 0 {
			p.Part(part.title, part.texts)
		}
	}
}

func filled(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func recallSession() Tool {
	return Define(Spec{Name: "recall_session", Title: "Recall a session", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Show what is left of an earlier session: its summary, what was learned, and where it stopped. Use it to continue earlier work.",
		Example:     `{"limit":10}`},
		func(ctx context.Context, c *Call, in sessionIn) (*sessionRecallOutput, error) {
			if in.Limit == 0 {
				in.Limit = 10
			}
			info, journaled, err := c.session(ctx, in.Session)
			if err != nil {
				return nil, err
			}
			out := &sessionRecallOutput{Session: info.ID, Claims: []claimView{}}
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
			slices.SortStableFunc(claims, func(a, b ken.Claim) int { return rankIn(&a) - rankIn(&b) })
			if out.NotShown = len(claims) - in.Limit; out.NotShown > 0 {
				claims = claims[:in.Limit]
			}
			out.NotShown = max(out.NotShown, 0)
			for _, k := range claims {
				out.Claims = append(out.Claims, c.show(k))
			}
			return out, nil
		})
}

// rankIn puts a session's summary first.
func rankIn(k *ken.Claim) int {
	if k.Kind == ken.KindEpisode {
		return 0
	}
	return 1
}

func noSession(id string) error {
	return &ken.Error{Code: ken.CodeNotFound, Field: "session", Msg: "there is no session " + clipped(id),
		Try: "Leave session out for the last one, or take the id from knowledge_history of a claim."}
}

// session finds a session that the caller may see: one with a journal, or just the id
// that claims may carry.
func (c *Call) session(ctx context.Context, id string) (info session.Info, journaled bool, err error) {
	j := c.r.layer.Journal(c.Owner)
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
		return info, false, invalid("session", clipped(id)+" does not name one session", "Give the whole id.")
	}
	return info, true, err
}

// seesSession reports whether a session is within the caller's scopes.
func (c *Caller) seesSession(i *session.Info) bool {
	if len(c.Scopes) == 0 {
		return true
	}
	for _, s := range append([]ken.Scope{i.Scope}, i.Scopes...) {
		if !s.IsZero() && !slices.Contains(c.Scopes, s) {
			return false
		}
	}
	return true
}

// checkpoint fills in where the session stopped.
func (c *Call) checkpoint(ctx context.Context, out *sessionRecallOutput) error {
	cp, ok, err := c.r.layer.Journal(c.Owner).Checkpoint(ctx, out.Session)
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

// outcomeOf reads what a harvest wrote.
func (c *Call) outcomeOf(ctx context.Context, info *session.Info) (out []ken.Claim, err error) {
	if info.Outcome == nil {
		return nil, nil
	}
	o := info.Outcome
	ids := slices.Concat(filled(o.Episode), o.Learned, o.Findings, o.Patterns)
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

// learnedIn looks for the claims that carry a session.
func (c *Call) learnedIn(ctx context.Context, id string) (out []ken.Claim, err error) {
	f := c.filter(ken.RecallStatuses())
	f.Now = c.Now()
	for k, err := range c.Store.Scan(ctx, &f, every) {
		if err != nil {
			return nil, err
		}
		if k.Session == id {
			out = append(out, k)
		}
	}
	return out, nil
}

// listIn are memory_list's arguments.
type listIn struct {
	Kinds    []string `json:"kinds,omitempty" rule:"items=10;chars=64;filled" jsonschema:"only these: fact, finding, episode, playbook, pattern, decision or hot"`
	Statuses []string `json:"statuses,omitempty" rule:"items=6;enum=observed|inferred|hypothesis|verified|disputed|superseded" jsonschema:"default: observed, inferred and verified"`
	Limit    int      `json:"limit,omitempty" rule:"min=1;max=50;default=10"`
	Offset   int      `json:"offset,omitempty" rule:"min=0;max=10000" jsonschema:"next of the page before"`
}

// listOutput is a page of a list, newest first.
type listOutput struct {
	Claims []claimView `json:"claims"`
	Next   int         `json:"next,omitempty" jsonschema:"the offset of the next page; none when this is the last"`
}

// Write implements Output.
func (l *listOutput) Write(p *Page) {
	if len(l.Claims) == 0 {
		p.Line("There is nothing on this page.")
	} else {
		p.Line(strconv.Itoa(len(l.Claims)) + " listed, newest first.")
	}
	if l.Next > 0 {
		p.Line("There is more: offset " + strconv.Itoa(l.Next))
	}
	for i := range l.Claims {
		p.Item(&l.Claims[i])
	}
}

func memoryList() Tool {
	return Define(Spec{Name: "memory_list", Title: "List what is known", Effect: Reads, Right: Read, Idempotent: true,
		Description: "List what is known, newest first, in pages. To answer a question use memory_recall.",
		Example:     `{"kinds":["fact"],"limit":10}`},
		func(ctx context.Context, c *Call, in listIn) (*listOutput, error) {
			if in.Limit == 0 {
				in.Limit = 10
			}
			f := c.filter(statuses(in.Statuses))
			f.Kinds, f.MinTrust, f.Now = kinds(in.Kinds), c.r.layer.Config().Retrieval.MinTrust, c.Now()
			found, err := c.Store.Newest(ctx, &f, in.Offset+in.Limit+1)
			if err != nil {
				return nil, err
			}
			hits := found.Hits[min(in.Offset, len(found.Hits)):]
			out := &listOutput{Claims: []claimView{}}
			if len(hits) > in.Limit {
				hits, out.Next = hits[:in.Limit], in.Offset+in.Limit
			}
			for _, h := range hits {
				k, err := c.Store.Claim(ctx, h.Ref)
				if errors.Is(err, ken.ErrNotFound) { // forgotten meanwhile
					continue
				}
				if err != nil {
					return nil, err
				}
				out.Claims = append(out.Claims, c.show(k))
			}
			return out, nil
		})
}

// statsIn are memory_stats' arguments: none.
type statsIn struct{}

// statsOutput counts what is known, as far as the caller sees it.
type statsOutput struct {
	Claims   int            `json:"claims" jsonschema:"whatever their status, expired ones apart"`
	Kinds    map[string]int `json:"kinds"`
	Statuses map[string]int `json:"statuses"`
	Tiers    map[string]int `json:"tiers"`
	Trust    map[string]int `json:"trust"`
	Newest   time.Time      `json:"newest,omitzero"`
	Sessions int            `json:"sessions" jsonschema:"of which a journal is kept"`
	Embedded int            `json:"embedded" jsonschema:"records that have a vector, pieces of the repository included"`
	Records  int            `json:"records" jsonschema:"claims and pieces of the repository"`
}

// Write implements Output.
func (s *statsOutput) Write(p *Page) {
	p.Line(fmt.Sprintf("%d claims, %d sessions; %d of %d records have a vector.", s.Claims, s.Sessions, s.Embedded, s.Records))
	for _, m := range []struct {
		name string
		of   map[string]int
	}{{"kinds", s.Kinds}, {"statuses", s.Statuses}, {"tiers", s.Tiers}, {"trust", s.Trust}} {
		if len(m.of) > 0 {
			p.Line(m.name + ": " + counted(m.of))
		}
	}
	if !s.Newest.IsZero() {
		p.Line("newest: " + s.Newest.Format(time.RFC3339))
	}
}

// counted writes counts, and none for none.
func counted(m map[string]int) string {
	var parts []string
	for _, k := range sorted(m) {
		parts = append(parts, fmt.Sprintf("%s %d", k, m[k]))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// reportEvery is how many claims are counted between two reports of progress.
const reportEvery = 1000

func memoryStats() Tool {
	return Define(Spec{Name: "memory_stats", Title: "Count what is known", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Count what is known by kind, status, tier and trust.", Example: `{}`},
		func(ctx context.Context, c *Call, _ statsIn) (*statsOutput, error) {
			out := &statsOutput{Kinds: map[string]int{}, Statuses: map[string]int{}, Tiers: map[string]int{}, Trust: map[string]int{}}
			f := c.filter(ken.Statuses())
			f.Structural, f.Now = true, c.Now()
			out.Embedded, out.Records = c.Store.Coverage()
			for k, err := range c.Store.Scan(ctx, &f, every) {
				if err != nil {
					return nil, err
				}
				v := c.r.layer.View(k)
				out.Claims++
				out.Kinds[bounded(string(k.Kind), 64)]++
				out.Statuses[string(k.Status)]++
				out.Tiers[v.Tier.String()]++
				out.Trust[v.Trust.String()]++
				if k.CreatedAt.After(out.Newest) {
					out.Newest = k.CreatedAt.UTC().Truncate(time.Second)
				}
				if out.Claims%reportEvery == 0 {
					progress(ctx, "count", out.Claims, out.Records)
				}
			}
			sessions, err := c.r.layer.Journal(c.Owner).List(ctx)
			for i := range sessions {
				if c.seesSession(&sessions[i]) {
					out.Sessions++
				}
			}
			return out, err
		})
}
