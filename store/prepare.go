package store

import (
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/store/clean"
)

// Env supplies time, ids and the assignment of new claims to a store's writes.
type Env struct {
	Now   func() time.Time
	NewID func() string // a UUID, version 7 in production

	// Assign decides what a claim is about when it is written for the first time, or with a new
	// text. It may add to Entities, fill Aspect and set Constraint, and it sets AssignedBy;
	// other changes are ignored. It is not called for claims that have an assigner, nor for
	// structural kinds. It runs during the write, so it must be fast and must not write or call
	// a model. After a panic, the claim stays as written. Nil leaves claims as they are.
	Assign func(*ken.Claim)

	Log *slog.Logger // receives panics in Assign; default slog.Default()
}

// Prepare makes a claim ready to be written for owner. It removes reasoning text, secrets and
// control characters, fills in defaults and times, and validates the result. From a person's
// words it removes only text that looks like pasted reasoning. Every store calls it on every
// write. Times in the future become now. A claim that is empty without its reasoning is
// refused. Entities stay as written, for display; code that compares them spells them with
// analysis.Entity first.
func Prepare(c ken.Claim, owner string, env Env) (ken.Claim, error) {
	strip := guardrail.StripReasoning
	if slices.ContainsFunc(c.Evidence, clean.SaidByPerson) {
		strip = guardrail.StripPastedReasoning
	}
	if len(c.Text) <= ken.MaxTextBytes { // a longer one is refused below, unchecked
		had := strings.TrimSpace(c.Text) != ""
		c.Text = strip(guardrail.Sanitize(c.Text))
		if had && strings.TrimSpace(c.Text) == "" {
			return c, &ken.Error{Code: ken.CodeRefused, Field: "text", Msg: "nothing but reasoning",
				Try: "State what was concluded outside of the reasoning tags."}
		}
	}
	c.Heading = strip(guardrail.Sanitize(c.Heading))
	for _, s := range []*string{&c.Source, &c.SourceType, &c.Domain, &c.Aspect, &c.Actor.ID, &c.Project} {
		*s = clean.Text(*s)
	}
	c.Tags, c.Entities = clean.All(c.Tags), clean.All(c.Entities)
	c.Evidence = clean.Evidence(c.Evidence, env.Now())
	var err error
	if c.Body, err = clean.Body(c.Body); err != nil {
		return c, err
	}
	return PrepareDocument(c, owner, env)
}

// PrepareDocument is Prepare for a chunk of the repository, which may mention reasoning
// tags: it removes only secrets and control characters.
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
	c.CreatedAt = clean.NotAhead(orNow(c.CreatedAt, now), now)
	c.UpdatedAt = clean.NotAhead(orNow(c.UpdatedAt, c.CreatedAt), now)
	c.ReinforcedAt, c.ArchivedAt = clean.NotAhead(c.ReinforcedAt, now), clean.NotAhead(c.ArchivedAt, now)
	return c, c.Validate()
}

func orNow(t, now time.Time) time.Time {
	if t.IsZero() {
		return now
	}
	return t.UTC()
}
