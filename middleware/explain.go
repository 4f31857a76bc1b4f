package middleware

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// Explain says why a claim was or was not injected in one of the owner's turns. claim is a complete
// id. Explain repeats no search and changes nothing. It returns ErrNotFound for a turn without a
// receipt, and for an id that is neither in the receipt nor in the owner's store.
func (l operator) Explain(ctx context.Context, owner, turn, claim string) (inspect.Explanation, error) {
	s, release, err := l.storeWhenRecorded(ctx, owner)
	if err != nil {
		return inspect.Explanation{}, err
	}
	defer release()
	rec, err := l.Receipts(owner).Get(ctx, turn)
	if err != nil {
		return inspect.Explanation{}, err
	}
	e := inspect.Explanation{Turn: rec.Turn, At: rec.At, Session: rec.Session, Mode: rec.Mode, Cause: rec.Cause, Claim: claim, Degraded: rec.Degraded}
	x := explainer{record: &rec, out: &e}
	then, err := claimLifeAt(ctx, s, claim, rec.At)
	if err != nil {
		return e, err
	}
	e.Status = then.status
	for i := range rec.Items {
		if rec.Items[i].ID != claim {
			continue
		}
		it, err := l.currentItem(ctx, s, &rec, i)
		if err != nil {
			return e, err
		}
		x.injected(&it, i, l.relation(ctx, s, &rec, &it))
		return e, nil
	}
	for i := range rec.Cut {
		if rec.Cut[i].ID == claim {
			x.cut(rec.Cut[i].Reason, rec.Cut[i].Detail)
			return e, nil
		}
	}
	if !then.known {
		return e, &ken.Error{Code: ken.CodeNotFound, Field: "claim", Msg: "no such claim, and the receipt does not name it",
			Try: "Give the whole id of a claim, as a recall shows it."}
	}
	x.absent(&then)
	return e, nil
}

// claimLife describes a claim at a point in time.
type claimLife struct {
	known     bool // the owner has the claim, or had it once
	document  bool
	existed   bool // at that time
	forgotten bool // before that time
	written   time.Time
	status    ken.Status
	expired   bool
}

// claimLifeAt reads a claim's history up to at.
func claimLifeAt(ctx context.Context, s store.Engine, id string, at time.Time) (claimLife, error) {
	var l claimLife
	if !isID(id) {
		return l, nil
	}
	c, err := s.Get(ctx, id)
	if err != nil && !errors.Is(err, ken.ErrNotFound) {
		return l, err
	}
	if here := err == nil; here {
		l.known, l.document = true, c.Kind == ken.KindDocument
		l.expired = c.Expired(at)
	}
	if l.document {
		l.existed, l.written = !c.CreatedAt.After(at), c.CreatedAt
		return l, nil
	}
	events, err := s.History(ctx, id)
	if err != nil && !errors.Is(err, ken.ErrNotFound) {
		return l, err
	}
	for i := range events {
		ev := &events[i]
		if ev.Seq == 0 { // imported: the event is older than this store
			continue
		}
		l.known = true
		if l.written.IsZero() {
			l.written = ev.At
		}
		if ev.At.After(at) {
			break
		}
		l.existed = true
		if ev.Type == ken.EventForgotten {
			l.forgotten, l.existed = true, false
		}
		if ev.To != "" {
			l.status = ev.To
		}
	}
	return l, nil
}

// isID reports whether id has the form of a record's id.
func isID(id string) bool {
	u, err := uuid.Parse(id)
	return err == nil && u.String() == id
}

// explainer writes the explanation for a receipt.
type explainer struct {
	record *receipt.Record
	out    *inspect.Explanation
}

// relation says how an item relates to what its turn was about, as far as this still holds. It
// returns "" if the structure search did not find the item. The receipt has the entities and their
// distance; relation looks up the dependency.
func (l *Layer) relation(ctx context.Context, s store.Engine, rec *receipt.Record, it *inspect.Item) string {
	if _, ok := it.Legs[retriever.SourceStructure]; !ok {
		return ""
	}
	var entities []string
	for _, e := range it.Entities {
		if e = analysis.Entity(e); e != "" {
			entities = append(entities, e)
		}
	}
	switch {
	case len(entities) == 0 && it.Constraint:
		return "a rule without an entity, which applies to every turn"
	case len(entities) == 0:
		return ""
	case !it.Constraint && it.Aspect != "":
		return "filed under " + it.Aspect + " of " + entities[0]
	case !it.Constraint:
		return "filed under " + entities[0]
	}
	c, ok := l.findConstraint(ctx, s, rec, it.ID)
	switch {
	case ok && c.Says != "":
		return "a rule, filed under " + strings.Join(entities, " and ") + "; it mentions " + constraintSource(&c)
	case it.Signals[retriever.SignalDistance] == 0:
		return "a rule of " + strings.Join(entities, " and ")
	case ok && c.Via != nil:
		return "a rule of " + c.Entity + ", " + c.Via.Clause()
	}
	return "a rule of " + entities[0] + ", one dependency from an entity of the turn"
}

// constraintSource returns the name by which a rule was found, the entity if its name differs, and
// the dependency that leads to it.
func constraintSource(c *structure.Constraint) string {
	words := c.Says
	if c.Entity != c.Says {
		words += ", a name of " + c.Entity
	}
	if c.Via != nil {
		words += ", " + c.Via.Clause()
	}
	return words
}

// findConstraint finds a constraint, starting from the entities that a turn was about. If that
// fails, it starts from the symbols that the turn named, in the current code.
func (l *Layer) findConstraint(ctx context.Context, s store.Engine, rec *receipt.Record, id string) (structure.Constraint, bool) {
	o := structureOptions(&l.cfg)
	if o == nil {
		return structure.Constraint{}, false
	}
	signs := structure.Signs{Carried: rec.Focal}
	for {
		f := ken.Filter{Now: rec.At}
		_, t, err := structure.New(s, nil).Look(ctx, signs, &f, o.Bounds)
		if err != nil {
			return structure.Constraint{}, false
		}
		for _, c := range t.Constraints {
			if row, ok := s.Row(c.Ref); ok && row.ID == id {
				return c, true
			}
		}
		if signs.Beside != nil {
			return structure.Constraint{}, false
		}
		if signs.Beside = l.nearbySymbols(ctx, rec); signs.Beside == nil {
			return structure.Constraint{}, false
		}
	}
}

// nearbySymbols returns the neighbours in the code graph of the symbols that a turn named.
func (l *Layer) nearbySymbols(ctx context.Context, rec *receipt.Record) []structure.Beside {
	names := mentions(&rec.Signals, l.o.Root)
	if l.code.base == nil || len(names) == 0 || !l.readsProject(rec.Owner) || !l.o.Foreground && !l.code.isLoaded() {
		return nil
	}
	base, err := l.Operator().ReadCode(ctx)
	if err != nil {
		return nil
	}
	v := base.View()
	return nearbyThings(v, resolve(v, names, max(l.cfg.Graph.Symbols, minSymbols)))
}

// foundBy lists the sources that found an item, the one with the best rank first.
func foundBy(legs map[string]ken.LegScore) string {
	names := slices.SortedFunc(maps.Keys(legs), func(a, b string) int { return cmp.Or(legs[a].Rank-legs[b].Rank, strings.Compare(a, b)) })
	for i, n := range names {
		names[i] = fmt.Sprintf("%s at rank %d", n, legs[n].Rank)
	}
	return strings.Join(names, " and ")
}

// injected explains an item of the block. relation says how it relates to what the turn was about.
func (x *explainer) injected(it *inspect.Item, i int, relation string) {
	e := x.out
	e.Verdict, e.Item = inspect.Injected, it
	place := fmt.Sprintf("It is item %d of %d in the block", i+1, len(x.record.Items))
	switch {
	case it.Kind == "":
		e.Why = place + ". It has been forgotten since, and with it how it was found."
	case it.Kind == budgeter.KindSymbol && it.Signals[retriever.SignalDistance] > 0:
		e.Why = place + ", found by " + foundBy(it.Legs) + ": it is related to a symbol that the turn names. It describes the files as they were then."
	case it.Kind == budgeter.KindSymbol:
		e.Why = place + ", found by " + foundBy(it.Legs) + ": the turn names it. It describes the files as they were then."
	case it.Kind == budgeter.KindObjectives:
		e.Why = place + ", and states the project's objectives, from files of the project."
	case it.Kind == ken.KindDecision && it.Legs[legGraph].Rank > 0:
		e.Why = place + ", found by " + foundBy(it.Legs) + ": it is a decision about a symbol that the turn names."
	case it.State == inspect.Made:
		e.Why = place + ", and is the session's checkpoint: the conversation had lost its past."
	case it.Memory:
		e.Why = place + ", in the memory part, which is filled beside the matches for the question: " + memoryReason(it.Legs) + "."
	case it.Constraint && relation != "":
		e.Why = place + ", whatever the ranking says: it is " + relation + "."
	case relation != "":
		e.Why = place + ", found by " + foundBy(it.Legs) + "; it is " + relation + "."
	default:
		e.Why = place + ", found by " + foundBy(it.Legs) + "."
	}
	if x.record.Reused {
		e.Why += " An earlier request of the same turn had composed the block."
	}
	if it.State == inspect.Changed {
		e.Why += " It has changed since: the text is the present one."
	}
}

// memoryReason says why an item is in the memory part of the block.
func memoryReason(legs map[string]ken.LegScore) string {
	for _, leg := range []struct{ name, why string }{
		{retriever.SourcePinned, "it belongs into every turn"},
		{retriever.SourcePlaybooks, "it is a playbook that fits"},
		{retriever.SourceSessions, "it is one of the last sessions"},
	} {
		if _, ok := legs[leg.name]; ok {
			return leg.why
		}
	}
	return "found by " + foundBy(legs)
}

// cutReasons has, for each reason, an explanation and a way to change the result.
var cutReasons = map[ken.CutReason]struct{ why, try string }{
	ken.CutScope:     {"It was outside the scopes or kinds of the turn.", "Ask with a scope that it has, or learn it without one."},
	ken.CutStatus:    {"It was a hypothesis, disputed or superseded then, and no turn gets such a claim.", "Approve or verify it, if it is true."},
	ken.CutTier:      {"It was weaker than the agent's weight admits.", "Add evidence to it, or set retrieval.weight to default."},
	ken.CutTrust:     {"Its least trusted evidence was below retrieval.min_trust.", "Lower retrieval.min_trust, or have a person verify it."},
	ken.CutExpired:   {"It had expired.", "Learn it again with another date, if it still holds."},
	ken.CutFloor:     {"It did not match the question well enough.", "Ask with more of its words, or lower retrieval.floor."},
	ken.CutDuplicate: {"The conversation contained it already.", ""},
	ken.CutBudget:    {"Stronger or more relevant claims used up the budget.", "Raise budget.chars, or shorten it."},
	ken.CutPool:      {"Other claims matched the question better.", "Ask with more of its words."},
	ken.CutLate:      {"It arrived after the deadline of the turn.", "Raise retrieval.deadline, or look at ken doctor for a slow embedder."},
}

// cut explains why a claim was left out.
func (x *explainer) cut(reason ken.CutReason, detail string) {
	e := x.out
	e.Verdict, e.Reason, e.Detail = inspect.Cut, reason, detail
	says, ok := cutReasons[reason]
	if !ok {
		says.why = "It was left out: " + string(reason) + "."
	}
	e.Why, e.Try = says.why, says.try
}

// absent explains why the receipt does not have the claim.
func (x *explainer) absent(then *claimLife) {
	e := x.out
	e.Verdict = inspect.Unknown
	switch {
	case then.forgotten:
		e.Why = "It had been forgotten before the turn."
	case !then.existed:
		e.Why = "It was not known yet: it was written at " + then.written.UTC().Format(time.RFC3339) + ", after the turn."
	case x.record.Mode == ken.ModeNone:
		e.Verdict, e.Why = inspect.Silent, "That turn searched nothing: "+cmp.Or(x.record.Cause, "the receipt does not say why")+"."
	case then.status != "" && !slices.Contains(ken.RecallStatuses(), then.status):
		x.cut(ken.CutStatus, string(then.status))
		e.Why = "It was " + string(then.status) + " then, and no turn gets such a claim."
		if then.status == ken.StatusSuperseded {
			e.Try = "Look at what replaced it."
		}
	case then.expired:
		x.cut(ken.CutExpired, "")
	default:
		e.Verdict, e.Why = inspect.Unseen, "No source found it among its best matches: "+x.searchDescription()
		e.Try = "Ask with words that it has; ken recall shows what a question finds."
	}
}

// searchDescription describes the turn's search.
func (x *explainer) searchDescription() string {
	s := &x.record.Signals
	words := slices.Concat(s.Keywords, s.Symbols, s.Entities, s.Failures)
	out := "the receipt has no words of the question"
	if len(words) > 0 {
		out = "the question was read as " + strings.Join(words, ", ")
	}
	switch {
	case x.record.Mode == ken.ModeHybrid:
		out += ", and searched for by words and by meaning."
	case x.record.Cause != "":
		out += ", and searched for in mode " + string(x.record.Mode) + ": " + strings.TrimSuffix(x.record.Cause, ".") + "."
	default:
		out += ", and searched for in mode " + string(x.record.Mode) + "."
	}
	return out
}
