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

// DefaultOwner is the owner of a claim that names none.
const DefaultOwner = "default"

// MaxTextBytes is the maximum size of a claim's text. Longer knowledge belongs in a
// document, which is indexed in chunks.
const MaxTextBytes = 1 << 20

// Kind is the type of a claim, such as fact or episode. Any name in lower case with
// underscores may be used; the constants below have a special meaning.
type Kind string

// Kinds with a special meaning.
const (
	KindFact      Kind = "fact"
	KindHot       Kind = "hot"      // injected on every turn
	KindEpisode   Kind = "episode"  // the summary of a session
	KindPlaybook  Kind = "playbook" // how to do something
	KindFinding   Kind = "finding"  // discovered by a tool call
	KindPattern   Kind = "pattern"  // recurring across sessions
	KindDecision  Kind = "decision" // an architecture decision
	KindObjective Kind = "objective"
	KindDocument  Kind = "document" // a chunk of the repository; never in the log
)

// Structural kinds. A recall returns them only when the Filter names them.
const (
	KindEntity     Kind = "entity"     // a thing that claims are about; the body holds its type, or a task's state
	KindDependency Kind = "dependency" // its first entity depends on the second; the aspect is the type of the dependency, the importance its strength
	KindAlias      Kind = "alias"      // its second entity is another name of the first
)

// Structural reports whether k is a structural kind.
func (k Kind) Structural() bool { return k == KindEntity || k == KindDependency || k == KindAlias }

// Actor identifies the person, agent or process that wrote or changed a claim.
type Actor struct {
	Type string `json:"type,omitempty"` // agent, user, system or tool
	ID   string `json:"id,omitempty"`
}

// Claim is the unit of knowledge: one statement, the evidence for it, and its state in
// the life cycle. Build one with NewClaim; stores check claims with Validate.
type Claim struct {
	ID    string `json:"id,omitempty"`  // a UUID; stores assign a version 7 one when empty
	Key   string `json:"key,omitempty"` // a name that the source chose; unique per owner, makes writes idempotent
	Owner string `json:"owner,omitempty"`
	Kind  Kind   `json:"kind"`

	Heading  string          `json:"heading,omitempty"`
	Text     string          `json:"text"`
	Body     json.RawMessage `json:"body,omitempty"` // fields specific to the kind
	Evidence []Evidence      `json:"evidence"`       // never empty

	Status     Status  `json:"status"`
	Confidence float64 `json:"confidence"` // confidence that the statement is true, 0..1
	Importance float64 `json:"importance"` // 0..1

	Scope    Scope    `json:"scope,omitzero"`
	Project  string   `json:"project,omitempty"`
	Session  string   `json:"session_id,omitempty"`
	Branch   string   `json:"branch_id,omitempty"`
	Actor    Actor    `json:"actor,omitzero"`
	Domain   string   `json:"domain,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	Entities []string `json:"entities,omitempty"` // what it is about, the primary one first, as written; they are compared without regard to case, plural and separators
	Aspect   string   `json:"aspect,omitempty"`   // of the primary entity

	// Constraint marks a rule. A rule is included in every turn that is about one of its
	// entities, and in every turn if it has none. A claim from an external source
	// becomes a rule only if an operator assigns it.
	Constraint bool `json:"constraint,omitempty"`

	// RuleCandidate marks a claim that reads like a rule, or was stated as one, but that
	// no operator confirmed. It is treated like any other claim until an operator makes
	// it a Constraint.
	RuleCandidate bool `json:"rule_candidate,omitempty"`

	// AssignedBy is the assigner that set Entities, Aspect and Constraint. It is empty
	// when the claim's writer set them, or nobody did.
	AssignedBy Assigner `json:"assigned_by,omitempty"`

	Source     string `json:"source,omitempty"`      // where it came from, for display
	SourceType string `json:"source_type,omitempty"` // harvest, import, tool:NAME, repository, …

	CreatedAt time.Time `json:"created_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
	ExpiresAt time.Time `json:"expires_at,omitzero"` // zero never expires

	// ArchivedAt is the time at which a claim was archived because it was superseded or had
	// expired. Zero means that it is not archived.
	ArchivedAt time.Time `json:"archived_at,omitzero"`

	Supersedes   string `json:"supersedes,omitempty"`
	SupersededBy string `json:"superseded_by,omitempty"`

	Reinforcements int       `json:"reinforcements,omitempty"` // number of times that it was observed again
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

// Validate returns an ErrInvalid for the first invalid field, named as in JSON.
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

// Approved reports whether a person approved the claim. It is approved if it has a
// person's evidence from outside of a conversation: the person wrote, approved, edited
// or verified it. A claim with only statements from a session or results of tools is
// not approved, nor is a candidate for a rule.
func (c *Claim) Approved() bool {
	return !c.RuleCandidate && slices.ContainsFunc(c.Evidence, func(e Evidence) bool {
		return e.Kind == EvidenceHumanAssertion && e.Speaker() == TrustOperator
	})
}

// Expired reports whether the claim has expired at now.
func (c *Claim) Expired(now time.Time) bool { return !c.ExpiresAt.IsZero() && !now.Before(c.ExpiresAt) }

// writable returns an error for a time that RFC 3339 can't represent.
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

// Assigners, weakest first. A weaker assigner does not change what a stronger one set.
const (
	AssignedByRules    Assigner = "rules"
	AssignedByModel    Assigner = "model"
	AssignedByOperator Assigner = "operator"
)

// Rank returns the order of assigners: 0 for none, then rules, model and operator; -1
// for an unknown one.
func (a Assigner) Rank() int {
	return slices.Index([]Assigner{"", AssignedByRules, AssignedByModel, AssignedByOperator}, a)
}

// Assignment files a claim: what it is about, under which aspect, and whether it is
// a rule.
type Assignment struct {
	ID string // of the claim
	By Assigner

	// Entities names the subjects of the claim, the primary one first. Rules and models
	// add to the existing ones; an operator replaces them, unless Entities is nil.
	Entities []string
	Aspect   string // of the primary entity; empty leaves it unchanged
	// Constraint says that the claim is a rule. Only an operator can unset it. When
	// rules or a model set it, the result depends on the claim's trust. With an
	// operator's trust the claim becomes a rule, with an agent's trust a candidate. A
	// claim from an external source stays as it is.
	Constraint bool
	// RuleCandidate says that the claim may be a rule, which an operator has to decide.
	RuleCandidate bool
	Actor         Actor
}

// Validate returns an ErrInvalid for the first invalid field.
func (a *Assignment) Validate() error {
	if a.By.Rank() < 1 {
		return invalid("by", "unknown assigner "+strconv.Quote(string(a.By)), "Use rules, model or operator.")
	}
	return nil
}
