package ken

import "strconv"

// Status is where a claim stands in its life cycle.
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

// ReasonLapsed is the reason with which garbage collection demotes an observed
// or verified claim to a hypothesis; no other reason opens that edge.
const ReasonLapsed = "lapsed"

// Statuses lists every status.
func Statuses() []Status {
	return []Status{StatusObserved, StatusInferred, StatusHypothesis, StatusVerified, StatusDisputed, StatusSuperseded}
}

// RecallStatuses is what a recall returns unless it asks otherwise: what the
// layer currently holds to be true.
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

// CheckTransition returns nil when a claim may move from one status to another,
// and otherwise an ErrRefused that names both. reason matters for one edge
// only: see ReasonLapsed.
func CheckTransition(from, to Status, reason string) error {
	if !to.Valid() {
		return invalid("status", "unknown status "+strconv.Quote(string(to)), "Use one of "+joinKinds(Statuses())+".")
	}
	for _, t := range transitions[from] {
		if t == to {
			return nil
		}
	}
	if to == StatusHypothesis && reason == ReasonLapsed && (from == StatusObserved || from == StatusVerified) {
		return nil
	}
	next := "nothing leaves " + string(from)
	if len(transitions[from]) > 0 {
		next = "from " + string(from) + " a claim can become " + joinKinds(transitions[from])
	}
	return &Error{Code: CodeRefused, Field: "status",
		Msg: "a claim can't go from " + string(from) + " to " + string(to), Try: "Choose another status: " + next + "."}
}
