package ken

import (
	"slices"
	"strconv"
	"time"
)

// Tier is the confidence in a claim. It is computed from the claim's evidence; it is never
// stored, and no model sets it. The zero value is Guessed.
type Tier uint8

// Tiers, weakest first, so that a larger tier is a stronger one.
const (
	Guessed  Tier = iota // no evidence that still holds
	Assumed              // only statements: messages, assertions, pages without a hash
	Inferred             // one hard piece, or one from outside the conversation
	Verified             // two independent hard pieces, or a person's verification
)

var tierNames = [...]string{"Guessed", "Assumed", "Inferred", "Verified"}

// String returns the tier's name as it appears in blocks and receipts.
func (t Tier) String() string { return enumName(tierNames[:], int(t)) }

// MarshalText returns the name.
func (t Tier) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText parses a name; an unknown name is an error.
func (t *Tier) UnmarshalText(b []byte) error {
	i, err := enumValue("tier", tierNames[:], string(b))
	*t = Tier(i)
	return err
}

// Support summarizes a claim's evidence without decay. Projections store it, so that a turn
// only has to compare two times.
type Support struct {
	Tier     Tier      // before decay
	Trust    Trust     // of the least trusted piece
	NewestAt time.Time // when the newest piece was collected
}

// At applies decay: a Verified support without new evidence for more than decayDays days
// becomes Inferred. decayDays <= 0 disables decay.
func (s Support) At(now time.Time, decayDays int) Tier {
	if s.Tier == Verified && decayDays > 0 && now.Sub(s.NewestAt) > time.Duration(decayDays)*24*time.Hour {
		return Inferred
	}
	return s.Tier
}

// Support computes the claim's support. stands reports whether a piece still holds; a file
// does not once its content has changed. nil means that every piece holds. A piece without a
// time is as old as the claim.
func (c *Claim) Support(stands func(Evidence) bool) Support {
	s := Support{Trust: TrustOperator, NewestAt: c.CreatedAt}
	if len(c.Evidence) == 0 {
		s.Trust = TrustExternal
	}
	var hard []Evidence
	var words, backed, human bool
	for _, e := range c.Evidence {
		s.Trust = min(s.Trust, max(e.Speaker(), TrustExternal))
		if stands != nil && !stands(e) {
			continue
		}
		if e.FetchedAt.After(s.NewestAt) {
			s.NewestAt = e.FetchedAt
		}
		switch {
		case e.Hard():
			hard = append(hard, e)
		case e.Backed():
			backed = true
		default:
			words = true
		}
		human = human || e.Kind == EvidenceHumanAssertion
	}
	switch n := HardSources(hard); {
	case n >= 2, human && c.Status == StatusVerified:
		s.Tier = Verified
	case n == 1, backed:
		s.Tier = Inferred
	case words:
		s.Tier = Assumed
	}
	return s
}

// HardSources returns the number of independent hard pieces of evidence. The exit status of a
// command and the test results in its output count once if they come from one run: they have
// the same time, or one has none. Repeated records of the same piece count once.
func HardSources(evidence []Evidence) int {
	type piece struct {
		kind EvidenceKind
		ref  string
	}
	runs, others := map[piece]struct{}{}, map[piece]struct{}{}
	moments := map[int64]struct{}{}
	for _, e := range evidence {
		switch {
		case !e.Hard():
		case e.Kind == EvidenceExitCode || e.Kind == EvidenceTestResult:
			runs[piece{e.Kind, e.Reference()}] = struct{}{}
			moments[e.FetchedAt.UnixNano()] = struct{}{}
		default:
			others[piece{e.Kind, e.Reference()}] = struct{}{}
		}
	}
	return len(others) + min(len(runs), len(moments))
}

// Trust is the trust in the source of a piece of evidence. The zero value, unknown, is treated
// as external everywhere.
type Trust uint8

// Levels of trust, lowest first.
const (
	TrustUnknown Trust = iota
	TrustExternal
	TrustAgent
	TrustOperator
)

var trustNames = [...]string{"unknown", "external", "agent", "operator"}

// String returns "unknown", "external", "agent" or "operator".
func (t Trust) String() string { return enumName(trustNames[:], int(t)) }

// IsZero reports whether t is unknown, which JSON omits.
func (t Trust) IsZero() bool { return t == TrustUnknown }

// AtLeast reports whether t reaches min, counting unknown as external.
func (t Trust) AtLeast(min Trust) bool { return max(t, TrustExternal) >= max(min, TrustExternal) }

// MarshalText returns the name.
func (t Trust) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText parses a name; an unknown name is an error.
func (t *Trust) UnmarshalText(b []byte) error {
	i, err := enumValue("trust", trustNames[:], string(b))
	*t = Trust(i)
	return err
}

func enumName(names []string, i int) string {
	if i < 0 || i >= len(names) {
		return "invalid(" + strconv.Itoa(i) + ")"
	}
	return names[i]
}

func enumValue(field string, names []string, s string) (int, error) {
	if i := slices.Index(names, s); i >= 0 {
		return i, nil
	}
	return 0, invalid(field, "unknown value "+strconv.Quote(s), "Use one of "+joinKinds(names)+".")
}

// Status is the state of a claim in its life cycle.
type Status string

// The statuses of a claim.
const (
	StatusObserved   Status = "observed"
	StatusInferred   Status = "inferred"
	StatusHypothesis Status = "hypothesis"
	StatusVerified   Status = "verified"
	StatusDisputed   Status = "disputed"
	StatusSuperseded Status = "superseded"
)

// ReasonLapsed is the reason with which garbage collection demotes an observed or verified
// claim to a hypothesis. That transition is only allowed with this reason.
const ReasonLapsed = "lapsed"

// Statuses lists every status.
func Statuses() []Status {
	return []Status{StatusObserved, StatusInferred, StatusHypothesis, StatusVerified, StatusDisputed, StatusSuperseded}
}

// RecallStatuses returns the statuses that a recall includes by default: those of claims that
// currently count as true.
func RecallStatuses() []Status { return []Status{StatusObserved, StatusInferred, StatusVerified} }

// Valid reports whether s is one of the six statuses.
func (s Status) Valid() bool {
	_, ok := transitions[s]
	return ok
}

var transitions = map[Status][]Status{
	StatusObserved:   {StatusVerified, StatusDisputed, StatusSuperseded},
	StatusInferred:   {StatusVerified, StatusDisputed, StatusSuperseded},
	StatusHypothesis: {StatusObserved, StatusDisputed, StatusSuperseded},
	StatusVerified:   {StatusDisputed, StatusSuperseded},
	StatusDisputed:   {StatusVerified, StatusSuperseded},
	StatusSuperseded: {},
}

// CheckTransition returns nil if a claim may change from one status to the other, and
// otherwise an ErrRefused that names both. reason matters for one transition only: see
// ReasonLapsed.
func CheckTransition(from, to Status, reason string) error {
	if !to.Valid() {
		return invalid("status", "unknown status "+strconv.Quote(string(to)), "Use one of "+joinKinds(Statuses())+".")
	}
	if slices.Contains(transitions[from], to) ||
		to == StatusHypothesis && reason == ReasonLapsed && (from == StatusObserved || from == StatusVerified) {
		return nil
	}
	next := "nothing leaves " + string(from)
	if len(transitions[from]) > 0 {
		next = "from " + string(from) + " a claim can become " + joinKinds(transitions[from])
	}
	return &Error{Code: CodeRefused, Field: "status",
		Msg: "a claim can't go from " + string(from) + " to " + string(to), Try: "Choose another status: " + next + "."}
}
