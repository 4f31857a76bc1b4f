package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/analysis"
)

// Lookup returns a claim as the fold has it so far; nil when there is none.
type Lookup func(id string) (*ken.Claim, error)

// Fold applies one event and returns the claims that it changes, as new values.
// It is the only place that says what an event does, for a live write and for a
// rebuild alike. A forgotten claim comes back with an empty Text.
func Fold(get Lookup, ev *Event) ([]ken.Claim, error) {
	id := ev.Claim.String()
	p, err := ev.Decode()
	if err != nil || ev.Type == ken.EventLost {
		return nil, err
	}
	if ev.Erased() || ev.Type == ken.EventForgotten {
		return []ken.Claim{{ID: id}}, nil
	}
	if ev.Type == ken.EventWritten || ev.Type == ken.EventRevised {
		var c ken.Claim
		if err := json.Unmarshal(p.Claim, &c); err != nil {
			return nil, &ken.Error{Code: ken.CodeCorrupt, Msg: fmt.Sprintf("read claim of event %d", ev.Seq), Err: err}
		}
		return []ken.Claim{c}, nil
	}
	prev, err := get(id)
	if err != nil || prev == nil {
		return nil, err
	}
	c := *prev
	if ev.Type == ken.EventAssigned {
		// What it says and where it stands is as it was, and so is since when: what
		// counts from then on, such as the time to an archive, must not start anew
		// because somebody files it.
		if p.Assignment == nil {
			return nil, &ken.Error{Code: ken.CodeCorrupt, Msg: fmt.Sprintf("event %d assigns nothing", ev.Seq)}
		}
		p.Assignment.file(&c)
		return []ken.Claim{c}, nil
	}
	c.Evidence = MergeEvidence(prev.Evidence, p.Evidence)
	c.UpdatedAt = ev.At
	switch ev.Type {
	case ken.EventTransitioned:
		c.Status = p.To
	case ken.EventReinforced:
		c.Reinforcements++
		c.ReinforcedAt = ev.At
	case ken.EventArchived:
		c.ArchivedAt = ev.At
	case ken.EventSuperseded:
		c.Status, c.SupersededBy = ken.StatusSuperseded, p.Other
		next, err := get(p.Other)
		if err != nil || next == nil {
			return []ken.Claim{c}, err
		}
		n := *next
		n.Supersedes = id
		return []ken.Claim{c, n}, nil
	default:
		return nil, &ken.Error{Code: ken.CodeCorrupt, Msg: fmt.Sprintf("event %d has unknown type %q", ev.Seq, ev.Type)}
	}
	return []ken.Claim{c}, nil
}

// MergeEvidence returns have followed by what more adds, each piece once by kind
// and reference; of two that are one, the newer stays, in the older's place. The
// result shares no memory with its arguments.
func MergeEvidence(have, more []ken.Evidence) []ken.Evidence {
	out := slices.Clone(have)
	for _, e := range more {
		same := func(o ken.Evidence) bool { return o.Kind == e.Kind && o.Reference() == e.Reference() }
		switch i := slices.IndexFunc(out, same); {
		case i < 0:
			out = append(out, e)
		case e.FetchedAt.After(out[i].FetchedAt):
			out[i] = e
		}
	}
	return out
}

// View renders an event as an entry of the history of the claim with this id,
// which is the event's own claim or, for a supersession, the successor.
func View(ev *Event, id string) ([]ken.ClaimEvent, error) {
	p, err := ev.Decode()
	if err != nil {
		return nil, err
	}
	out := ken.ClaimEvent{Seq: ev.Seq, At: ev.At, Type: ev.Type, From: p.From, To: p.To, Reason: p.Reason,
		Evidence: p.Evidence, Other: p.Other, Actor: p.Actor, Erased: ev.Erased() && ev.Type != ken.EventForgotten}
	switch {
	case p.Assignment != nil:
		out.Reason = p.Assignment.reason()
	case len(p.Claim) > 0:
		var c ken.Claim
		if err := json.Unmarshal(p.Claim, &c); err != nil {
			return nil, &ken.Error{Code: ken.CodeCorrupt, Msg: fmt.Sprintf("read claim of event %d", ev.Seq), Err: err}
		}
		out.To, out.Evidence, out.Actor = c.Status, c.Evidence, c.Actor
	case ev.Type == ken.EventSuperseded && ev.Claim.String() != id:
		out.From, out.To, out.Other, out.Reason = "", "", ev.Claim.String(), "supersedes"
	}
	return append(slices.Clone(p.Prior), out), nil
}

// Env is where time and identity come from.
type Env struct {
	Now   func() time.Time
	NewID func() string // a UUID, version 7 in production

	// Assign finds out what a claim is about when it is written for the first time, or
	// with other words: it may add to Entities, fill Aspect, set Constraint, and says so
	// in AssignedBy; nothing else of what it does counts. It is not asked about claims
	// that somebody has assigned, nor about structural kinds. It runs while the write
	// does, so it is quick, calls no model, and writes nothing. A panic leaves the claim
	// as its writer filed it. Nil: nobody does.
	Assign func(*ken.Claim)

	Log *slog.Logger // hears of a panic in Assign; default slog.Default()
}

// Prepare makes a claim fit to be written for owner: reasoning text, secrets and
// control characters go (of a person's words only what looks like pasted reasoning), defaults and times are filled in, and what is left is
// validated. Every store calls it on every write, so that nothing reaches a log
// unclean. Times of the claim and its evidence that lie in the future count as of now. A claim that was nothing but reasoning is refused. Entities stay as they were
// written, for people; whoever compares them spells them with analysis.Entity first.
func Prepare(c ken.Claim, owner string, env Env) (ken.Claim, error) {
	strip := guardrail.StripReasoning
	if slices.ContainsFunc(c.Evidence, saidByPerson) {
		strip = guardrail.StripPastedReasoning
	}
	if len(c.Text) <= ken.MaxTextBytes { // a longer one is refused below, unread
		had := strings.TrimSpace(c.Text) != ""
		c.Text = strip(guardrail.Sanitize(c.Text))
		if had && strings.TrimSpace(c.Text) == "" {
			return c, &ken.Error{Code: ken.CodeRefused, Field: "text", Msg: "nothing but reasoning",
				Try: "State what was concluded outside of the reasoning tags."}
		}
	}
	c.Heading = strip(guardrail.Sanitize(c.Heading))
	for _, s := range []*string{&c.Source, &c.SourceType, &c.Domain, &c.Aspect, &c.Actor.ID, &c.Project} {
		*s = Clean(*s)
	}
	c.Tags, c.Entities = cleanAll(c.Tags), cleanAll(c.Entities)
	c.Evidence = cleanEvidence(c.Evidence, env.Now())
	var err error
	if c.Body, err = cleanBody(c.Body); err != nil {
		return c, err
	}
	return PrepareDocument(c, owner, env)
}

// PrepareDocument is Prepare for a chunk of the repository, which may well write
// about reasoning tags: only secrets and control characters go.
func PrepareDocument(c ken.Claim, owner string, env Env) (ken.Claim, error) {
	if c.Owner == "" {
		c.Owner = owner
	}
	if c.Owner != owner {
		return c, &ken.Error{Code: ken.CodeRefused, Field: "owner", Msg: "the store belongs to another owner",
			Try: "Open the store of owner " + c.Owner + ", or leave the field out."}
	}
	if c.ID == "" {
		c.ID = env.NewID()
	}
	id, err := uuid.Parse(c.ID)
	if err != nil {
		return c, &ken.Error{Code: ken.CodeInvalid, Field: "id", Msg: "not a UUID", Err: err,
			Try: "Leave id out, and put the source's own name into key."}
	}
	c.ID = id.String()
	if len(c.Text) <= ken.MaxTextBytes {
		c.Text, _ = guardrail.Redact(guardrail.Sanitize(c.Text))
	}
	c.Heading, _ = guardrail.Redact(guardrail.Sanitize(c.Heading))
	if c.Kind == "" {
		c.Kind = ken.KindFact
	}
	if c.Status == "" {
		c.Status = ken.StatusObserved
	}
	now := env.Now().UTC()
	c.CreatedAt = NotAhead(orNow(c.CreatedAt, now), now)
	c.UpdatedAt = NotAhead(orNow(c.UpdatedAt, c.CreatedAt), now)
	c.ReinforcedAt, c.ArchivedAt = NotAhead(c.ReinforcedAt, now), NotAhead(c.ArchivedAt, now)
	return c, c.Validate()
}

// Clean is what happens to any text on its way into a log.
func Clean(s string) string {
	s, _ = guardrail.Redact(guardrail.StripReasoning(guardrail.Sanitize(s)))
	return s
}

// CleanSaid is Clean for what a person wrote, who may name reasoning tags.
func CleanSaid(s string) string {
	s, _ = guardrail.Redact(guardrail.StripPastedReasoning(guardrail.Sanitize(s)))
	return s
}

// saidByPerson reports whether a piece of evidence is a person's word.
func saidByPerson(e ken.Evidence) bool {
	return e.Kind == ken.EvidenceUserStatement || e.Kind == ken.EvidenceHumanAssertion
}

func cleanAll(in []string) []string {
	if in == nil {
		return nil
	}
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = Clean(s)
	}
	return out
}

// cleanBody cleans every string of a JSON value. One that needs none stays as
// it was written.
func cleanBody(body json.RawMessage) (json.RawMessage, error) {
	if len(body) == 0 || Clean(string(body)) == string(body) {
		return body, nil
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "body", Msg: "not valid JSON", Err: err, Try: "Give a JSON value."}
	}
	out, err := json.Marshal(cleanValue(v))
	return out, err
}

func cleanValue(v any) any {
	switch v := v.(type) {
	case string:
		return Clean(v)
	case []any:
		for i := range v {
			v[i] = cleanValue(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = cleanValue(v[k])
		}
	}
	return v
}

func cleanEvidence(in []ken.Evidence, now time.Time) []ken.Evidence {
	if in == nil {
		return nil
	}
	out := make([]ken.Evidence, 0, len(in))
	for _, e := range in {
		clean := Clean
		if saidByPerson(e) {
			clean = CleanSaid
		}
		e.Detail = clean(e.Detail)
		e.FetchedAt = NotAhead(e.FetchedAt, now)
		if e.Kind == ken.EvidenceExitCode {
			e.ID = Clean(e.ID) // a command line
		}
		out = append(out, e)
	}
	return out
}

// ahead is how far a time may lie in the future: clocks differ.
const ahead = 5 * time.Minute

// NotAhead is when something happened, said to be at t: what lies more than five minutes
// in the future, by a clock that was wrong or by who wrote it, counts as of now. Else it
// would be the newest, and never grow old, until that time has come.
func NotAhead(t, now time.Time) time.Time {
	if t.After(now.Add(ahead)) {
		return now.UTC()
	}
	return t
}

func orNow(t, now time.Time) time.Time {
	if t.IsZero() {
		return now
	}
	return t.UTC()
}

// Parents are the ids of the claims that a claim was derived from: those that its
// evidence names as a decision or as knowledge. It goes when one of them is forgotten.
func Parents(c *ken.Claim) (out []uuid.UUID) {
	for i := range c.Evidence {
		e := &c.Evidence[i]
		if e.Kind != ken.EvidenceDecision && e.Kind != ken.EvidenceRepositoryMemory {
			continue
		}
		if id, err := uuid.Parse(e.ID); err == nil {
			out = append(out, id)
		}
	}
	return out
}

// EmbedText is the text that stands for a claim in vector space.
func EmbedText(c *ken.Claim) string {
	if c.Heading == "" {
		return c.Text
	}
	return c.Heading + "\n" + c.Text
}

// IndexTerms are the words beside heading and text under which a claim is found:
// tags, entities, domain, aspect, and twice what its code defines.
func IndexTerms(c *ken.Claim) []string {
	terms := slices.Concat(c.Tags, c.Entities)
	for _, w := range []string{c.Domain, c.Aspect} {
		if w != "" {
			terms = append(terms, w)
		}
	}
	defined := analysis.Definitions(c.Text)
	return slices.Concat(terms, defined, defined)
}

// Pinned reports whether a claim of these facts belongs into every turn, as far
// as its kind goes: hot claims, patterns, objectives. Its status is the filter's
// business: a pattern that nobody approved is a hypothesis, which no recall sees.
func Pinned(k ken.Kind) bool {
	return k == ken.KindHot || k == ken.KindPattern || k == ken.KindObjective
}

// SpellEntities returns names as analysis.Entity spells them, each once; what is no
// name is left out. Nil when there is none.
func SpellEntities(names []string) []string {
	var out []string
	for _, n := range names {
		if n = analysis.Entity(n); n != "" && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}
