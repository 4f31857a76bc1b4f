package cases

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/evals/generate"
	"github.com/kenlayer/ken/internal/spelling"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// everything returns a filter that passes each record, including expired ones.
func everything() ken.Filter {
	return ken.Filter{Statuses: ken.Statuses(), Now: time.Unix(0, 0).UTC()}
}

// matching returns at most limit records of a store that match m, including repository
// chunks.
func (e *examiner) matching(ctx context.Context, s store.Engine, m *Matcher, limit int) (out []ken.Claim) {
	for c, err := range generate.FromStore(s, everything())(ctx) {
		e.keep(err)
		if m.Matches(&c) {
			out = append(out, c)
		}
		if err != nil || len(out) == limit {
			break
		}
	}
	return out
}

// ownerWithMatch returns the first owner who has a claim that matches m, starting with the
// case's owner; "" if none has.
func (e *examiner) ownerWithMatch(ctx context.Context, m *Matcher) string {
	key := e.owner + "\x00" + m.String()
	if who, done := e.f.had[key]; done {
		return who
	}
	for _, owner := range append([]string{e.owner}, e.r.owners...) {
		s, release, err := e.f.layer.Store(ctx, owner)
		if err != nil {
			e.keep(err)
			return ""
		}
		found := e.matching(ctx, s, m, 1)
		release()
		if len(found) > 0 {
			e.f.had[key] = owner
			return owner
		}
	}
	e.f.had[key] = ""
	return ""
}

// explain says why the claims that match m are not where they should be, claim by
// claim, and what to try about the first.
func (e *examiner) explain(ctx context.Context, m *Matcher) (have []string, try string) {
	found := e.matching(ctx, e.s, m, most)
	type reason struct {
		claim    *ken.Claim
		why, try string
		rank     int
	}
	var reasons []reason
	if len(found) == 0 {
		return e.absent(ctx, m)
	}
	for i := range found {
		h := e.rank(ctx, found[i].ID)
		r := reason{claim: &found[i], rank: cmp.Or(h.rank, most+1)}
		r.why, r.try = e.why(&found[i], h)
		reasons = append(reasons, r)
	}
	slices.SortStableFunc(reasons, func(a, b reason) int { return cmp.Compare(a.rank, b.rank) })
	for _, r := range reasons[:min(listed, len(reasons))] {
		have = append(have, fmt.Sprintf("%s %s: %s", name(r.claim.ID, r.claim.Key), headline(r.claim.Heading, r.claim.Text), r.why))
	}
	if more := len(reasons) - listed; more > 0 {
		have = append(have, fmt.Sprintf("and %d more that match", more))
	}
	return append(have, e.bestFound()...), reasons[0].try
}

// bestFound describes the best candidates.
func (e *examiner) bestFound() (have []string) {
	for i := range e.candidates[:min(listed, len(e.candidates))] {
		have = append(have, "found: "+e.candidates[i].String())
	}
	if len(have) == 0 {
		have = append(have, "nothing was found")
	}
	return have
}

// absent explains that the owner has no such claim.
func (e *examiner) absent(ctx context.Context, m *Matcher) (have []string, try string) {
	if owner := e.ownerWithMatch(ctx, m); owner != "" {
		return append([]string{fmt.Sprintf("it belongs to another owner, %s; the turn is %s's", owner, e.owner)}, e.bestFound()...),
			"Set owner: " + owner + " in the case, if that is meant."
	}
	have = []string{fmt.Sprintf("none of the %d records of %s matches", e.s.Len(), e.owner)}
	if m.Key != "" {
		var keys []string
		for c, err := range e.s.Claims(ctx) {
			e.keep(err)
			if c.Key != "" {
				keys = append(keys, c.Key)
			}
		}
		if near := spelling.Nearest(m.Key, keys); near != "" {
			return append(have, e.bestFound()...), "Did you mean the key " + near + "?"
		}
	}
	return append(have, e.bestFound()...), "Check the spelling, add the claim under given, or see what there is with ken recall."
}

// why explains why a claim of the owner is not in the block, or not among the
// candidates.
func (e *examiner) why(c *ken.Claim, h hit) (why, try string) {
	for i := range e.candidates {
		if o := &e.candidates[i]; o.claim.ID == c.ID {
			why = o.where() + ", then "
			break
		}
	}
	st := e.out.state
	if st == nil {
		return "nothing was searched: " + e.out.receipt.Cause, "See what the cause says."
	}
	f := ken.Filter{Scopes: st.Turn.Scopes, Unscoped: true, Now: e.f.now().UTC(), MinTrust: e.r.cfg.Retrieval.MinTrust}
	if reject := f.Reject(c.Facts()); reject != "" {
		text, try := rejected(reject, c, &f)
		return why + text, try
	}
	for _, cut := range e.out.receipt.Cut {
		if cut.ID != c.ID {
			continue
		}
		text := why + "cut for " + string(cut.Reason)
		if cut.Detail != "" {
			text += " (" + cut.Detail + ")"
		}
		if why == "" && h.rank > 0 {
			text += "; " + h.String()
		}
		if cut.Reason == ken.CutFloor && why == "" {
			text += "; " + e.floor()
		}
		return text, advice[cut.Reason]
	}
	switch {
	case why != "":
		return why + "not in front of the model", "See middleware.inject."
	case !st.Signals.Asks:
		return "not looked for: " + e.out.receipt.Cause, "Ask for something; small talk gets only what is pinned."
	case h.rank > 0:
		return "not among the results of the legs; " + h.String(), "Give the claim the words that people ask with, or raise retrieval.legs."
	}
	why = "no leg finds it: it shares no specific word with the question, and has no vector near it"
	if r := &e.out.receipt; r.Cause != "" {
		why += "; " + ran(r)
	}
	return why, "Give the claim the words that people ask with, or configure an embedder for search by meaning."
}

// floor describes the evidence and the floor.
func (e *examiner) floor() string {
	o, _ := e.f.layer.Operator().Retrieval()
	return fmt.Sprintf("the turn's evidence is %.2f, the floor wants %.2f", e.out.state.Found.Evidence, o.Floor)
}

// rejected explains why the filter rejected a claim.
func rejected(why ken.CutReason, c *ken.Claim, f *ken.Filter) (text, try string) {
	switch why {
	case ken.CutScope:
		var scopes []string
		for _, s := range f.Scopes {
			scopes = append(scopes, s.String())
		}
		return fmt.Sprintf("cut for scope: its scope is %s, the turn sees %s", c.Scope, cmp.Or(strings.Join(scopes, ", "), "nothing scoped")),
			"Add " + c.Scope.String() + " to the case's scopes, if the turn should see it."
	case ken.CutStatus:
		return "cut for status: it is " + string(c.Status), "Expect a claim that is current, or verify this one."
	case ken.CutTrust:
		return fmt.Sprintf("cut for trust: its least trusted evidence is %s, the turn wants %s", c.Facts().Trust, f.MinTrust),
			"Add better evidence, or lower retrieval.min_trust."
	case ken.CutExpired:
		return "cut for expired: its time was over at " + c.ExpiresAt.Format(time.RFC3339), "Renew the claim, or set now to a moment before that."
	}
	return "cut for " + string(why), ""
}

var advice = map[ken.CutReason]string{
	ken.CutFloor:     "Give the claim the words that people ask with, or lower retrieval.floor.",
	ken.CutBudget:    "Raise budget.chars, or shorten the items before it.",
	ken.CutPool:      "Raise knowledge.top_k or retrieval.pool, or make the claim fit the question better.",
	ken.CutTier:      "Add better evidence, or ask with another weight.",
	ken.CutDuplicate: "The context has it already; expect it in that turn.",
	ken.CutLate:      "See why retrieval is slow: ken doctor.",
	ken.CutStatus:    "Expect a claim that is current.",
}

// search runs every leg of a store separately, without filter and floor, and returns
// what each found, by its name.
func (e *examiner) search(ctx context.Context, s store.Engine, question string, signals *ken.Signals) map[string][]ken.Claim {
	f := everything()
	q := &retriever.Query{Signals: ken.Signals{Keywords: []string{question}, Question: question}, Filter: &f, Limit: most}
	if signals != nil {
		q.Signals = *signals
	}
	legs := []retriever.Source{retriever.Keyword(s), retriever.Pinned(s)}
	if _, noVector := e.f.layer.Operator().Retrieval(); noVector == "" {
		legs = append(legs, retriever.Vector(s, e.f.layer.Operator().Embedder()))
	}
	out := map[string][]ken.Claim{}
	for _, leg := range legs {
		res, err := leg.Search(ctx, q)
		if ctx.Err() != nil {
			e.keep(ctx.Err())
			break
		}
		if err != nil { // of the embedder; the other legs were searched
			if note := fmt.Sprintf("the %s leg was not checked: %v", leg.Name(), err); !slices.Contains(e.res.Notes, note) {
				e.res.Notes = append(e.res.Notes, note)
			}
			continue
		}
		for _, h := range res.Hits {
			c, err := s.Claim(ctx, h.Ref)
			if errors.Is(err, ken.ErrNotFound) {
				continue
			}
			e.keep(err)
			out[leg.Name()] = append(out[leg.Name()], c)
		}
	}
	return out
}

// outcome is the result of a conversation's last request.
type outcome struct {
	receipt ken.Receipt
	earlier []ken.Receipt     // of the earlier requests
	block   string            // the turn's own block, if the model gets it
	text    string            // all text that is added to the model's input
	items   []ken.Item        // of the blocks in text, earlier ones first
	state   *middleware.State // nil when nothing was retrieved
}

// converse sends a conversation through the layer as a client does: one request after
// each message of the user.
func (r *runner) converse(ctx context.Context, f *fixture, c *Case, owner string) (outcome, error) {
	r.turns++
	t := ken.Turn{Owner: owner, Project: c.Project, Scopes: c.Scopes, Session: fmt.Sprintf("case-%d", r.turns)}
	blocks := map[string][]ken.Item{}
	var a middleware.Assembly
	var receipts []ken.Receipt
	for i, m := range c.Messages {
		if m.Role != "user" && i < len(c.Messages)-1 {
			continue
		}
		if m.Role == "user" { // later requests repeat its block
			f.seen = nil
		}
		t.Messages = c.Messages[:i+1]
		a = f.layer.Assemble(ctx, t)
		blocks[a.Receipt.Block] = a.Receipt.Items
		receipts = append(receipts, a.Receipt)
	}
	if err := ctx.Err(); err != nil {
		return outcome{}, err
	}
	out := outcome{receipt: a.Receipt, earlier: receipts[:len(receipts)-1], state: f.seen}
	var texts []string
	for _, in := range a.Insertions {
		texts = append(texts, in.Text)
		out.items = append(out.items, blocks[in.Text]...)
		if in.Text == a.Receipt.Block {
			out.block = in.Text
		}
	}
	out.text = strings.Join(texts, "\n")
	return out, nil
}
