package consolidate

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/run/session"
)

// Plan decides what a new claim means for the known ones. known is what a store found to be
// similar, in any order. Claims of another scope or kind are ignored. So are superseded ones,
// unless they have evidence of this session. Plan is a pure function. After its action is carried
// out, planning again returns Skip.
//
// The rules, in this order:
//
//   - A claim in the store with the new claim's key is the new claim itself. Only the
//     steps that an earlier run did not complete are left to do.
//   - A known claim in use that says the same is reinforced with the evidence that it
//     lacks. A session counts once, however often it is harvested. Evidence from a less
//     trusted speaker is left out, because a claim is only as trusted as its least
//     trusted evidence. If the new claim is the better trusted one, it replaces the old.
//   - What was rejected is not learned again: a disputed claim that says the same
//     prevents it, whether a person or another claim disputed it.
//   - Only newer statements replace others: a statement made before the known one
//     replaces nothing, and is dropped if the known one replaces it.
//   - Of two that contradict each other, the later one replaces the other if its
//     speaker is the same or better trusted. At the same time, or at unknown times,
//     both are disputed. Nothing is deleted.
//   - An update or a fuller statement supersedes the old one.
//   - Nothing weaker changes something stronger automatically. Stronger are claims
//     that a person verified, constraints, hot claims, claims of a better trusted
//     speaker, and claims that are more certain by CloseConfidence. Only the new claim
//     is then disputed, and people see it in the attention queue. If it merely says
//     more, it is written beside the old one.
//   - A hypothesis neither replaces nor disputes anything, and is skipped if a better
//     supported claim says the same.
func Plan(c ken.Claim, known []ken.Claim) Action { return plan(c, known, nil) }

func plan(c ken.Claim, known []ken.Claim, judged *Judged) Action {
	p := planner{new: &c, trust: c.Support(nil).Trust, judged: judged}
	for i := range known {
		p.weigh(&known[i])
	}
	p.dropUnlikely()
	return p.decide()
}

// candidate is a known claim with what the new one is to it.
type candidate struct {
	claim *ken.Claim
	Verdict
	richer   bool // the known one says more
	late     bool // the known one was said after the new one
	outdated bool // and replaces it
	change   change
	score    float64 // of a change that a trained judgement found
}

type planner struct {
	new    *ken.Claim
	trust  ken.Trust
	own    *ken.Claim
	near   []candidate
	judged *Judged
	likely []float64 // how likely the trained model finds each change that it was asked for
}

// weigh sorts out one known claim.
func (p *planner) weigh(k *ken.Claim) {
	if isOwn(k, p.new) {
		p.own = k
		return
	}
	if k.Status == ken.StatusSuperseded && !hasSessionEvidence(k, p.new) || k.Scope != p.new.Scope || comparedKind(k.Kind) != comparedKind(p.new.Kind) {
		return
	}
	known, fresh := statementOf(k), statementOf(p.new)
	a, b := statement(known, fresh), statement(fresh, known)
	n := candidate{claim: k, Verdict: compare(&a, &b, known, fresh), late: !fresh.At.IsZero() && known.At.After(fresh.At)}
	if !known.At.IsZero() && fresh.At.After(known.At) {
		p.weighEarlier(&n, known, fresh)
	}
	if endsSooner(p.new, k) && (n.Relation == Updates || n.Relation == Refines) {
		n.Relation = Distinct // what ends sooner replaces nothing for good
	}
	if n.Relation == Restates || n.late {
		back := compare(&b, &a, fresh, known)
		n.richer = back.Relation == Refines
		if n.late && !sameTime(n.Relation) {
			n.outdated = back.Relation == Updates
			n.Verdict = back
			if n.outdated {
				n.Relation = Distinct
			}
		}
	}
	if n.Relation != Distinct || n.outdated {
		p.near = append(p.near, n)
	}
}

// weighEarlier corrects the relation of a known claim that was made before the new one: the last word counts, and facts
// are read for changes.
func (p *planner) weighEarlier(n *candidate, known, fresh Statement) {
	fact := comparedKind(n.claim.Kind) == ken.KindFact
	replaces, judged := p.judged.of(n.claim, p.new)
	switch {
	case judged && replaces && (n.Relation == Distinct || n.Relation == Contradicts):
		was, is, _ := likeliest(spoken(analysis.WithoutPastNotes(known.Text)), spoken(fresh.Text), 0)
		n.amend(was, is, 1)
	case judged && !replaces && (n.Relation == Contradicts || n.Relation == Updates):
		n.Relation = Distinct
	case !judged && fact && !sameTime(n.Relation) && planned(known.Text, fresh.Text):
		n.Relation = Distinct
	}
	switch {
	case n.Relation == Contradicts:
		n.Relation, n.Why = Updates, n.Why+", said later"
	case n.Relation == Distinct && fact && !judged && !p.ofOneDraft(n.claim) && !longAgo(fresh.Text, known.At):
		n.readChange(fresh.Text)
		if n.Relation == Distinct && n.claim.Session != "" {
			p.likely = append(p.likely, p.judgeChange(n, fresh.Text))
		}
	}
}

// judgeChange asks the trained model for the score of a change. A rule changes a fact only if the score is high: what is
// to be done says little about what is.
func (p *planner) judgeChange(n *candidate, fresh string) float64 {
	unchanged := *n
	score := n.judgeChange(fresh, hasSessionEvidence(n.claim, p.new))
	if isRule(p.new) && !isRule(n.claim) && score < surelyReplaces {
		*n = unchanged
		return 0
	}
	return score
}

// endsSooner reports whether a ends by itself, before b does.
func endsSooner(a, b *ken.Claim) bool {
	return !a.ExpiresAt.IsZero() && (b.ExpiresAt.IsZero() || b.ExpiresAt.After(a.ExpiresAt))
}

// readChange checks whether the new statement gives a value of the known one another value.
func (n *candidate) readChange(fresh string) {
	c, ok := replacedValue(n.claim.Text, fresh)
	if !ok {
		c, ok = doneTask(n.claim.Text, fresh)
	}
	if !ok {
		return
	}
	n.change, n.Relation = c, Amends
	if c.onlyContent {
		n.Relation = Updates
	}
	n.Why = strconv.Quote(c.is) + " replaces " + strconv.Quote(n.claim.Text[c.was.from:c.was.to])
}

// ofOneDraft reports whether a model worded k and the new claim in one session. It reports only the
// last of several values, so neither of the two replaces the other.
func (p *planner) ofOneDraft(k *ken.Claim) bool {
	return k.Session != "" && k.Session == p.new.Session && k.Status == ken.StatusInferred && p.new.Status == ken.StatusInferred
}

// isOwn reports whether k is the new claim itself, as an earlier run stored it.
func isOwn(k, c *ken.Claim) bool { return c.ID != "" && k.ID == c.ID || c.Key != "" && k.Key == c.Key }

// hasSessionEvidence reports whether k has evidence from the session of c.
func hasSessionEvidence(k, c *ken.Claim) bool {
	return c.Session != "" && (k.Session == c.Session ||
		slices.ContainsFunc(k.Evidence, func(e ken.Evidence) bool { return e.SessionID == c.Session }))
}

// sameTime reports whether r is a relation without a change in time.
func sameTime(r Relation) bool { return r == Same || r == Restates || r == Refines }

func (p *planner) decide() Action {
	if p.own != nil && (p.own.Status == ken.StatusSuperseded || p.own.Status == ken.StatusVerified) {
		return Action{Do: Skip, Reason: Known, Own: p.own.ID}
	}
	a := p.conflict()
	if p.own == nil {
		if same, ok := p.same(); ok {
			return withConflict(same, a)
		}
		if i := p.find(func(n *candidate) bool {
			return n.claim.Status == ken.StatusSuperseded && (n.Relation == Same || n.Relation == Restates)
		}); i >= 0 {
			return p.skip(i, Known) // said in this session, and replaced since
		}
		if i := p.rejected(); i >= 0 {
			return p.skip(i, Rejected)
		}
		if i := p.find(func(n *candidate) bool { return n.outdated && isRecalled(n.claim) }); i >= 0 {
			return p.skip(i, Outdated)
		}
		return a
	}
	a.Own = p.own.ID
	if analysis.WithoutPastNotes(p.own.Text) != analysis.WithoutPastNotes(p.new.Text) && p.own.Status != ken.StatusDisputed {
		a.Revise = true
		return a
	}
	switch {
	case a.Do == Write && len(a.Amend) == 0, p.own.Status == ken.StatusDisputed && (a.Do != Dispute || len(a.IDs) == 0):
		return Action{Do: Skip, Reason: Known, Own: p.own.ID, Changed: a.Changed}
	}
	a.Resume = p.own.Status == ken.StatusDisputed
	return a
}

func (p *planner) find(ok func(*candidate) bool) int {
	return slices.IndexFunc(p.near, func(n candidate) bool { return ok(&n) })
}

// rejected returns the index of a disputed claim that the new one repeats, or -1.
func (p *planner) rejected() int {
	return p.find(func(n *candidate) bool {
		return n.claim.Status == ken.StatusDisputed && sameTime(n.Relation) && !n.richer
	})
}

func (p *planner) skip(i int, reason string) Action {
	return Action{Do: Skip, IDs: []string{p.near[i].claim.ID}, Reason: reason, Relation: p.near[i].Relation}
}

// isRecalled reports whether the status of c is one that recall uses.
func isRecalled(c *ken.Claim) bool { return slices.Contains(ken.RecallStatuses(), c.Status) }

// rank orders claims that say the same: verified ones first, then those that recall uses.
func rank(c *ken.Claim) int {
	r := int(c.Support(nil).Trust)
	if isRecalled(c) {
		r += 10
	}
	if c.Status == ken.StatusVerified {
		r += 10
	}
	return r
}

// comparedKind maps a kind to the one that it is compared as: a hot claim is a fact that is always
// injected.
func comparedKind(k ken.Kind) ken.Kind {
	if k == ken.KindHot {
		return ken.KindFact
	}
	return k
}

func statementOf(c *ken.Claim) Statement {
	return Statement{Text: analysis.WithoutPastNotes(c.Text), Heading: c.Heading, Entities: c.Entities, At: said(c), Sort: draft.Sort(c.Domain)}
}

// said returns when a claim was last said: the time of its newest evidence, or else of its
// creation. The time of the harvest does not count, since jobs run in any order.
func said(c *ken.Claim) time.Time {
	var at time.Time
	for _, e := range c.Evidence {
		if e.FetchedAt.After(at) {
			at = e.FetchedAt
		}
	}
	if at.IsZero() {
		return c.CreatedAt
	}
	return at
}

// isRule reports whether a claim says how the agent is to act.
func isRule(c *ken.Claim) bool {
	return c.Constraint || c.RuleCandidate || draft.Sort(c.Domain) == draft.Instruction
}

// disputes reports whether a reason for a dispute names the claim id.
func disputes(reason, id string) bool {
	return strings.HasPrefix(reason, string(Contradicts)) && strings.Contains(reason, id)
}

// Do is the kind of an action.
type Do string

// The kinds of actions.
const (
	Write     Do = "write"     // it is new
	Reinforce Do = "reinforce" // a known claim says the same and gets the evidence
	Supersede Do = "supersede" // it is written and replaces known claims
	Dispute   Do = "dispute"   // it is written and disputed, as are the known claims that it contradicts
	Skip      Do = "skip"      // nothing is changed
)

// Reasons to skip a claim, as they are counted in session.Outcome.Dropped.
const (
	Known    = "known"    // the store has this claim, or what this session says about it
	Rejected = "rejected" // a disputed claim says the same
	Weaker   = "weaker"   // a known claim says the same and is better supported; this evidence would lower its trust
	Outdated = "outdated" // a newer known claim already replaces it
)

// CloseConfidence is how much less certain a claim may be than one that it replaces. Extraction
// is not accurate to a tenth. With a greater difference, a person decides.
const CloseConfidence = 0.1

// Action is the decision for one new claim.
type Action struct {
	Do       Do
	IDs      []string       // known claims that are reinforced, superseded or disputed; for Skip, those that are the reason
	Against  []string       // for Dispute: known claims that are kept, because of which only the new one is disputed
	Reason   string         // for the log and for people; for Skip, one of the reasons above
	Relation Relation       // relation to the first of IDs
	Evidence []ken.Evidence // for Reinforce: evidence that the known claim lacks
	// Amend lists known claims in which one of several values has changed, with their new texts.
	// The text keeps the old value, with a note on when it changed and to what.
	Amend []ken.Claim
	// Changed lists the values that the new claim replaces.
	Changed []ValueChange
	// Note is appended to the new claim's text and says what it replaces.
	Note string
	Own  string // id of the new claim if the store has it already, because an earlier run was interrupted
	// Revise says that Own has another text, because its source has changed. The store keeps the
	// text as a new version.
	Revise bool
	// Resume says that Own is disputed already. The rest of the dispute is carried out only if
	// consolidation began it, and not if a person rejected the claim.
	Resume bool
}

// ValueChange is a value of a known claim that a new one replaces.
type ValueChange struct {
	Session string // session of the known claim
	Clause  string // clause of the known claim with the old value
	Was, Is string
	From    time.Time // when the known claim was made
	Perhaps bool      // the change is not certain
}

// Store is a store whose claims can be consolidated.
type Store interface {
	ken.Store
	// Reinforce records that a claim was seen again, with the evidence for it.
	Reinforce(ctx context.Context, id string, evidence []ken.Evidence, actor ken.Actor) error
}

// Superseder is a store that logs the reason of a supersession. With other stores, only Result
// has the reason.
type Superseder interface {
	SupersedeFor(ctx context.Context, oldID, newID, reason string, actor ken.Actor) error
}

// Result is the outcome for one claim. The lists hold ids.
type Result struct {
	Action     Action
	ID         string // id of the new claim; if nothing was written, of the known one that says the same
	Learned    bool   // the claim was not in the store before
	Reinforced []string
	Superseded []string
	Amended    []string // claims with a note on a changed value
	Disputed   []string // includes the new claim
	Dropped    string   // why it was skipped: Known, Rejected, Weaker or Outdated
}

// Record adds the result to a session's outcome.
func (r Result) Record(o *session.Outcome) {
	add := func(list *[]string, ids ...string) {
		for _, id := range ids {
			if !slices.Contains(*list, id) {
				*list = append(*list, id)
			}
		}
	}
	if r.Learned {
		add(&o.Learned, r.ID)
	}
	add(&o.Reinforced, r.Reinforced...)
	add(&o.Superseded, r.Superseded...)
	add(&o.Disputed, r.Disputed...)
	if r.Dropped != "" {
		if o.Dropped == nil {
			o.Dropped = map[string]int{}
		}
		o.Dropped[r.Dropped]++
	}
}

// Learn consolidates c with the claims in the store: Similar, then Apply, with what a model said;
// nil is nothing. Calls for claims that may be about the same thing must not run concurrently. Neither
// would find the other claim, and both would be written.
func Learn(ctx context.Context, st Store, c ken.Claim, judged *Judged) (Result, error) {
	known, err := Similar(ctx, st, c)
	if err == nil {
		known, err = judged.add(ctx, st, &c, known)
	}
	if err != nil {
		return Result{}, err
	}
	return apply(ctx, st, c, known, judged)
}

// Apply plans what to do with c and carries it out. It writes the new claim before it changes an
// old one, so a kill between two steps loses nothing. Running it again with the claims known then
// completes it; for that, c needs a Key. The same holds after an error, which may leave steps
// undone. If a known claim was changed since it was looked up, the store refuses the step with
// ErrRefused: look the claims up and apply again.
func Apply(ctx context.Context, st Store, c ken.Claim, known []ken.Claim) (Result, error) {
	return apply(ctx, st, c, known, nil)
}

func apply(ctx context.Context, st Store, c ken.Claim, known []ken.Claim, judged *Judged) (Result, error) {
	a := plan(c, known, judged)
	if a.Own != "" && a.Do != Skip && !a.Revise {
		var err error
		if a, err = unfinished(ctx, st, a); err != nil {
			return Result{Action: a, ID: a.Own}, err
		}
	}
	r := Result{Action: a, ID: a.Own}
	switch a.Do {
	case Skip:
		r.Dropped = a.Reason
		if r.ID == "" && len(a.IDs) > 0 {
			r.ID = a.IDs[0]
		}
		return r, nil
	case Reinforce:
		if err := st.Reinforce(ctx, a.IDs[0], a.Evidence, c.Actor); err != nil {
			return r, fmt.Errorf("reinforce claim %s: %w", a.IDs[0], err)
		}
		r.ID, r.Reinforced = a.IDs[0], a.IDs
		return r, nil
	}
	if a.Own == "" || a.Revise {
		if c.Text == analysis.WithoutPastNotes(c.Text) {
			c.Text += a.Note
		}
		id, err := st.WriteClaim(ctx, c)
		if err != nil {
			return r, fmt.Errorf("write claim: %w", err)
		}
		r.ID, r.Learned = id, a.Own == ""
	}
	for i := range a.Amend {
		if err := amend(ctx, st, &a.Amend[i], c.Actor); err != nil {
			return r, fmt.Errorf("amend claim %s: %w", a.Amend[i].ID, err)
		}
		r.Amended = append(r.Amended, a.Amend[i].ID)
	}
	switch a.Do {
	case Supersede:
		for _, old := range a.IDs {
			if err := supersede(ctx, st, old, r.ID, a.Reason, c.Actor); err != nil {
				return r, fmt.Errorf("supersede claim %s: %w", old, err)
			}
			r.Superseded = append(r.Superseded, old)
		}
	case Dispute:
		return dispute(ctx, st, c, r)
	}
	return r, nil
}

// amend changes a claim's text: as a new version if the claim has a key, or else by a new claim
// in its place.
func amend(ctx context.Context, st Store, c *ken.Claim, actor ken.Actor) error {
	if c.Key != "" {
		_, err := st.WriteClaim(ctx, *c)
		return err
	}
	k := *c
	k.ID, k.Key = "", "amended:"+c.ID
	id, err := st.WriteClaim(ctx, k)
	if err != nil {
		return err
	}
	return supersede(ctx, st, c.ID, id, "a value in it has changed", actor)
}

// unfinished limits the action for a claim that is already in the store to claims that are older
// than it. Newer claims were compared with it when they were learned.
func unfinished(ctx context.Context, st Store, a Action) (Action, error) {
	own, err := firstEvent(ctx, st, a.Own)
	if err != nil {
		return a, err
	}
	for _, list := range []*[]string{&a.IDs, &a.Against} {
		var older []string
		for _, id := range *list {
			seq, err := firstEvent(ctx, st, id)
			if err != nil {
				return a, err
			}
			if seq <= own {
				older = append(older, id)
			}
		}
		*list = older
	}
	var older []ken.Claim
	for i := range a.Amend {
		seq, err := firstEvent(ctx, st, a.Amend[i].ID)
		if err != nil {
			return a, err
		}
		if seq <= own {
			older = append(older, a.Amend[i])
		}
	}
	if a.Amend = older; a.Do == Write && len(older) > 0 {
		return a, nil
	}
	if len(a.IDs)+len(a.Against) == 0 {
		return Action{Do: Skip, Reason: Known, Own: a.Own}, nil
	}
	return a, nil
}

// firstEvent returns the sequence number of a claim's first event, 0 in a store without numbers.
func firstEvent(ctx context.Context, st Store, id string) (uint64, error) {
	events, err := st.History(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("read history of claim %s: %w", id, err)
	}
	if len(events) == 0 {
		return 0, nil
	}
	return events[0].Seq, nil
}

func supersede(ctx context.Context, st Store, oldID, newID, reason string, actor ken.Actor) error {
	if s, ok := st.(Superseder); ok {
		return s.SupersedeFor(ctx, oldID, newID, reason, actor)
	}
	return st.Supersede(ctx, oldID, newID)
}

// dispute disputes the new claim first. Its reason names the other claims, so that a later run
// can distinguish this dispute from a person's rejection.
func dispute(ctx context.Context, st Store, c ken.Claim, r Result) (Result, error) {
	a := r.Action
	if a.Resume {
		begun, err := disputeOf(ctx, st, a)
		if err != nil {
			return r, err
		}
		if len(begun) == 0 {
			r.Dropped = Known
			return r, nil
		}
		a.IDs = begun
	} else {
		reason := a.Reason
		if len(a.IDs) > 0 {
			reason = string(Contradicts) + " " + strings.Join(a.IDs, ", ") + ": " + strings.TrimPrefix(a.Reason, string(Contradicts)+": ")
		}
		if err := st.Transition(ctx, ken.Transition{ID: r.ID, To: ken.StatusDisputed, Reason: reason, Actor: c.Actor}); err != nil {
			return r, fmt.Errorf("dispute claim %s: %w", r.ID, err)
		}
		r.Disputed = append(r.Disputed, r.ID)
	}
	for _, id := range a.IDs {
		err := st.Transition(ctx, ken.Transition{ID: id, To: ken.StatusDisputed, Reason: "contradicted by " + r.ID + ": " + strings.TrimPrefix(a.Reason, string(Contradicts)+": "), Actor: c.Actor})
		if err != nil {
			return r, fmt.Errorf("dispute claim %s: %w", id, err)
		}
		r.Disputed = append(r.Disputed, id)
	}
	return r, nil
}

// disputeOf returns those of the action's claims that are named in the reason of the new claim's
// own dispute.
func disputeOf(ctx context.Context, st Store, a Action) ([]string, error) {
	events, err := st.History(ctx, a.Own)
	if err != nil {
		return nil, fmt.Errorf("read history of claim %s: %w", a.Own, err)
	}
	reason := ""
	for _, e := range events {
		if e.Type == ken.EventTransitioned && e.To == ken.StatusDisputed {
			reason = e.Reason
		}
	}
	var begun []string
	for _, id := range a.IDs {
		if disputes(reason, id) {
			begun = append(begun, id)
		}
	}
	return begun, nil
}
