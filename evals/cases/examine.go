package cases

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// examiner holds what came of a case against what was expected.
type examiner struct {
	r     *runner
	f     *fixture
	c     *Case
	res   *Result
	owner string

	s          store.Engine // the owner's
	out        outcome
	candidates []candidate
	ranked     map[string]hit // see ranks; made when needed
}

// candidate is a claim that the turn's retrieval handed on.
type candidate struct {
	claim ken.Claim
	rank  int // from 1; 0 for what is pinned, which precedes the ranking
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
	if err := e.readCandidates(ctx); err != nil {
		return err
	}
	for _, check := range []func(context.Context) error{e.recall, e.notRecall, e.inject, e.notInject,
		e.blockEmpty, e.maxChars, e.mode, e.stranger, e.canaries} {
		if err := check(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (e *examiner) readCandidates(ctx context.Context) error {
	if e.out.state == nil {
		return nil
	}
	rank := 0
	for _, found := range e.out.state.Found.Candidates {
		c, err := e.s.Claim(ctx, found.Ref)
		if errors.Is(err, ken.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		at := 0
		if !found.Memory {
			rank++
			at = rank
		}
		e.candidates = append(e.candidates, candidate{c, at, found})
	}
	return nil
}

func (e *examiner) fail(check, want, try string, have ...string) {
	e.res.Failures = append(e.res.Failures, Failure{Check: check, Want: want, Have: have, Try: try})
}

// found returns the best candidate that m means.
func (e *examiner) found(m *Matcher) *candidate {
	for i := range e.candidates {
		if m.Matches(&e.candidates[i].claim) {
			return &e.candidates[i]
		}
	}
	return nil
}

func (e *examiner) recall(ctx context.Context) error {
	for i := range e.c.Want.Recall {
		m := &e.c.Want.Recall[i]
		switch c := e.found(m); {
		case c == nil:
			want := m.String() + " among the candidates"
			if m.Within > 0 {
				want += fmt.Sprintf(", at rank %d or better", m.Within)
			}
			have, try, err := e.explain(ctx, m)
			if err != nil {
				return err
			}
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
	return nil
}

// listed is how many neighbours a failure shows.
const listed = 3

func (e *examiner) notRecall(ctx context.Context) error {
	for i := range e.c.Want.NotRecall {
		m := &e.c.Want.NotRecall[i]
		if c := e.found(m); c != nil {
			e.fail("must_not_recall", m.String()+" not among the candidates",
				"Dispute, supersede or forget the claim, or keep it from this turn by its scope.", c.String())
		} else if err := e.vacuous(ctx, "must_not_recall", m); err != nil {
			return err
		}
	}
	return nil
}

// vacuous notes a name that no claim has: such an expectation can't fail.
func (e *examiner) vacuous(ctx context.Context, check string, m *Matcher) error {
	if m.textual() {
		return nil
	}
	where, err := e.somewhere(ctx, m)
	if err == nil && where == "" {
		e.res.Notes = append(e.res.Notes, fmt.Sprintf("%s: no claim of anybody's has %s, so this can't fail", check, m))
	}
	return err
}

// shown returns where m is in front of the model, and "" when it is not.
func (e *examiner) shown(ctx context.Context, m *Matcher) (string, error) {
	if m.textual() {
		return m.where(e.out.text), nil
	}
	for i := range e.out.items {
		it := &e.out.items[i]
		if m.Matches(&ken.Claim{ID: it.ID, Key: it.Key, Source: it.Source}) {
			return fmt.Sprintf("in the block: %s %s", name(it.ID, it.Key), headline(it.Heading, it.Text)), ctx.Err()
		}
	}
	return "", nil
}

// where returns the line of text that m looks for, and "" when there is none.
func (m *Matcher) where(text string) string {
	if !m.in(text) {
		return ""
	}
	for l := range strings.Lines(text) {
		if m.in(l) {
			return "in the block: " + short(strings.TrimSpace(l), 200)
		}
	}
	return "in the block, over several lines"
}

func (e *examiner) inject(ctx context.Context) error {
	for i := range e.c.Want.Inject {
		m := &e.c.Want.Inject[i]
		where, err := e.shown(ctx, m)
		if err != nil {
			return err
		}
		if where != "" {
			continue
		}
		have, try, err := e.explain(ctx, m)
		if err != nil {
			return err
		}
		e.fail("must_inject", m.String()+" in the block", try, have...)
	}
	return nil
}

func (e *examiner) notInject(ctx context.Context) error {
	for i := range e.c.Want.NotInject {
		m := &e.c.Want.NotInject[i]
		where, err := e.shown(ctx, m)
		if err != nil {
			return err
		}
		if where != "" {
			have := []string{where}
			if c := e.found(m); c != nil {
				have = append(have, c.String())
			}
			e.fail("must_not_inject", m.String()+" not in the block",
				"Dispute, supersede or forget the claim, keep it from this turn by its scope, or raise retrieval.floor.", have...)
		} else if err := e.vacuous(ctx, "must_not_inject", m); err != nil {
			return err
		}
	}
	return nil
}

func (e *examiner) blockEmpty(context.Context) error {
	want := e.c.Want.BlockEmpty
	switch r := &e.out.receipt; {
	case want == nil || *want == (e.out.block == ""):
	case *want:
		e.fail("block_empty", "no block", "Raise retrieval.floor, or look at what is pinned.", e.contents()...)
	default:
		have := []string{"no block; mode " + string(r.Mode)}
		if r.Cause != "" {
			have[0] += ": " + r.Cause
		}
		for _, c := range r.Cut[:min(listed, len(r.Cut))] {
			have = append(have, fmt.Sprintf("cut for %s: %s", c.Reason, shortID(c.ID)))
		}
		e.fail("block_empty", "a block", "Ask what the knowledge answers; must_recall says why a claim is missing.", have...)
	}
	return nil
}

// contents lists the block's items.
func (e *examiner) contents() []string {
	r := &e.out.receipt
	have := []string{fmt.Sprintf("a block of %d characters with %d items", utf8.RuneCountInString(e.out.block), len(r.Items))}
	for _, it := range r.Items {
		score := fmt.Sprintf("score %.3f", it.Fused)
		if _, pinned := it.Legs[retriever.LegPinned]; pinned {
			score = "pinned"
		}
		have = append(have, fmt.Sprintf("%d characters, %s: %s %s", it.Chars, score, name(it.ID, it.Key), headline(it.Heading, it.Text)))
	}
	return have
}

func (e *examiner) maxChars(context.Context) error {
	if most := e.c.Want.MaxChars; most > 0 && utf8.RuneCountInString(e.out.block) > most {
		e.fail("max_chars", fmt.Sprintf("at most %d characters", most), "Lower budget.chars or knowledge.top_k, or shorten the claims.", e.contents()...)
	}
	return nil
}

func (e *examiner) mode(context.Context) error {
	want, r := e.c.Want.Mode, &e.out.receipt
	if want == "" || want == r.Mode {
		return nil
	}
	have := "mode " + string(r.Mode)
	if r.Cause != "" {
		have += ": " + r.Cause
	}
	e.fail("mode", "mode "+string(want), "See what the cause says, and the switches under middleware.", have)
	return nil
}
