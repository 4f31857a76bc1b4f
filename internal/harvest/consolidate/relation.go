package consolidate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/draft"
)

// Relation is how a new statement relates to an old one.
type Relation string

// Relations. Same, Restates, Distinct and Contradicts are symmetric. Refines and Updates
// describe the new statement relative to the old one.
const (
	Same        Relation = "same"        // the same words, except for case, punctuation and articles
	Restates    Relation = "restates"    // says nothing that the old one does not say
	Refines     Relation = "refines"     // says everything that the old one says, and more
	Updates     Relation = "updates"     // the same attribute of the same subject, with a value that replaces the old one
	Amends      Relation = "amends"      // gives a new value to one of several things that the old one says
	Contradicts Relation = "contradicts" // both can't be true, and nothing says that one is later than the other
	Distinct    Relation = "distinct"    // about something else, or the relation is unknown
)

// Statement is a statement to compare. Only Text is required.
type Statement struct {
	Text     string
	Heading  string     // what the text is about, if the text does not say so
	Entities []string   // named things that it is about
	At       time.Time  // when it was said; zero is unknown
	Sort     draft.Sort // a preference excludes its alternatives; other sorts have no effect
}

// Verdict is a relation and the reason for it.
type Verdict struct {
	Relation Relation
	Why      string  // the deciding words, for people
	Score    float64 // the share of words that both have, 0..1; for information only

	onlyKind bool // an update that only the kind of both values tells
}

// Compare returns the relation of after to before. It is a pure function of its arguments,
// and safe for concurrent use.
func Compare(before, after Statement) Verdict {
	a, b := statement(before, after), statement(after, before)
	return compare(&a, &b, before, after)
}

// compare is Compare for parsed statements. It changes neither.
func compare(a, b *text, before, after Statement) Verdict {
	if len(a.words) == 0 || len(b.words) == 0 {
		return Verdict{Relation: Distinct, Why: "nothing to compare"}
	}
	if a.code || b.code {
		if slices.Equal(strings.Fields(before.Heading+"\n"+before.Text), strings.Fields(after.Heading+"\n"+after.Text)) {
			return Verdict{Relation: Same, Why: "the same code", Score: 1}
		}
		return Verdict{Relation: Distinct, Why: "not the same code"}
	}
	if a.raw || b.raw || len(a.words) > maxWords || len(b.words) > maxWords {
		return verbatim(a, b)
	}
	p := pair{old: a, new: b, alignment: align(a.words, b.words), before: before, after: after}
	v := p.judge()
	v.Score = 2 * float64(p.common) / float64(len(a.words)+len(b.words))
	return v
}

// statement parses s. The heading is put before the text, unless the other statement has
// the same one or the text contains it.
func statement(s, other Statement) text {
	if h := strings.TrimSpace(s.Heading); h != "" && lower(h) != lower(strings.TrimSpace(other.Heading)) &&
		!strings.Contains(lower(s.Text), lower(h)) {
		return read(h + ". " + s.Text)
	}
	return read(s.Text)
}

// verbatim judges texts that are not interpreted.
func verbatim(a, b *text) Verdict {
	if slices.EqualFunc(a.words, b.words, func(x, y word) bool { return x.norm == y.norm }) {
		return Verdict{Relation: Same, Why: "the same text", Score: 1}
	}
	if a.raw || b.raw {
		return Verdict{Relation: Distinct, Why: "not the same text, and its script has no words to compare"}
	}
	return Verdict{Relation: Distinct, Why: "not the same text, and too long to compare"}
}

// pair is an old and a new statement with their alignment.
type pair struct {
	alignment
	old, new      *text
	before, after Statement
	shorter       []word // a generic noun that only one of them has
}

// judge applies the rules in turn. Each rule returns a verdict only if it is sure.
func (p *pair) judge() Verdict {
	if why := p.differentReferents(); why != "" {
		return Verdict{Relation: Distinct, Why: why}
	}
	if len(p.hunks) == 0 && slices.Equal(p.old.when, p.new.when) && p.old.asks == p.new.asks {
		if p.loose || p.old.edits != p.new.edits {
			return Verdict{Relation: Restates, Why: "the same words in other forms"}
		}
		return Verdict{Relation: Same, Why: "the same words"}
	}
	if p.old.asks || p.new.asks {
		return Verdict{Relation: Distinct, Why: "a question"}
	}
	english := !p.old.notEnglish && !p.new.notEnglish
	if english {
		p.prune()
	}
	if v, ok := p.polarity(); ok {
		return v
	}
	if english {
		for _, rule := range rules {
			if v, ok := rule(p); ok {
				return v
			}
		}
	}
	return Verdict{Relation: Distinct, Why: p.difference()}
}

// rules judge English statements, after polarity, in this order.
var rules = []func(*pair) (Verdict, bool){
	(*pair).pruned, (*pair).reordered, (*pair).voiced, (*pair).changed, (*pair).replaced, (*pair).recovered, (*pair).opposed, (*pair).added,
}

// differentReferents returns why two statements can't be about the same thing although their words
// may be equal: the pronoun of each refers to something else. It returns "" if they can.
func (p *pair) differentReferents() string {
	if !p.old.words[0].has(pronoun) && !p.new.words[0].has(pronoun) || len(p.hunks) == 0 && len(p.before.Entities)+len(p.after.Entities) == 0 {
		return ""
	}
	before, after := namesAbout(p.before), namesAbout(p.after)
	if slices.Equal(before, after) && len(before) > 0 {
		return ""
	}
	return strconv.Quote(p.old.words[0].raw) + " and " + strconv.Quote(p.new.words[0].raw) + " may be of different things"
}

// namesAbout returns the names that a statement is about, sorted. Names in its text are left
// out, unless there are no others: a claim is filed under them as well as under the thing
// that its "it" refers to.
func namesAbout(s Statement) []string {
	var all, unsaid []string
	var b strings.Builder // word by word: as a name, a whole text is too long
	for w := range strings.FieldsSeq(s.Text) {
		b.WriteString(" " + analysis.Entity(w))
	}
	text := b.String() + " "
	for _, name := range s.Entities {
		name = analysis.Entity(name)
		all = append(all, name)
		if !strings.Contains(text, " "+name+" ") {
			unsaid = append(unsaid, name)
		}
	}
	if len(unsaid) > 0 {
		all = unsaid
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// difference describes the first words that differ.
func (p *pair) difference() string {
	if len(p.hunks) == 0 {
		return "another date or a question"
	}
	h := p.hunks[0]
	switch {
	case len(h.a) == 0:
		return "only the new one says " + quote(h.b)
	case len(h.b) == 0:
		return "only the old one says " + quote(h.a)
	}
	return quote(h.a) + " and " + quote(h.b)
}

// quote returns words as they were written, at most six of them.
func quote(words []word) string {
	var b strings.Builder
	for i := range words[:min(len(words), 6)] {
		if raw := words[i].raw; i == 0 || raw != words[i-1].raw { // a contraction is two words
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(raw)
		}
	}
	if len(words) > 6 {
		b.WriteString(" …")
	}
	return strconv.Quote(b.String())
}

// meansAnother reports whether the new claim changes another known claim rather than n, or may change either.
func (p *planner) meansAnother(n *candidate) bool {
	return p.find(func(o *candidate) bool {
		better := o.change.is == n.change.is && o.change.bond > n.change.bond
		asGood := o.claim != n.claim && o.change.bond == n.change.bond && n.change.bond == onlyNamed
		return n.change.bond > 0 && (better || asGood) || n.onlyKind && o.onlyKind && o.claim != n.claim && isRecalled(o.claim)
	}) >= 0
}

// conflict decides about contradictions, updates and additions.
func (p *planner) conflict() Action {
	if p.new.Status == ken.StatusHypothesis {
		return Action{Do: Write}
	}
	var replace, amend, fight, above []*candidate
	for i := range p.near {
		n := &p.near[i]
		if !isRecalled(n.claim) && !(n.claim.Status == ken.StatusHypothesis && n.Relation == Refines) {
			continue
		}
		guard := p.protected(n)
		if p.meansAnother(n) {
			continue
		}
		switch {
		case n.change.judged && guard != "":
		case n.Relation == Amends:
			if guard == "" && !n.late {
				amend = append(amend, n)
			}
		case n.Relation == Refines && guard == "" && !n.late, n.Relation == Updates && guard == "":
			replace = append(replace, n)
		case n.Relation == Contradicts && guard == "":
			fight = append(fight, n)
		case n.Relation == Updates, n.Relation == Contradicts:
			n.Why = guard + ": " + n.Why
			above = append(above, n)
		}
	}
	switch {
	case len(above) > 0:
		a := act(Dispute, above)
		a.IDs, a.Against = nil, a.IDs
		a.Reason = "against " + above[0].claim.ID + ", which " + above[0].Why
		return a
	case len(fight) > 0:
		return act(Dispute, fight)
	case len(replace) > 0:
		a := act(Supersede, replace)
		p.amend(&a, replace, amend)
		return a
	}
	a := Action{Do: Write}
	if p.amend(&a, nil, amend); len(amend) > 0 {
		a.Relation, a.Reason = Amends, string(Amends)+": "+amend[0].Why
	}
	return a
}

// was returns the value that has changed, as it was written; "" if no single value was
// found.
func (n *candidate) was() string { return n.claim.Text[n.change.was.from:n.change.was.to] }

// mostNote bounds what a new claim's note quotes of an old one, in bytes.
const mostNote = 200

// amend adds to an action the new texts of claims that say other things besides the old
// value, and the new claim's note on the old ones.
func (p *planner) amend(a *Action, replaced, amended []*candidate) {
	at := said(p.new)
	for _, n := range replaced {
		if was := inNote(n.claim.Text); n.Relation == Updates && a.Note == "" && len(was) <= mostNote {
			a.Note = changedFrom(was, n.was(), p.new.Text, said(n.claim), at)
		}
	}
	for _, n := range slices.Concat(replaced, amended) {
		if t, c := n.claim.Text, &n.change; c.is != "" {
			a.Changed = append(a.Changed, ValueChange{Session: n.claim.Session, Clause: t[c.clause.from:c.clause.to], Was: t[c.was.from:c.was.to], Is: c.is, From: said(n.claim), Perhaps: c.perhaps})
		}
	}
	for _, n := range amended {
		if strings.Contains(n.claim.Text, changedTo(n.change.is, said(n.claim), at, n.change.perhaps)) {
			continue // an earlier run did it
		}
		c, from := *n.claim, said(n.claim)
		if was := inNote(c.Text[n.change.clause.from:n.change.clause.to]); a.Note == "" && len(was) <= mostNote && !n.change.perhaps {
			a.Note = changedFrom(was, n.was(), p.new.Text, from, at)
		}
		c.Text = n.change.amend(c.Text, from, at)
		a.Amend = append(a.Amend, c)
	}
}

// withConflict merges the replacement of a claim that says the same with the action for
// other claims, since both are carried out when the new claim is written. A dispute comes
// first: a disputed claim replaces nothing.
func withConflict(same, a Action) Action {
	switch {
	case same.Do != Supersede || a.Do == Write && len(a.Amend) == 0:
		return same
	case a.Do == Dispute:
		return a
	}
	same.Amend, same.Note = a.Amend, a.Note
	if a.Do == Write {
		return same
	}
	same.IDs = append(same.IDs, a.IDs...)
	same.Reason += "; " + a.Reason
	return same
}

func act(do Do, near []*candidate) Action {
	a := Action{Do: do, Relation: near[0].Relation, Reason: string(near[0].Relation) + ": " + near[0].Why}
	for _, n := range near {
		a.IDs = append(a.IDs, n.claim.ID)
	}
	return a
}

// surelyChanged is CloseConfidence for a statement that says that a value has changed. A
// guess is less certain than a firm statement by more than that.
const surelyChanged = 0.25

// protected returns why the new claim may not change n without a person, "" if it may.
func (p *planner) protected(n *candidate) string {
	k, closeTo := n.claim, CloseConfidence
	if n.change.is != "" {
		closeTo = surelyChanged // it says itself that the value changed
	}
	switch {
	case k.Status == ken.StatusVerified:
		return "is verified"
	case k.Constraint && !p.new.Constraint:
		return "is a constraint"
	case k.Kind == ken.KindHot && p.new.Kind != ken.KindHot:
		return "is hot"
	case k.Support(nil).Trust > p.trust:
		return "has a more trusted speaker"
	case k.Confidence > p.new.Confidence+closeTo:
		return "is more certain"
	}
	return ""
}

// same decides about a new claim that a known one in use says already. Of several, the best
// one counts.
func (p *planner) same() (Action, bool) {
	best, rejected := -1, p.rejected() >= 0
	for i := range p.near {
		n := &p.near[i]
		says := n.Relation == Same || n.Relation == Restates
		guess := n.claim.Status == ken.StatusHypothesis
		if !says || !isRecalled(n.claim) && !guess || guess && (rejected || p.new.Status != ken.StatusHypothesis && p.betterThan(n) == "") {
			continue
		}
		if best < 0 || rank(n.claim) > rank(p.near[best].claim) {
			best = i
		}
	}
	if best < 0 {
		return Action{}, false
	}
	n := &p.near[best]
	if p.new.Status == ken.StatusHypothesis && n.claim.Status != ken.StatusHypothesis {
		return p.skip(best, Weaker), true
	}
	if better := p.betterThan(n); better != "" {
		return Action{Do: Supersede, IDs: []string{n.claim.ID}, Reason: better, Relation: n.Relation}, true
	}
	evidence, reason := p.lacks(n.claim)
	if len(evidence) == 0 {
		return p.skip(best, reason), true
	}
	return Action{Do: Reinforce, IDs: []string{n.claim.ID}, Reason: string(n.Relation) + ": " + n.Why, Relation: n.Relation, Evidence: evidence}, true
}

// betterThan returns why the new claim should replace one that says at least as much, "" if
// it should not.
func (p *planner) betterThan(n *candidate) string {
	if n.richer || n.late || p.protected(n) != "" {
		return ""
	}
	switch {
	case n.claim.Status == ken.StatusHypothesis && p.new.Status != ken.StatusHypothesis:
		return "was a hypothesis, and is " + string(p.new.Status) + " now"
	case p.trust > n.claim.Support(nil).Trust:
		return "said again by a more trusted speaker: " + p.trust.String()
	}
	return ""
}

// lacks returns the evidence that would strengthen k; if there is none, reason says why.
func (p *planner) lacks(k *ken.Claim) (add []ken.Evidence, reason string) {
	reason = Known
	again := hasSessionEvidence(k, p.new)
	trust := k.Support(nil).Trust
	for _, e := range p.new.Evidence {
		has := slices.ContainsFunc(k.Evidence, func(h ken.Evidence) bool { return h.Kind == e.Kind && h.Reference() == e.Reference() })
		switch {
		case has, again && !e.Hard() && !e.Backed():
		case !e.Speaker().AtLeast(trust):
			reason = Weaker
		default:
			add = append(add, e)
		}
	}
	return add, reason
}

// Near is the maximum number of claims that each search of Similar returns.
const Near = 20

// Keyed is a store that finds a claim by its key. With another store, Similar looks for an
// earlier version of the claim among the results of the search by words.
type Keyed interface {
	// ByKey returns the claim with a key, whatever its status, or ErrNotFound.
	ByKey(ctx context.Context, key string) (ken.Claim, error)
}

// Similar returns the known claims to compare a new one with. They have its scope and kind,
// and share its words or entities, or say in other words what it says has changed.
// Superseded claims are included only with evidence of its session. The claim with its key
// is included, too. A claim without any common word is not found, which prevents a merge
// but loses no fact.
func Similar(ctx context.Context, st ken.Store, c ken.Claim) ([]ken.Claim, error) {
	filter := ken.Filter{Scopes: []ken.Scope{c.Scope}, Kinds: []ken.Kind{c.Kind}, ClaimsOnly: true, Statuses: []ken.Status{
		ken.StatusObserved, ken.StatusInferred, ken.StatusVerified, ken.StatusHypothesis, ken.StatusDisputed}}
	if comparedKind(c.Kind) == ken.KindFact {
		filter.Kinds = []ken.Kind{ken.KindFact, ken.KindHot}
	}
	question := c.Text
	if c.Heading != "" {
		question = c.Heading + "\n" + c.Text
	}
	past := filter
	past.Statuses = []ken.Status{ken.StatusSuperseded}
	queries := []ken.Query{
		{Question: question, Filter: filter, Limit: Near},
		{Question: strings.Join(c.Entities, " "), Filter: filter, Limit: Near},
		{Question: attributeOf(c.Text), Filter: filter, Limit: Near},
		{Question: question, Filter: past, Limit: Near},
	}
	var out []ken.Claim
	add := func(k ken.Claim) {
		if !slices.ContainsFunc(out, func(o ken.Claim) bool { return o.ID == k.ID }) {
			out = append(out, k)
		}
	}
	if st, ok := st.(Keyed); ok && c.Key != "" {
		switch own, err := st.ByKey(ctx, c.Key); {
		case err == nil:
			add(own)
		case !errors.Is(err, ken.ErrNotFound):
			return nil, fmt.Errorf("find claim by key: %w", err)
		}
	}
	for _, q := range queries {
		if strings.TrimSpace(q.Question) == "" {
			continue
		}
		found, err := st.Query(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("find similar claims: %w", err)
		}
		for _, k := range found {
			if k.Status != ken.StatusSuperseded || isOwn(&k, &c) || hasSessionEvidence(&k, &c) {
				add(k)
			}
		}
	}
	return out, nil
}

// attributeOf returns words of statements that a statement of change may replace, "" for
// other statements. "Ana moved to Lyon" replaces where she lived, but shares only the name
// with "Ana lives in Bonn".
func attributeOf(s string) string {
	if w := placeWords(s); w != "" {
		return w
	}
	t := read(s)
	f, ok := parse(t.words)
	if !ok || t.notEnglish || t.raw || t.code || len(f.subject) == 0 {
		return ""
	}
	var says aspect
	for _, slot := range f.slots {
		says |= changes[phrase{f.key, slot.prep}]
		if changes[phrase{f.key, slot.prep}]&means != 0 && len(slot.words) > 0 && kindOf(slot.words) > 0 {
			return strings.Split(strings.TrimSpace(kindNames), "\n")[kindOf(slot.words)-1] // one of them may be what it replaces
		}
	}
	var b strings.Builder
	for i := range f.subject {
		b.WriteString(f.subject[i].raw + " ")
	}
	switch {
	case says&home != 0:
		b.WriteString("lives resides based moved relocated")
	case says&employment != 0:
		b.WriteString("works employed hired joined job")
	default:
		return ""
	}
	return b.String()
}
