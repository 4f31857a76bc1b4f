package ken

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// DefaultOwner is the isolation boundary of a claim that names none.
const DefaultOwner = "default"

// MaxTextBytes bounds a claim's text. Longer knowledge belongs in a document,
// which is indexed in pieces.
const MaxTextBytes = 1 << 20

// Kind is the sort of a claim, such as fact or episode. Any name in lower case with
// underscores may be used; the layer gives meaning to the constants below.
type Kind string

// Kinds with a meaning of their own.
const (
	KindFact      Kind = "fact"
	KindHot       Kind = "hot"      // injected on every turn
	KindEpisode   Kind = "episode"  // the summary of a session
	KindPlaybook  Kind = "playbook" // how to do something
	KindFinding   Kind = "finding"  // discovered by a tool call
	KindPattern   Kind = "pattern"  // recurring across sessions
	KindDecision  Kind = "decision" // an architecture decision
	KindObjective Kind = "objective"
	KindDocument  Kind = "document" // a piece of the repository; never in the log
)

// Kinds of the structure that claims stand in. They are recalled only where they
// are asked for by name: see Filter.
const (
	KindEntity     Kind = "entity"     // a thing that claims are about: its type, or a task's state, in the body
	KindDependency Kind = "dependency" // the first of its entities on the second; the aspect is how, the importance how strongly
	KindAlias      Kind = "alias"      // the second of its entities is another name of the first
)

// Structural reports whether the kind is one of the structure's own.
func (k Kind) Structural() bool { return k == KindEntity || k == KindDependency || k == KindAlias }

// Actor identifies the person, agent or process that wrote or moved a claim.
type Actor struct {
	Type string `json:"type,omitempty"` // agent, user, system or tool
	ID   string `json:"id,omitempty"`
}

// Claim is the unit of knowledge: one statement, the evidence for it, and where
// it stands in its life cycle. Build one with NewClaim; stores validate what
// they are given with Validate.
type Claim struct {
	ID    string `json:"id,omitempty"`  // a UUID; stores assign a version 7 one when empty
	Key   string `json:"key,omitempty"` // the source's own name; unique per owner, makes writes idempotent
	Owner string `json:"owner,omitempty"`
	Kind  Kind   `json:"kind"`

	Heading  string          `json:"heading,omitempty"`
	Text     string          `json:"text"`
	Body     json.RawMessage `json:"body,omitempty"` // the kind's own fields
	Evidence []Evidence      `json:"evidence"`       // never empty

	Status     Status  `json:"status"`
	Confidence float64 `json:"confidence"` // that the statement is true, 0..1
	Importance float64 `json:"importance"` // 0..1

	Scope    Scope    `json:"scope,omitzero"`
	Project  string   `json:"project,omitempty"`
	Session  string   `json:"session_id,omitempty"`
	Branch   string   `json:"branch_id,omitempty"`
	Actor    Actor    `json:"actor,omitzero"`
	Domain   string   `json:"domain,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	Entities []string `json:"entities,omitempty"` // what it is about, the primary one first, as it was written: whoever compares spells them with analysis.Entity
	Aspect   string   `json:"aspect,omitempty"`   // of the primary entity

	// Constraint marks a rule that always surfaces when one of its entities is in
	// scope, and in every turn when it has none. What an external source says is one
	// only by an operator's assignment.
	Constraint bool `json:"constraint,omitempty"`

	// RuleCandidate marks what reads like a rule, or was said to be one, without the
	// word of an operator: it counts as any other claim until one makes it a Constraint.
	RuleCandidate bool `json:"rule_candidate,omitempty"`

	// AssignedBy names the step that set Entities, Aspect and Constraint; empty when the
	// claim came with them, or has none yet.
	AssignedBy Assigner `json:"assigned_by,omitempty"`

	Source     string `json:"source,omitempty"`      // where it came from, for people
	SourceType string `json:"source_type,omitempty"` // harvest, import, tool:NAME, repository, …

	CreatedAt time.Time `json:"created_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
	ExpiresAt time.Time `json:"expires_at,omitzero"` // zero never expires

	// ArchivedAt is the time at which a claim was archived because it was superseded or had
	// expired. Zero means that it is not archived.
	ArchivedAt time.Time `json:"archived_at,omitzero"`

	Supersedes   string `json:"supersedes,omitempty"`
	SupersededBy string `json:"superseded_by,omitempty"`

	Reinforcements int       `json:"reinforcements,omitempty"` // times seen again
	ReinforcedAt   time.Time `json:"reinforced_at,omitzero"`
}

// NewClaim returns an observed fact with full confidence. It fails when the
// text is empty or no evidence is given: a claim without evidence can't exist.
// The caller may set further fields before writing it to a store.
func NewClaim(text string, evidence ...Evidence) (Claim, error) {
	c := Claim{Text: text, Evidence: evidence, Kind: KindFact, Status: StatusObserved,
		Confidence: 1, Importance: 0.5, Actor: Actor{Type: "agent"}}
	return c, c.Validate()
}

// Validate reports the first thing that no store may accept, as an ErrInvalid
// that names the field in its JSON spelling.
func (c *Claim) Validate() error {
	switch {
	case strings.TrimSpace(c.Text) == "":
		return invalid("text", "empty", "Say what is claimed in one statement.")
	case len(c.Text) > MaxTextBytes:
		return invalid("text", strconv.Itoa(len(c.Text))+" bytes; a claim holds at most "+strconv.Itoa(MaxTextBytes),
			"Split it into statements, or put the file into the repository and index it.")
	case !utf8.ValidString(c.Text):
		return invalid("text", "not valid UTF-8", "Convert it to UTF-8 first.")
	case !utf8.ValidString(c.Key):
		return invalid("key", "not valid UTF-8", "Convert it to UTF-8 first.")
	case !utf8.ValidString(c.Heading):
		return invalid("heading", "not valid UTF-8", "Convert it to UTF-8 first.")
	case len(c.Evidence) == 0:
		return invalid("evidence", "empty: a claim needs at least one piece of evidence",
			"If there is none, write a hypothesis with model_inference evidence and a low confidence.")
	case !validKind(c.Kind):
		return invalid("kind", "bad kind "+strconv.Quote(string(c.Kind)), "Use lower-case letters, digits and underscores, such as fact.")
	case !c.Status.Valid():
		return invalid("status", "unknown status "+strconv.Quote(string(c.Status)), "Use one of "+joinKinds(Statuses())+".")
	case !unit(c.Confidence):
		return invalid("confidence", "outside 0..1", "Give a number from 0 to 1.")
	case !unit(c.Importance):
		return invalid("importance", "outside 0..1", "Give a number from 0 to 1.")
	case c.AssignedBy.Rank() < 0:
		return invalid("assigned_by", "unknown assigner "+strconv.Quote(string(c.AssignedBy)), "Use rules, model or operator, or leave it out.")
	case len(c.Body) > 0 && !json.Valid(c.Body):
		return invalid("body", "not valid JSON", "Give a JSON value.")
	}
	if err := c.Scope.Validate(); err != nil {
		return err
	}
	for _, t := range []struct {
		field string
		at    time.Time
	}{{"created_at", c.CreatedAt}, {"updated_at", c.UpdatedAt}, {"expires_at", c.ExpiresAt}, {"archived_at", c.ArchivedAt},
		{"reinforced_at", c.ReinforcedAt}} {
		if err := writable(t.field, t.at); err != nil {
			return err
		}
	}
	for i, e := range c.Evidence {
		if err := e.Validate(); err != nil {
			return &Error{Code: CodeInvalid, Field: "evidence[" + strconv.Itoa(i) + "]", Msg: "refused", Try: Hint(err), Err: err}
		}
	}
	return nil
}

// Approved reports whether a person stands behind the claim: it rests on their word
// outside of a conversation, as of who wrote, approved, edited or verified it. What was
// said in a session, or proven by tools alone, is not approved; nor is a rule that waits
// for it.
func (c *Claim) Approved() bool {
	return !c.RuleCandidate && slices.ContainsFunc(c.Evidence, func(e Evidence) bool {
		return e.Kind == EvidenceHumanAssertion && e.Speaker() == TrustOperator
	})
}

// Expired reports whether the claim's time is over at now.
func (c *Claim) Expired(now time.Time) bool { return !c.ExpiresAt.IsZero() && !now.Before(c.ExpiresAt) }

// writable reports a time that RFC 3339 can't write.
func writable(field string, t time.Time) error {
	if y := t.Year(); y < 0 || y > 9999 {
		return invalid(field, "year "+strconv.Itoa(y)+" is outside 0..9999", "Give a date that RFC 3339 can write, or leave it out.")
	}
	return nil
}

func unit(f float64) bool { return !math.IsNaN(f) && f >= 0 && f <= 1 }

func validKind(k Kind) bool {
	for i, r := range k {
		if (r < 'a' || r > 'z') && (i == 0 || r != '_' && (r < '0' || r > '9')) {
			return false
		}
	}
	return k != "" && len(k) <= 64
}

// Assigner names the source of a claim's entities and aspect.
type Assigner string

// Assigners, the weakest first: what one has found out, a weaker one does not
// change.
const (
	AssignedByRules    Assigner = "rules"
	AssignedByModel    Assigner = "model"
	AssignedByOperator Assigner = "operator"
)

// Rank orders assigners: 0 for none, then rules, model and operator; -1 for an
// unknown one.
func (a Assigner) Rank() int {
	switch a {
	case "":
		return 0
	case AssignedByRules:
		return 1
	case AssignedByModel:
		return 2
	case AssignedByOperator:
		return 3
	}
	return -1
}

// Assignment files a claim: what it is about, under which aspect, and whether it is
// a rule.
type Assignment struct {
	ID string // of the claim
	By Assigner

	// Entities names the subjects of the claim, the primary one first. Rules and models
	// add to what is there already; an operator replaces it, unless they are nil.
	Entities []string
	Aspect   string // of the primary entity; empty leaves it as it is
	// Constraint says that it is a rule. Only an operator takes that back. From others
	// it makes a rule of what an operator vouches for, a candidate of what was said in a
	// session, and nothing of what an external source says.
	Constraint bool
	// RuleCandidate says that it may be a rule, for an operator to decide.
	RuleCandidate bool
	Actor         Actor
}

// Validate reports the first thing that no store may accept, as an ErrInvalid that
// names the field.
func (a *Assignment) Validate() error {
	if a.By.Rank() < 1 {
		return invalid("by", "unknown assigner "+strconv.Quote(string(a.By)), "Use rules, model or operator.")
	}
	return nil
}
