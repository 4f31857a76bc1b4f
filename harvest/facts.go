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

// Reasons for which a statement is not kept, beside those of the extraction and
// of consolidation.
const (
	dropEcho      = "echo"    // the layer itself had put it before the model
	dropNoMessage = "stray"   // it quotes a message that is not in the transcript
	dropRefused   = "refused" // no store takes it
	dropTainted   = "tainted" // a call that repeats what an external claim said
)

// facts writes the statements, in the order in which they were made, each against
// what is known by then.
func (r *harvestRun) facts(ctx context.Context) error {
	if len(r.statements) == 0 { // most of a session's notes: reading what was injected would be for nothing
		return nil
	}
	told := newInjectedText(r.tr.Injected)
	at := make(map[uint64]*session.Entry, len(r.tr.Entries))
	for i := range r.tr.Entries {
		at[r.tr.Entries[i].Seq] = &r.tr.Entries[i]
	}
	for i := range r.statements {
		s := &r.statements[i]
		e := at[s.Seq]
		if e == nil {
			r.out.Dropped[dropNoMessage]++
			continue
		}
		if (e.Message.Role != "user" || extract.Answers(s.Text)) && r.outside.tellsFlagged(s.Text+"\n"+s.Quote) {
			r.out.Dropped[dropTainted]++
			continue
		}
		var err error
		switch in, heard := told.judge(s, e); heard {
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

// learn consolidates one statement. What a person moved in between is looked at
// once more.
func (r *harvestRun) learn(ctx context.Context, s *draft.Statement, e *session.Entry) error {
	c := r.fact(s, e)
	res, err := consolidate.Learn(ctx, r.o.Store, c)
	if errors.Is(err, ken.ErrRefused) {
		res, err = consolidate.Learn(ctx, r.o.Store, c)
	}
	if err != nil {
		return err
	}
	r.changed = append(r.changed, res.Action.Changed...)
	if err := r.takeBack(ctx, s, res.ID); err != nil {
		return err
	}
	return r.record(ctx, &res)
}

// takeBack supersedes the claim of what a statement of the same session takes back. It may have
// been kept while the session went on.
func (r *harvestRun) takeBack(ctx context.Context, s *draft.Statement, id string) error {
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

// record takes a result into the outcome. What an earlier run of this harvest did,
// before it was killed or because the session went on, is the session's doing as
// well.
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

// fact is the claim that a statement makes.
func (r *harvestRun) fact(s *draft.Statement, e *session.Entry) ken.Claim {
	c := r.claim(ken.KindFact, s.Text, e.At)
	c.Key = key("fact", &r.tr.Info, textDigest(s.Text))
	if s.Was != "" {
		c.Text = consolidate.Previously(c.Text, s.Was)
	}
	c.Domain = string(s.Sort)
	if r.out.Model != "" || e.Message.Name != "" {
		c.Entities = entitiesOf(s, e)
	} else { // what it is about, its sentence says best, but for a name in quotation marks
		c.Entities = quotedNames(s)
	}
	c.Confidence = s.Confidence
	c.Evidence = []ken.Evidence{message(r.tr.Info.ID, e, s.Quote)}
	if e.Message.Role != "user" || extract.Answers(s.Text) {
		c.Evidence = append(c.Evidence, r.derivation(s.Text+"\n"+s.Quote, false)...)
	}
	if r.out.Model != "" { // in the model's words
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

// quotedNames returns the first name of a statement that stands in quotation marks or backquotes
// in it: who writes so says that it is a name.
func quotedNames(s *draft.Statement) []string {
	for _, n := range s.Entities {
		i := strings.Index(s.Text, n)
		if i > 0 && i+len(n) < len(s.Text) && strings.ContainsAny(s.Text[i-1:i], "\"`'") && strings.ContainsAny(s.Text[i+len(n):i+len(n)+1], "\"`'") {
			return []string{n}
		}
	}
	return nil
}

// entitiesOf returns what a statement is about, the main thing first: the entities that the
// extraction named. The speaker comes first when the statement is about the speaker, or
// names nothing.
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
	return append([]string{who}, s.Entities...)
}

// confirm reinforces what the user said of an injected claim in their own words:
// once a session. What is no claim that could be reinforced, or no longer stands,
// leaves the user's words to speak for themselves.
func (r *harvestRun) confirm(ctx context.Context, in *session.Injection, s *draft.Statement, e *session.Entry) error {
	switch in.Kind {
	case ken.KindDocument: // the file says so, and will say what becomes of it
		r.out.Dropped[dropEcho]++
		return nil
	case ken.KindEpisode: // a summary is no ground for anything, the user's word is
		return r.learn(ctx, s, e)
	}
	c, err := r.o.Store.Get(ctx, in.ID)
	switch {
	case errors.Is(err, ken.ErrNotFound): // it was forgotten, and stays so
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

// textDigest names a text, apart from case and white space.
func textDigest(text string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(strings.Join(strings.Fields(text), " "))))
	return hex.EncodeToString(sum[:12])
}

// HarvestStatements keeps what a user stated in the last messages of a session, without waiting for
// its end, and returns the claims with the words that each rests on. tr is the end of the
// session's transcript, of which the messages from number from on are new. Rules extract,
// and the same conditions hold as at the session's end; the harvest then finds these claims
// known. Nothing is kept where facts are switched off.
//
// HarvestStatements does not wait for a harvest that runs. It ends with an error when something is
// being erased: the harvest makes up for it.
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

// injectedText is what the layer put before the model in a session.
type injectedText struct {
	echo  *consolidate.Echo
	first map[string]*session.Injection // by id: when a claim was injected first
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

// judge says what a statement is to what was injected, and which injection it
// repeats. A retelling may hide in the words that it was extracted from, so both
// are looked at.
//
// What a user said before the layer said it is the user's own. The model gets no
// such benefit: clocks jump, and one answer taken for its own is how a wrong claim
// begins to feed itself.
func (t *injectedText) judge(s *draft.Statement, e *session.Entry) (*session.Injection, consolidate.EchoKind) {
	user := e.Message.Role == "user"
	for _, text := range []string{s.Text, s.Quote} {
		id, heard := t.echo.Judge(text, user)
		if heard == consolidate.Novel {
			continue
		}
		if in := t.first[id]; !user || !in.At.After(e.At) {
			return in, heard
		}
	}
	return nil, consolidate.Novel
}
