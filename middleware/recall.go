package middleware

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/intent"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// RecallQuery is a question to an owner's knowledge, with search options. The search is that of a
// turn, with three differences. Every question is searched for. Weak matches are included unless
// Floor is set. A slow embedding service is waited for.
type RecallQuery struct {
	Owner    string // "" means the configured owner; a Recaller uses the owner of its store
	Question string

	Mode  ken.Mode // ModeKeyword, ModeVector or ModeHybrid; "" means the best available
	Limit int      // maximum number of claims; less than 1 means 10
	Floor bool     // return only claims above a turn's relevance floor
	// Filter narrows the search. Its Now is ignored; the time of the question counts. TrustUnknown
	// as MinTrust means the setting retrieval.min_trust.
	Filter ken.Filter
	// Own leaves out the knowledge that other owners share.
	Own bool
	// MatchRules returns only the rules that match the question, in the order of their match. Without
	// it, the rules about what the question names are returned whether they match or not.
	MatchRules bool
}

// defaultRecall is the default for RecallQuery.Limit.
const defaultRecall = 10

// Recalled is a claim that was found, with its tier and trust, which are computed from its
// evidence.
type Recalled struct {
	ken.Claim
	Tier  ken.Tier                `json:"tier"`
	Trust ken.Trust               `json:"trust"`
	Key   string                  `json:"key"`   // always set in the JSON form
	Score float64                 `json:"score"` // higher is better; rules may have 0
	Legs  map[string]ken.LegScore `json:"legs"`
	// Signals are the named parts of the score; nil if it has none.
	Signals map[string]float64 `json:"-"`
}

// RecallAnswer is the result of a recall: the claims, best first, and how the search went.
type RecallAnswer struct {
	Mode   ken.Mode   `json:"mode"`
	Cause  string     `json:"cause"` // why the mode is less than requested; "" if it is not
	Claims []Recalled `json:"claims"`
	More   int        `json:"more,omitempty"` // number of rules about what the question names that are beyond the limit

	// Signals and the fields below explain the result. They are not part of the JSON form.
	Signals  ken.Signals        `json:"-"` // how the question was understood
	Cut      []ken.Cut          `json:"-"` // what was found and left out; not complete
	Degraded []string           `json:"-"` // "leg: reason" for each leg that failed
	MS       map[string]float64 `json:"-"` // milliseconds by leg
}

// Search answers one question as Layer.Recall does, for the owner and scopes in q. It returns
// errors of opening the owner's store and of reading claims, and ctx's error.
func (l operator) Search(ctx context.Context, q RecallQuery) (RecallAnswer, error) {
	s, release, err := l.Store(ctx, q.Owner)
	if err != nil {
		return RecallAnswer{}, err
	}
	defer release()
	return l.Recaller(s, q).Ask(ctx, q.Question, q.Filter.Scopes)
}

// recaller searches one store repeatedly with the same options. It is safe for concurrent use while
// its store is open.
type recaller struct {
	l         *Layer
	s         store.Engine
	r         *retriever.Retriever
	filter    ken.Filter
	limit     int
	o         retriever.Options
	requested ken.Mode // see RecallQuery.Mode
	own       bool     // see RecallQuery.Own
	mode      ken.Mode // the mode while every source answers
	cause     string   // why a requested source is missing
}

// recallDeadline replaces the deadline of a turn. No model call waits for a recall. A person does,
// or a measurement whose result must not depend on the machine's load.
const recallDeadline = 30 * time.Second

// recallFloor is the relevance floor of a recall. It includes everything that matches the question.
const recallFloor = 1e-9

// Recaller returns a recaller with the retrieval settings of the store's owner, except for the
// deadline and the floor. The Owner and Question of q, and its Filter's scopes, are not used.
func (l operator) Recaller(s store.Engine, q RecallQuery) *recaller {
	ask := l.questionFor(s, l.vectorCause, recallDeadline)
	o, noVector := l.searchOptionsFor(l.questionCalibration(s.Owner(), &ask))
	rc := &recaller{l: l.Layer, s: s, filter: q.Filter, limit: q.Limit, requested: q.Mode, own: q.Own}
	if q.Filter.MinTrust == ken.TrustUnknown {
		rc.filter.MinTrust = l.cfg.Retrieval.MinTrust
	}
	if q.Limit < 1 {
		q.Limit = defaultRecall
		rc.limit = q.Limit
	}
	o.Limits, o.Pool = maps.Clone(o.Limits), max(o.Pool, 2*q.Limit)
	for leg, n := range o.Limits { // sources must return enough records for the limit
		o.Limits[leg] = max(n, q.Limit)
	}
	o.TopK, o.Deadline = q.Limit, recallDeadline
	if !q.Floor {
		o.Floor = recallFloor
	}
	if q.MatchRules && o.Structure != nil {
		structure := *o.Structure
		structure.MatchRules = true
		o.Structure = &structure
	}
	o.Sources, rc.cause = l.recallLegs(s, &ask, q.Mode, noVector)
	rc.mode, rc.o = modeOf(o.Sources), o
	rc.r = retriever.New(s, o)
	return rc
}

// recallLegs returns the sources of a recall, and why a requested one is missing; "" if none is.
// noVector is the reason why turns search without vectors.
func (l *Layer) recallLegs(p store.Projections, ask *question, mode ken.Mode, noVector string) (legs []retriever.Source, cause string) {
	if mode != ken.ModeVector {
		legs = append(legs, retriever.Keyword(p))
	}
	switch {
	case mode == ken.ModeKeyword:
	case l.vectorCause != "":
		if mode != "" {
			cause = noVector
		}
	case mode == "" && noVector != "": // the calibration found that keyword search alone finds more
		cause = noVector
	case ask.lacksVectors():
		cause = noVectors
	default:
		legs = append(legs, retriever.Vector(p, ask.embedder))
	}
	return legs, cause
}

// searchShares opens and searches the stores that share knowledge with the store's owner. The
// caller releases the result. It leaves out stores that can't be opened and adds them to
// found.Degraded.
func (rc *recaller) searchShares(ctx context.Context, t retriever.Turn, found *retriever.Result) (open []*share) {
	if rc.own {
		return nil
	}
	for _, owner := range rc.l.sharingOwners(rc.s.Owner()) {
		s, err := rc.l.openShare(ctx, owner)
		if err != nil {
			found.Degraded = append(found.Degraded, owner+": "+err.Error())
			continue
		}
		o := rc.o
		ask := rc.l.questionFor(s.view, rc.l.vectorCause, recallDeadline)
		_, noVector := rc.l.searchOptionsFor(rc.l.questionCalibration(owner, &ask))
		o.Sources, _ = rc.l.recallLegs(s.view, &ask, rc.requested, noVector)
		got := retriever.New(s.view, o).Retrieve(ctx, t)
		found.Merge(owner, &got, rc.o.TopK)
		open = append(open, s)
	}
	return open
}

// modeOf returns the mode of a search with these sources.
func modeOf(legs []retriever.Source) ken.Mode {
	switch {
	case len(legs) == 0:
		return ken.ModeNone
	case len(legs) > 1:
		return ken.ModeHybrid
	}
	return ken.Mode(legs[0].Name())
}

// Mode returns the mode of the recaller's searches while no source fails, and the reason if that is
// less than requested; "" if it is not.
func (rc *recaller) Mode() (ken.Mode, string) { return rc.mode, rc.cause }

// Ask answers one question within the scopes. No scopes mean every scope.
func (rc *recaller) Ask(ctx context.Context, question string, scopes []ken.Scope) (RecallAnswer, error) {
	f := rc.filter
	f.Scopes, f.Now = scopes, rc.l.now()
	question = cleanText(question)
	signals := questionSignals(question)
	turn := retriever.Turn{Signals: signals, Filter: f, Text: question, Project: rc.l.o.Root,
		Expand: rc.l.cfg.Retrieval.Weight == ken.WeightHigh}
	found := rc.r.Retrieve(ctx, turn)
	st := State{proj: rc.s, filter: f, shares: rc.searchShares(ctx, turn, &found)}
	defer st.release()
	if err := ctx.Err(); err != nil {
		return RecallAnswer{}, err
	}
	out := RecallAnswer{Mode: found.Mode, Cause: cmp.Or(rc.cause, found.Cause), Claims: make([]Recalled, 0, len(found.Candidates)),
		Signals: signals, Cut: found.Cut, Degraded: found.Degraded, MS: found.MS}
	for _, c := range bestFirst(found.Candidates, rc.limit) {
		if len(out.Claims) == rc.limit { // a turn gets every rule; a recall is limited
			out.More++
			continue
		}
		full, err := st.projectionsOf(&c).Claim(ctx, c.Ref)
		if errors.Is(err, ken.ErrNotFound) { // forgotten since the search
			continue
		}
		if err != nil {
			return out, err
		}
		out.Claims = append(out.Claims, Recalled{Claim: withOwnerSource(c.Owner, full), Tier: c.Tier, Trust: c.Row.Facts.Trust,
			Key: full.Key, Score: c.Fused, Legs: c.Sources, Signals: c.Signals})
	}
	return out, nil
}

// bestFirst sorts candidates if there are more than limit. In a turn, all rules about what it names
// come first. A caller of Recall wants the best matches, so here a rule is placed by its rank in
// the sources, and at the end if none found it.
func bestFirst(all []retriever.Candidate, limit int) []retriever.Candidate {
	if len(all) <= limit {
		return all
	}
	type record struct {
		owner string
		ref   store.Ref
	}
	of := func(c *retriever.Candidate) record { return record{c.Owner, c.Ref} }
	place, found := make(map[record]int, len(all)), 0
	for i := range all {
		c := &all[i]
		if !c.Constraint {
			place[of(c)] = found
			found++
			continue
		}
		at := len(all)
		for _, leg := range []string{retriever.SourceKeyword, retriever.SourceVector} {
			if score, ok := c.Sources[leg]; ok {
				at = min(at, score.Rank-1)
			}
		}
		place[of(c)] = at
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b retriever.Candidate) int { return cmp.Compare(place[of(&a)], place[of(&b)]) })
	return all
}

// minSignals is the minimum number of names and keywords of a question. With fewer, all words of
// the question are searched for.
const minSignals = 3

// questionSignals analyzes a question as package intent analyzes a message, with two differences.
// Small talk counts as a question, because the caller wants an answer. A question with few signals
// is searched by all of its words.
func questionSignals(question string) ken.Signals {
	s := intent.Analyze([]ken.Message{{Role: "user", Text: question}})
	s.Asks = true
	if len(s.Keywords)+len(s.Symbols)+len(s.Entities)+len(s.Failures) < minSignals {
		s.Keywords = append(s.Keywords, s.Question)
	}
	return s
}

// Now returns the time of the layer's clock.
func (l operator) Now() time.Time { return l.now() }

// View computes a claim's tier and trust for the current time, with the configured decay.
func (l operator) View(c ken.Claim) inspect.Claim {
	s := c.Support(nil)
	return inspect.Claim{Claim: c, Tier: s.At(l.now(), l.cfg.Knowledge.DecayDays), Trust: s.Trust}
}

// SessionClaims returns the current state of the claims that the harvest of a session wrote, without those
// that were forgotten since.
func (l operator) SessionClaims(ctx context.Context, s store.Engine, info *session.Info) ([]inspect.Claim, error) {
	out := []inspect.Claim{}
	for _, id := range info.Outcome.Claims() {
		c, err := s.Get(ctx, id)
		if errors.Is(err, ken.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, l.View(c))
	}
	return out, nil
}

// Remember stores a statement and returns the claim's id. What the statement is about, and whether
// it is a rule, is determined from the text.
//
// Owner, project, session and agent come from the turn in ctx: see ken.WithTurn. Without an owner
// there, the configured one is used; see Options.RequireOwner. The statement counts as asserted by that
// person. If the turn names an agent, it counts as asserted by the agent, and is not a rule until a
// person approves it.
//
// change may set further fields of the claim, such as its Key or Evidence, before it is written. A
// claim with an existing key becomes a new version. Remember returns ErrInvalid for an empty text,
// ErrRefused if an agent uses the key of a person's claim, and the errors of the store.
func (l *Layer) Remember(ctx context.Context, text string, change ...func(*ken.Claim)) (id string, err error) {
	t, _ := ken.TurnFrom(ctx)
	if err := l.Operator().CheckOwner(t.Owner); err != nil {
		return "", err
	}
	t.Owner = l.ownerOrDefault(t.Owner)
	word := ken.FromHumanAssertion(t.Owner, l.now().UTC(), "")
	if t.Agent != "" {
		word = ken.FromAgentAssertion(t.Agent, "")
	}
	fill := func(c *ken.Claim) {
		c.SourceType = "remember"
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
		if err := l.refusePersonsKey(ctx, t.Owner, asked.Key); err != nil {
			return "", err
		}
	}
	h := l.Operator().Handle(t)
	if t.Agent == "" {
		h = h.Branch(t.Branch, session.BranchOptions{Actor: ken.Actor{Type: "user", ID: t.Owner}})
	}
	return h.Learn(ctx, text, []ken.Evidence{word}, fill)
}

// refusePersonsKey returns ErrRefused if a person wrote the claim with this key.
func (l *Layer) refusePersonsKey(ctx context.Context, owner, key string) error {
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
		err = &ken.Error{Code: ken.CodeRefused, Field: "key", Msg: "a person's claim has this key", Try: "Use another key, or leave Agent out of the turn if a person states it."}
	}
	return err
}

// Recall answers a question with the claims that are relevant to it, best first. Owner and scopes
// come from the turn in ctx: see ken.WithTurn. change may narrow the search, for example by Limit
// or Filter. It returns ErrInvalid for an empty question and an unknown mode, errors of opening the owner's store and of reading claims, and ctx's error.
func (l *Layer) Recall(ctx context.Context, question string, change ...func(*RecallQuery)) (RecallAnswer, error) {
	t, _ := ken.TurnFrom(ctx)
	q := RecallQuery{Owner: t.Owner, Question: question, Filter: ken.Filter{Scopes: t.Scopes, Unscoped: true}}
	for _, f := range change {
		f(&q)
	}
	if err := l.Operator().CheckOwner(q.Owner); err != nil {
		return RecallAnswer{}, err
	}
	if strings.TrimSpace(q.Question) == "" {
		return RecallAnswer{}, &ken.Error{Code: ken.CodeInvalid, Field: "question", Msg: "the question is empty", Try: "Say what to look for."}
	}
	if q.Mode != "" {
		if _, err := ken.ParseMode(string(q.Mode)); err != nil {
			return RecallAnswer{}, err
		}
	}
	return l.Operator().Search(ctx, q)
}
