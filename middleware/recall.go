package middleware

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/intent"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// RecallQuery is a question to an owner's knowledge, and how to search. The search is that of a
// turn, with three differences: every question counts, weak matches are included unless Floor
// is set, and a slow embedding service is waited for.
type RecallQuery struct {
	Owner    string // "": the configured owner; a Recaller takes it from its store
	Question string

	Mode  ken.Mode // ModeKeyword, ModeVector or ModeHybrid; "": the best available
	Limit int      // most claims; less than 1 means 10
	Floor bool     // find only what a turn would find relevant enough
	// Filter narrows the search. Its Now is ignored: it is the time of the question. An unknown
	// MinTrust means the setting retrieval.min_trust.
	Filter ken.Filter
	// Own leaves out what other owners share.
	Own bool
}

// defaultRecall is the greatest number of claims that a recall returns by default.
const defaultRecall = 10

// Recalled is a claim that was found, with its tier and trust, which are computed from its
// evidence.
type Recalled struct {
	ken.Claim
	Tier  ken.Tier                `json:"tier"`
	Trust ken.Trust               `json:"trust"`
	Key   string                  `json:"key"`   // always set, for programs
	Score float64                 `json:"score"` // the order of the result
	Legs  map[string]ken.LegScore `json:"legs"`
	// Signals are the named parts of the score; nil if it has none.
	Signals map[string]float64 `json:"-"`
}

// RecallAnswer is the result of a recall: the claims, best first, and how they were found.
type RecallAnswer struct {
	Mode   ken.Mode   `json:"mode"`
	Cause  string     `json:"cause"` // why the mode is less than requested
	Claims []Recalled `json:"claims"`
	More   int        `json:"more,omitempty"` // rules about what the question names, beyond the limit

	// Signals and the fields below explain the result. They are not part of the JSON form.
	Signals  ken.Signals        `json:"-"` // what the question was read as
	Cut      []ken.Cut          `json:"-"` // what was found and left out; not complete
	Degraded []string           `json:"-"` // "leg: why" for each leg that failed
	MS       map[string]float64 `json:"-"` // milliseconds by leg
}

// Search answers one question as Layer.Recall does, for the owner and the scopes that q names.
// It returns the errors of opening the owner's store, of reading claims, and of ctx.
func (l operator) Search(ctx context.Context, q RecallQuery) (RecallAnswer, error) {
	s, release, err := l.Store(ctx, q.Owner)
	if err != nil {
		return RecallAnswer{}, err
	}
	defer release()
	return l.Recaller(s, q).Ask(ctx, q.Question, q.Filter.Scopes)
}

// Recaller searches one store repeatedly in the same way. It is safe for concurrent use while
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
	mode      ken.Mode // if every source answers
	cause     string   // why a requested source is missing
}

// recallDeadline replaces the deadline of a turn. Here a person waits, or a measurement that
// must not depend on the machine's load, and no model call.
const recallDeadline = 30 * time.Second

// recallFloor is the relevance floor of a recall: it includes whatever matches the question at
// all.
const recallFloor = 1e-9

// Recaller returns a Recaller with the retrieval settings of the store's owner, except the
// deadline and the floor. The owner, question and scopes of q are not used.
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
	for leg, n := range o.Limits { // the result can't be longer than what the sources bring
		o.Limits[leg] = max(n, q.Limit)
	}
	o.TopK, o.Deadline = q.Limit, recallDeadline
	if !q.Floor {
		o.Floor = recallFloor
	}
	o.Sources, rc.cause = l.recallLegs(s, &ask, q.Mode, noVector)
	rc.mode, rc.o = modeOf(o.Sources), o
	rc.r = retriever.New(s, o)
	return rc
}

// recallLegs returns the sources of a recall over projections, and why a requested one is
// missing. noVector says why turns search without vectors.
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
	case mode == "" && noVector != "": // calibrated: the keyword search alone finds more
		cause = noVector
	case ask.nothing():
		cause = noVectors
	default:
		legs = append(legs, retriever.Vector(p, ask.embedder))
	}
	return legs, cause
}

// searchShares opens and searches what others share with the store's owner. The caller releases
// the result. A store that can't be opened is left out and listed in found.
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

// modeOf returns the mode of a recall with these sources.
func modeOf(legs []retriever.Source) ken.Mode {
	switch {
	case len(legs) == 0:
		return ken.ModeNone
	case len(legs) > 1:
		return ken.ModeHybrid
	}
	return ken.Mode(legs[0].Name())
}

// Mode returns how the recaller searches while no source fails, and why that is less than
// requested; "" if it is not.
func (rc *recaller) Mode() (ken.Mode, string) { return rc.mode, rc.cause }

// Ask answers one question within the scopes; none means every scope.
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
		if len(out.Claims) == rc.limit { // a turn gets every rule; here the limit counts
			out.More++
			continue
		}
		full, err := st.projectionsOf(&c).Claim(ctx, c.Ref)
		if errors.Is(err, ken.ErrNotFound) { // forgotten meanwhile
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

// bestFirst orders candidates if there are more than the limit. A turn gets every rule about
// what it names, first. A caller that asks for a few claims wants the best matches: a rule
// counts by where the sources found it, and comes last if none did.
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

// minSignals is how many names and keywords a question must have. With fewer, all of its words
// are searched.
const minSignals = 3

// questionSignals reads a question as intent reads a message. But a caller wants an answer, so
// small talk is a question too, and a question with few signals is searched by all of its
// words.
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

// View computes a claim's tier and trust now, with the configured decay.
func (l operator) View(c ken.Claim) inspect.Claim {
	s := c.Support(nil)
	return inspect.Claim{Claim: c, Tier: s.At(l.now(), l.cfg.Knowledge.DecayDays), Trust: s.Trust}
}

// CameOf returns View of the claims that came of a harvested session, as they are now, without
// those that were forgotten since.
func (l operator) CameOf(ctx context.Context, s store.Engine, info *session.Info) ([]inspect.Claim, error) {
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
