package store

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
)

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
