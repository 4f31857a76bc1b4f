package cases

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// examiner compares the result of a case with its expectations.
type examiner struct {
	r     *runner
	f     *fixture
	c     *Case
	res   *Result
	owner string

	s          store.Engine // the owner's store
	out        outcome
	candidates []candidate
	ranked     map[string]hit // see rank; created when needed
	err        error          // the first one; what is found after it is of no use
}

// candidate is a claim that the turn's retrieval passed on.
type candidate struct {
	claim ken.Claim
	rank  int // from 1; 0 for pinned claims, which precede the ranking
	found retriever.Candidate
}

// examine runs the turn and checks every expectation.
func (e *examiner) examine(ctx context.Context) error {
	s, release, err := e.f.layer.Store(ctx, e.owner)
	if err != nil {
		return err
	}
	defer release()
	e.s = s
	if e.out, err = e.r.converse(ctx, e.f, e.c, e.owner); err != nil {
		return err
	}
	e.res.Receipt = e.out.receipt
	e.readCandidates(ctx)
	for _, check := range []func(context.Context){e.recall, e.notRecall, e.inject, e.notInject,
		e.blockEmpty, e.maxChars, e.mode, e.stranger, e.canaries} {
		if e.err != nil {
			break
		}
		check(ctx)
	}
	return e.err
}

// keep stores err if it is the first error.
func (e *examiner) keep(err error) { e.err = cmp.Or(e.err, err) }

func (e *examiner) readCandidates(ctx context.Context) {
	if e.out.state == nil {
		return
	}
	rank := 0
	for _, found := range e.out.state.Found.Candidates {
		c, err := e.s.Claim(ctx, found.Ref)
		if errors.Is(err, ken.ErrNotFound) {
			continue
		}
		e.keep(err)
		at := 0
		if !found.Memory {
			rank++
			at = rank
		}
		e.candidates = append(e.candidates, candidate{c, at, found})
	}
}

func (e *examiner) fail(check, want, try string, have ...string) {
	e.res.Failures = append(e.res.Failures, Failure{Check: check, Want: want, Have: have, Try: try})
}

// found returns the best candidate that matches m.
func (e *examiner) found(m *Matcher) *candidate {
	for i := range e.candidates {
		if m.Matches(&e.candidates[i].claim) {
			return &e.candidates[i]
		}
	}
	return nil
}

func (e *examiner) recall(ctx context.Context) {
	for i := range e.c.Want.Recall {
		m := &e.c.Want.Recall[i]
		switch c := e.found(m); {
		case c == nil:
			want := m.String() + " among the candidates"
			if m.Within > 0 {
				want += fmt.Sprintf(", at rank %d or better", m.Within)
			}
			have, try := e.explain(ctx, m)
			e.fail("must_recall", want, try, have...)
		case m.Within > 0 && c.rank > m.Within:
			have := []string{c.String()}
			for i := range e.candidates {
				if o := &e.candidates[i]; o.rank > 0 && o.rank < c.rank && len(have) <= listed {
					have = append(have, "before it: "+o.String())
				}
			}
			e.fail("must_recall", fmt.Sprintf("%s at rank %d or better", m, m.Within),
				"Give the claim the words that people ask with, or accept its rank with within.", have...)
		}
	}
}

// listed is the number of neighbours that a failure shows.
const listed = 3

func (e *examiner) notRecall(ctx context.Context) {
	for i := range e.c.Want.NotRecall {
		m := &e.c.Want.NotRecall[i]
		if c := e.found(m); c != nil {
			e.fail("must_not_recall", m.String()+" not among the candidates",
				"Dispute, supersede or forget the claim, or keep it from this turn by its scope.", c.String())
		} else {
			e.vacuous(ctx, "must_not_recall", m)
		}
	}
}

// vacuous adds a note if no claim matches a name: such an expectation can't fail.
func (e *examiner) vacuous(ctx context.Context, check string, m *Matcher) {
	if !m.textual() && e.ownerWithMatch(ctx, m) == "" {
		e.res.Notes = append(e.res.Notes, fmt.Sprintf("%s: no claim of anybody's has %s, so this can't fail", check, m))
	}
}

// shown returns where m occurs in the model's input, and "" if it does not.
func (e *examiner) shown(m *Matcher) string {
	if m.textual() {
		return m.where(e.out.text)
	}
	for i := range e.out.items {
		it := &e.out.items[i]
		if m.Matches(&ken.Claim{ID: it.ID, Key: it.Key, Source: it.Source}) {
			return fmt.Sprintf("in the block: %s %s", name(it.ID, it.Key), headline(it.Heading, it.Text))
		}
	}
	return ""
}

// where returns the line of text that matches m, and "" if there is none.
func (m *Matcher) where(text string) string {
	if !m.in(text) {
		return ""
	}
	for l := range strings.Lines(text) {
		if m.in(l) {
			return "in the block: " + analysis.Clip(strings.TrimSpace(l), 200)
		}
	}
	return "in the block, over several lines"
}

func (e *examiner) inject(ctx context.Context) {
	for i := range e.c.Want.Inject {
		m := &e.c.Want.Inject[i]
		if e.shown(m) == "" {
			have, try := e.explain(ctx, m)
			e.fail("must_inject", m.String()+" in the block", try, have...)
		}
	}
}

func (e *examiner) notInject(ctx context.Context) {
	for i := range e.c.Want.NotInject {
		m := &e.c.Want.NotInject[i]
		if where := e.shown(m); where != "" {
			have := []string{where}
			if c := e.found(m); c != nil {
				have = append(have, c.String())
			}
			e.fail("must_not_inject", m.String()+" not in the block",
				"Dispute, supersede or forget the claim, keep it from this turn by its scope, or raise retrieval.floor.", have...)
		} else {
			e.vacuous(ctx, "must_not_inject", m)
		}
	}
}

func (e *examiner) blockEmpty(context.Context) {
	want := e.c.Want.BlockEmpty
	switch r := &e.out.receipt; {
	case want == nil || *want == (e.out.block == ""):
	case *want:
		e.fail("block_empty", "no block", "Raise retrieval.floor, or look at what is pinned.", e.contents()...)
	default:
		have := []string{"no block; " + ran(r)}
		for _, c := range r.Cut[:min(listed, len(r.Cut))] {
			have = append(have, fmt.Sprintf("cut for %s: %s", c.Reason, shortID(c.ID)))
		}
		e.fail("block_empty", "a block", "Ask what the knowledge answers; must_recall says why a claim is missing.", have...)
	}
}

// contents lists the block's items.
func (e *examiner) contents() []string {
	r := &e.out.receipt
	have := []string{fmt.Sprintf("a block of %d characters with %d items", utf8.RuneCountInString(e.out.block), len(r.Items))}
	for _, it := range r.Items {
		score := fmt.Sprintf("score %.3f", it.Fused)
		if _, pinned := it.Legs[retriever.SourcePinned]; pinned {
			score = "pinned"
		}
		have = append(have, fmt.Sprintf("%d characters, %s: %s %s", it.Chars, score, name(it.ID, it.Key), headline(it.Heading, it.Text)))
	}
	return have
}

func (e *examiner) maxChars(context.Context) {
	if most := e.c.Want.MaxChars; most > 0 && utf8.RuneCountInString(e.out.block) > most {
		e.fail("max_chars", fmt.Sprintf("at most %d characters", most), "Lower budget.chars or knowledge.top_k, or shorten the claims.", e.contents()...)
	}
}

func (e *examiner) mode(context.Context) {
	want, r := e.c.Want.Mode, &e.out.receipt
	if want == "" || want == r.Mode {
		return
	}
	e.fail("mode", "mode "+string(want), "See what the cause says, and the switches under middleware.", ran(r))
}

// ran describes the mode of a turn, with its cause.
func ran(r *ken.Receipt) string {
	if r.Cause != "" {
		return fmt.Sprintf("mode %s: %s", r.Mode, r.Cause)
	}
	return "mode " + string(r.Mode)
}

// hit is the result of a search for a claim without floor and limits.
type hit struct {
	rank    int // from 1; 0 if not found
	score   float64
	signals map[string]float64
}

func (h hit) String() string {
	return fmt.Sprintf("rank %d, score %.3f (keyword %.3f, share %.3f, cosine %.3f)", h.rank, h.score,
		h.signals["keyword"], h.signals["share"], h.signals["cosine"])
}

// most is the maximum number of results of a leg.
const most = 1000

// rank returns where a claim is found with the turn's filter, but without floor and
// limits.
func (e *examiner) rank(ctx context.Context, id string) hit {
	if e.ranked == nil {
		e.ranked = map[string]hit{}
		st := e.out.state
		if st == nil {
			return hit{}
		}
		o, noVector := e.f.layer.Operator().Retrieval()
		o.Limits, o.PerSource, o.Pool, o.TopK, o.Floor = nil, most, most, most, -1
		o.Sources = nil
		if e.r.cfg.Middleware.Keyword {
			o.Sources = append(o.Sources, retriever.Keyword(e.s))
		}
		if noVector == "" {
			o.Sources = append(o.Sources, retriever.Vector(e.s, e.f.layer.Operator().Embedder()))
		}
		f := ken.Filter{Scopes: st.Turn.Scopes, Unscoped: true, Now: e.f.now().UTC(), MinTrust: e.r.cfg.Retrieval.MinTrust}
		for i, c := range retriever.New(e.s, o).Retrieve(ctx, retriever.Turn{Signals: st.Signals, Filter: f}).Candidates {
			e.ranked[c.Row.ID] = hit{i + 1, c.Fused, c.Signals}
		}
	}
	e.keep(ctx.Err())
	return e.ranked[id]
}

// String describes a candidate in one line.
func (c *candidate) String() string {
	return fmt.Sprintf("%s %s: %s", name(c.claim.ID, c.claim.Key), headline(c.claim.Heading, c.claim.Text), c.where())
}

func (c *candidate) where() string {
	if c.rank == 0 {
		return "pinned"
	}
	return hit{c.rank, c.found.Fused, c.found.Signals}.String()
}

// name returns the key of a claim, or else its short id.
func name(id, key string) string { return cmp.Or(key, shortID(id)) }

// shortID returns the end of an id, as blocks show it.
func shortID(id string) string { return "k:" + id[max(0, len(id)-leastID):] }

// headline returns a short description of a claim.
func headline(heading, text string) string {
	return fmt.Sprintf("%q", analysis.Clip(strings.Join(strings.Fields(cmp.Or(heading, text)), " "), 70))
}

// signals returns the signals of the turn; nil if they were not read.
func (o *outcome) signals() *ken.Signals {
	if o.state == nil {
		return nil
	}
	return &o.state.Signals
}

// stranger asks the same question as another owner, through the chain and through each
// leg, and looks for claims of the case's owner. Repository content is shared by all.
func (e *examiner) stranger(ctx context.Context) {
	const check = "other_owner_sees_nothing"
	other := e.c.Want.Stranger
	if other == "" {
		return
	}
	want := fmt.Sprintf("nothing of %s's for %s", e.owner, other)
	if other == e.owner {
		e.fail(check, want, "Name another owner.", other+" is the owner of the case")
		return
	}
	last := e.c.Messages[lastUser(e.c.Messages)].Text
	ids, texts := map[string]bool{}, map[string]bool{}
	for c, err := range e.s.Claims(ctx) {
		e.keep(err)
		ids[c.ID], texts[plain(c.Text)] = true, true
	}
	own := e.search(ctx, e.s, last, e.out.signals())
	if e.err != nil {
		return
	}
	if !slices.ContainsFunc(slices.Concat(slices.Collect(maps.Values(own))...), func(c ken.Claim) bool { return ids[c.ID] }) {
		e.fail(check, want, "Ask for something that "+e.owner+" knows.",
			fmt.Sprintf("the question finds none of %s's %d claims for %s either, so nothing could leak", e.owner, len(ids), e.owner))
		return
	}
	s, release, err := e.f.layer.Store(ctx, other)
	if err != nil {
		e.keep(err)
		return
	}
	defer release()
	out, err := e.r.converse(ctx, e.f, e.c, other)
	e.keep(err)
	var have []string
	tell := func(where string, c *ken.Claim) {
		if c.Kind != ken.KindDocument && (ids[c.ID] || texts[plain(c.Text)]) {
			have = append(have, fmt.Sprintf("%s finds %s %s", where, name(c.ID, c.Key), headline(c.Heading, c.Text)))
		}
	}
	for _, it := range out.items {
		tell("the block", &ken.Claim{ID: it.ID, Key: it.Key, Kind: it.Kind, Heading: it.Heading, Text: it.Text})
	}
	for _, cut := range out.receipt.Cut {
		tell("the receipt's list of what was cut", &ken.Claim{ID: cut.ID})
	}
	found := e.search(ctx, s, last, out.signals())
	for _, leg := range slices.Sorted(maps.Keys(found)) {
		for i := range found[leg] {
			tell("the "+leg+" leg", &found[leg][i])
		}
	}
	if len(have) > 0 {
		e.fail(check, want, "See how the claim came to be "+other+"'s: ken history, with --owner "+other+".", have...)
	}
}

func lastUser(msgs []ken.Message) int {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role == "user" {
			return i
		}
	}
	return 0 // a case has one
}
