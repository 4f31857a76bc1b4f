package task

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
)

// Status is where a task stands.
type Status string

// The states of a task.
const (
	Open       Status = "open"
	InProgress Status = "in_progress"
	Blocked    Status = "blocked"
	Done       Status = "done"
	Cancelled  Status = "cancelled"
)

// Statuses lists every state, in the order of a task's life. The caller owns the
// slice.
func Statuses() []Status { return []Status{Open, InProgress, Blocked, Done, Cancelled} }

var transitions = map[Status][]Status{
	Open:       {InProgress, Blocked, Done, Cancelled},
	InProgress: {Open, Blocked, Done, Cancelled},
	Blocked:    {Open, InProgress, Done, Cancelled},
	// What was over is taken up again by saying so: it is open first, so that its
	// history shows that somebody decided that.
	Done:      {Open},
	Cancelled: {Open},
}

// Valid reports whether s is one of the five states.
func (s Status) Valid() bool {
	_, ok := transitions[s]
	return ok
}

// Over reports a state in which nobody works on the task any more.
func (s Status) Over() bool { return s == Done || s == Cancelled }

// Check returns nil when a task may go from one state to another, or stay, and
// otherwise an error that names both: ErrInvalid for a state that there is not,
// ErrRefused for a step that is not allowed.
func Check(from, to Status) error {
	if !to.Valid() {
		return &ken.Error{Code: ken.CodeInvalid, Field: "status", Msg: "unknown status " + strconv.Quote(string(to)),
			Try: "Use one of " + join(Statuses()) + "."}
	}
	if from == to || slices.Contains(transitions[from], to) {
		return nil
	}
	return &ken.Error{Code: ken.CodeRefused, Field: "status", Msg: "a task can't go from " + string(from) + " to " + string(to),
		Try: "Choose another status: from " + string(from) + " a task can become " + join(transitions[from]) + "."}
}

func join(list []Status) string {
	s := make([]string, len(list))
	for i := range list {
		s[i] = string(list[i])
	}
	return strings.Join(s, ", ")
}
