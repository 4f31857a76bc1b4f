package harvest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/harvest/extract"
	"github.com/kenlayer/ken/internal/run/session"
)

// Reasons why a statement is not stored, in addition to those of extraction and consolidation.
const (
	dropEcho      = "echo"    // the layer itself had injected it
	dropNoMessage = "stray"   // the quoted message is not in the transcript
	dropRefused   = "refused" // the store refuses it
	dropTainted   = "tainted" // it comes from a call that repeats an external claim
)

// facts writes the statements in order, each compared with what is known by then.
func (r *harvestRun) facts(ctx context.Context) error {
	if len(r.statements) == 0 { // avoids reading the injected texts for nothing, as in most sessions
		return nil
	}
	told := newInjectedText(r.tr.Injected)
	at := make(map[uint64]*session.Entry, len(r.tr.Entries))
	for i := range r.tr.Entries {
		at[r.tr.Entries[i].Seq] = &r.tr.Entries[i]
	}
	if err := r.judgeReplaced(ctx, at); err != nil {
		return err
	}
	for i := range r.statements {
		s := &r.statements[i]
		e := at[s.Seq]
		if e == nil {
			r.out.Dropped[dropNoMessage]++
			continue
		}
		if (e.Message.Role != "user" || s.Agent) && r.outside.repeatsFlagged(s.Text+"\n"+s.Quote) {
			r.out.Dropped[dropTainted]++
			continue
		}
		var err error
		switch in, kind := told.judge(s, e); kind {
		case consolidate.Novel:
			err = r.learn(ctx, s, e)
		case consolidate.Confirmed:
			err = r.confirm(ctx, in, s, e)
		default:
			r.out.Dropped[dropEcho]++
		}
		if err != nil && !r.refused("fact", err) {
			return fmt.Errorf("keep a fact: %w", err)
		}
	}
	return nil
}

// Limits of the known claims with which a model compares what was learned.
const (
	maxKnown     = 50 // in one harvest
	nearestShown = 10 // of those that a search finds for one statement
)

// judgeReplaced asks the model, in one request, which known claims the statements replace. It shows
// the claims that are near to a statement, and then the newest ones, because a change may share no
// word with what it changes. If the model fails, the consolidation decides by itself.
func (r *harvestRun) judgeReplaced(ctx context.Context, at map[uint64]*session.Entry) error {
	judge, ok := r.o.Model.(replacementJudge)
	if !ok || r.out.Model == "" { // rules made the draft
		return nil
	}
	var fresh []ken.Claim
	var lists [][]ken.Claim // the known claims for each statement, the nearest first
	for i := range r.statements {
		s := &r.statements[i]
		e := at[s.Seq]
		if e == nil {
			continue
		}
		c := r.fact(s, e)
		known, err := consolidate.Similar(ctx, r.o.Store, c)
		if err != nil {
			return err
		}
		fresh, lists = append(fresh, c), append(lists, consolidate.Replaceable(c, known, nearestShown))
	}
	if len(fresh) == 0 {
		return nil
	}
	newest, err := r.o.Store.Query(ctx, ken.Query{Limit: maxKnown, Filter: ken.Filter{Scopes: []ken.Scope{fresh[0].Scope}, Kinds: []ken.Kind{ken.KindFact}, ClaimsOnly: true}})
	if err != nil {
		return fmt.Errorf("find the newest claims: %w", err)
	}
	known := firstOfEach(lists, maxKnown)
	for _, k := range consolidate.Replaceable(fresh[len(fresh)-1], newest, maxKnown) {
		if len(known) < maxKnown && !slices.ContainsFunc(known, func(o ken.Claim) bool { return o.ID == k.ID }) {
			known = append(known, k)
		}
	}
	if len(known) == 0 {
		return nil
	}
	said := func(claims []ken.Claim) (out []draft.Dated) {
		for i := range claims {
			out = append(out, consolidate.StatementOf(&claims[i]))
		}
		return out
	}
	texts := said(fresh)
	replaced, err := judge.Replaced(ctx, said(known), texts)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		r.o.Log.Warn("the model did not say which claims are replaced", "cause", reason(err), "try", ken.Hint(err))
	case len(replaced) == len(fresh):
		r.judged = consolidate.NewJudged(known, texts, replaced)
	}
	return nil
}

// firstOfEach returns up to most different claims: the first of each list, then the second of each,
// and so on.
func firstOfEach(lists [][]ken.Claim, most int) (out []ken.Claim) {
	seen := map[string]bool{}
	for n, more := 0, true; more; n++ {
		more = false
		for _, list := range lists {
			if n >= len(list) {
				continue
			}
			more = true
			if c := &list[n]; !seen[c.ID] && len(out) < most {
				seen[c.ID], out = true, append(out, *c)
			}
		}
	}
	return out
}

// learn consolidates one statement. If somebody changed a claim in the meantime, it tries once
// more.
func (r *harvestRun) learn(ctx context.Context, s *draft.Statement, e *session.Entry) error {
	c := r.fact(s, e)
	res, err := consolidate.Learn(ctx, r.o.Store, c, r.judged)
	if errors.Is(err, ken.ErrRefused) {
		res, err = consolidate.Learn(ctx, r.o.Store, c, r.judged)
	}
	if err != nil {
		return err
	}
	r.changed = append(r.changed, res.Action.Changed...)
	if err := r.supersedeWithdrawn(ctx, s, res.ID); err != nil {
		return err
	}
	return r.record(ctx, &res)
}

// supersedeWithdrawn supersedes the claim that a statement of the same session withdraws. It may have been
// stored during the session.
func (r *harvestRun) supersedeWithdrawn(ctx context.Context, s *draft.Statement, id string) error {
	if s.Was == "" || id == "" {
		return nil
	}
	was, err := r.o.Store.ByKey(ctx, key("fact", &r.tr.Info, textDigest(s.Was)))
	switch {
	case errors.Is(err, ken.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("find the withdrawn claim: %w", err)
	case was.ID == id || was.Constraint || !slices.Contains([]ken.Status{ken.StatusObserved, ken.StatusInferred}, was.Status):
		return nil
	}
	if err := r.o.Store.Supersede(ctx, was.ID, id); err != nil {
		return fmt.Errorf("supersede the withdrawn claim: %w", err)
	}
	add(&r.out.Superseded, was.ID)
	return nil
}

// record adds a result to the outcome. That includes what an earlier run of this harvest stored,
// before it was killed or because the session continued.
func (r *harvestRun) record(ctx context.Context, res *consolidate.Result) error {
	if res.ID != "" {
		add(&r.confirmed, res.ID)
	}
	for _, id := range res.Action.IDs {
		add(&r.confirmed, id)
	}
	if res.Dropped != consolidate.Known || res.ID == "" {
		if res.Record(&r.out); res.Action.Own != "" {
			add(&r.out.Learned, res.Action.Own)
		}
		return nil
	}
	c, err := r.o.Store.Get(ctx, res.ID)
	switch {
	case errors.Is(err, ken.ErrNotFound):
	case err != nil:
		return fmt.Errorf("find a known claim: %w", err)
	case res.Action.Own != "":
		add(&r.out.Learned, c.ID)
		if c.Supersedes != "" {
			add(&r.out.Superseded, c.Supersedes)
		}
		if c.Status == ken.StatusDisputed {
			add(&r.out.Disputed, c.ID)
		}
		return nil
	case c.Session != r.tr.Info.ID && slices.ContainsFunc(c.Evidence, func(e ken.Evidence) bool { return e.SessionID == r.tr.Info.ID }):
		add(&r.out.Reinforced, c.ID)
		return nil
	}
	res.Record(&r.out)
	return nil
}

func add(list *[]string, id string) {
	if !slices.Contains(*list, id) {
		*list = append(*list, id)
	}
}

// fact returns the claim for a statement.
func (r *harvestRun) fact(s *draft.Statement, e *session.Entry) ken.Claim {
	c := r.claim(ken.KindFact, s.Text, e.At)
	c.Key = key("fact", &r.tr.Info, textDigest(s.Text))
	if s.Was != "" {
		c.Text = consolidate.Previously(c.Text, s.Was)
	}
	c.Domain = string(s.Sort)
	if r.out.Model != "" || e.Message.Name != "" {
		c.Entities = entitiesOf(s, e)
	} else { // the store derives the entities from the sentence, except for quoted names
		c.Entities = quotedNames(s)
	}
	c.Confidence = s.Confidence
	c.Evidence = []ken.Evidence{message(r.tr.Info.ID, e, s.Quote)}
	if e.Message.Role != "user" || s.Agent {
		c.Evidence = append(c.Evidence, r.derivation(s.Text+"\n"+s.Quote, false)...)
	}
	if r.out.Model != "" { // worded by the model
		c.Status = ken.StatusInferred
	}
	switch s.Sort {
	case draft.Constraint:
		c.Importance, c.RuleCandidate = 0.9, true
	case draft.Instruction:
		c.Importance, c.RuleCandidate = 0.8, true
	case draft.Preference, draft.Decision:
		c.Importance = 0.8
	}
	return c
}

// quotedNames returns the first entity of a statement that is in quotation marks or backquotes,
// which mark a name.
func quotedNames(s *draft.Statement) []string {
	for _, n := range s.Entities {
		i := strings.Index(s.Text, n)
		if i > 0 && i+len(n) < len(s.Text) && strings.ContainsAny(s.Text[i-1:i], "\"`'") && strings.ContainsAny(s.Text[i+len(n):i+len(n)+1], "\"`'") {
			return []string{n}
		}
	}
	return nil
}

// entitiesOf returns the entities of a statement, the main one first, as the extraction named them,
// and then the speaker if the statement is about the speaker.
func entitiesOf(s *draft.Statement, e *session.Entry) []string {
	who := strings.TrimSpace(e.Message.Name)
	if who == "" && e.Message.Role == "user" {
		who = "user"
	}
	if who == "" || e.Message.Role != "user" && e.Message.Role != "assistant" ||
		slices.ContainsFunc(s.Entities, func(n string) bool { return strings.EqualFold(n, who) }) {
		return s.Entities
	}
	const user = "the user"
	speaks := e.Message.Role == "user" && len(s.Text) >= len(user) && strings.EqualFold(s.Text[:len(user)], user)
	if !speaks && len(s.Entities) > 0 {
		return s.Entities
	}
	return append(slices.Clone(s.Entities), who)
}

// confirm reinforces an injected claim that the user confirmed in their own words, once per
// session. If the injected item is not a current claim, it learns the user's statement instead.
func (r *harvestRun) confirm(ctx context.Context, in *session.Injection, s *draft.Statement, e *session.Entry) error {
	switch in.Kind {
	case ken.KindDocument: // the file says it already, and files are indexed when they change
		r.out.Dropped[dropEcho]++
		return nil
	case ken.KindEpisode: // a summary is no evidence, but the user's statement is
		return r.learn(ctx, s, e)
	}
	c, err := r.o.Store.Get(ctx, in.ID)
	switch {
	case errors.Is(err, ken.ErrNotFound): // it was forgotten and must stay so
		r.out.Dropped[dropEcho]++
		return nil
	case err != nil:
		return fmt.Errorf("find the confirmed claim: %w", err)
	case c.Status == ken.StatusSuperseded, c.Status == ken.StatusDisputed:
		return r.learn(ctx, s, e)
	case c.Session == r.tr.Info.ID:
		add(&r.confirmed, c.ID)
		r.out.Dropped[consolidate.Known]++
		return nil
	}
	add(&r.out.Reinforced, c.ID)
	if again, err := r.alreadyCounted(ctx, &c); err != nil || again {
		return err
	}
	if err := r.o.Store.Reinforce(ctx, c.ID, []ken.Evidence{message(r.tr.Info.ID, e, s.Quote)}, r.actor()); err != nil {
		return fmt.Errorf("reinforce the confirmed claim: %w", err)
	}
	return nil
}

// textDigest identifies a text, ignoring case and white space.
func textDigest(text string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(strings.Join(strings.Fields(text), " "))))
	return hex.EncodeToString(sum[:12])
}

// HarvestStatements stores what a user stated in the last messages of a session, before the
// session's end. It returns the claims, with the quote that each is based on. tr is the end of the
// session's transcript; the messages with numbers of at least from are new. The statements are
// extracted by rules, under the same conditions as at the session's end; the later harvest finds
// these claims known. It stores nothing if Options.NoFacts is set.
//
// HarvestStatements does not wait for a running harvest. It returns an error while something is
// being erased; the harvest then learns the statements.
func (h *Harvester) HarvestStatements(ctx context.Context, tr *session.Transcript, from uint64) (quotes map[string]string, err error) {
	if h.o.NoFacts {
		return nil, nil
	}
	user := make(map[uint64]bool, len(tr.Entries))
	for i := range tr.Entries {
		if e := &tr.Entries[i]; e.Seq >= from && e.Message.Role == "user" {
			user[e.Seq] = true
		}
	}
	d := extract.Draft(tr, h.o.Rules)
	d.Statements = slices.DeleteFunc(d.Statements, func(s draft.Statement) bool { return !user[s.Seq] })
	if len(d.Statements) == 0 {
		return nil, nil
	}
	err = h.statementLease.run(ctx, func(ctx context.Context) error {
		r := &harvestRun{o: &h.o, tr: tr, out: session.Outcome{Dropped: map[string]int{}}}
		quotes = map[string]string{}
		for _, s := range d.Statements {
			r.out.Learned, r.statements = nil, []draft.Statement{s}
			if err := r.facts(ctx); err != nil {
				return err
			}
			for _, id := range r.out.Learned {
				quotes[id] = s.Quote
			}
		}
		return nil
	})
	return quotes, err
}

// injectedText holds what the layer injected into a session.
type injectedText struct {
	echo  *consolidate.Echo
	first map[string]*session.Injection // by claim id, the earliest injection
}

func newInjectedText(injected []session.Injection) *injectedText {
	t := &injectedText{echo: consolidate.NewEcho(injected), first: map[string]*session.Injection{}}
	for i := range injected {
		in := &injected[i]
		if have := t.first[in.ID]; have == nil || in.At.Before(have.At) {
			t.first[in.ID] = in
		}
	}
	return t
}

// judge compares a statement with the injected texts. It returns the kind of repetition, and the
// injection that the statement repeats. It also checks the words from which the statement was
// extracted.
//
// A statement that the user made before the injection is the user's own. This does not apply to the
// model: clocks may be set back, and if the model's repetition counted as its own statement, a
// wrong claim could confirm itself.
func (t *injectedText) judge(s *draft.Statement, e *session.Entry) (*session.Injection, consolidate.EchoKind) {
	user := e.Message.Role == "user"
	for _, text := range []string{s.Text, s.Quote} {
		id, kind := t.echo.Judge(text, user)
		if kind == consolidate.Novel {
			continue
		}
		if in := t.first[id]; !user || !in.At.After(e.At) {
			return in, kind
		}
	}
	return nil, consolidate.Novel
}
