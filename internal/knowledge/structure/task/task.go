package task

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
)

// Type is the type of a task entity, which is the aspect of its claim.
const Type = "task"

// Body is the body of a task's claim.
type Body struct {
	Status    Status    `json:"status"`
	ExpiresAt time.Time `json:"expires_at,omitzero"` // when the task expires; zero means never
	// RetentionUntil is until when a closed task is kept; zero for an open one.
	RetentionUntil time.Time `json:"retention_until,omitzero"`
	CompletedAt    time.Time `json:"completed_at,omitzero"` // when it was done or cancelled
	About          []string  `json:"about,omitempty"`       // names as people write them
}

// Task is a work item.
type Task struct {
	ID    string `json:"id"` // T-0001
	Title string `json:"title"`
	Body
	Expired   bool      `json:"expired,omitempty"` // it is not closed, and ExpiresAt has passed
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	ClaimID   string    `json:"claim_id"`

	// Claim is the claim that stores the task.
	Claim ken.Claim `json:"-"`
}

// Of returns the task that a claim stores, in its state at now. It returns false for
// other claims.
func Of(c ken.Claim, now time.Time) (Task, bool) {
	id, isKey := strings.CutPrefix(c.Key, keyPrefix)
	if c.Kind != ken.KindEntity || c.Aspect != Type || !isKey || !IsID(id) {
		return Task{}, false
	}
	t := Task{ID: id, Title: c.Text, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt, ClaimID: c.ID, Claim: c}
	if json.Unmarshal(c.Body, &t.Body) != nil || !t.Status.Valid() {
		t.Body = Body{Status: Open} // the claim was written by another program, but is a task all the same
	}
	if t.About == nil && len(c.Entities) > 1 {
		t.About = slices.Clone(c.Entities[1:])
	}
	t.Expired = !t.Status.Over() && !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt)
	return t, true
}

const (
	keyPrefix = "task:"
	idPrefix  = "T-"
)

// ID returns the id of an owner's nth task, n > 0: T-0001, or T-10000 if four digits
// are not enough.
func ID(n uint64) string {
	return fmt.Sprintf("%s%04d", idPrefix, n)
}

// Number returns the number in an id, 0 if it is not an id.
func Number(id string) uint64 {
	digits, ok := strings.CutPrefix(id, idPrefix)
	n, err := strconv.ParseUint(digits, 10, 64)
	if !ok || err != nil || ID(n) != id {
		return 0
	}
	return n
}

// IsID reports whether s is the id of a task.
func IsID(s string) bool { return Number(s) > 0 }

// ParseID parses an id as people write it: in any case, without the zeros, or only
// the number. Errors: ErrInvalid.
func ParseID(s string) (string, error) {
	digits := strings.TrimSpace(s)
	if rest, ok := strings.CutPrefix(strings.ToUpper(digits), "T"); ok {
		digits = strings.TrimPrefix(rest, "-")
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || n == 0 {
		return "", &ken.Error{Code: ken.CodeInvalid, Field: "id", Msg: strconv.Quote(clip(s)) + " is no task's id",
			Try: "Write it as in T-0001; a list of tasks has the ids."}
	}
	return ID(n), nil
}

func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:39]) + "…"
	}
	return s
}

// Key returns the key of the claim of the task with this id.
func Key(id string) string { return keyPrefix + id }

// Name returns the task's name as an entity.
func Name(id string) string { return analysis.Entity(id) }

// IDOf returns the id of the task with this entity name. It returns false for other
// names.
func IDOf(name string) (string, bool) {
	digits, ok := strings.CutPrefix(name, "t ")
	if !ok {
		return "", false
	}
	id := idPrefix + digits
	return id, IsID(id)
}

// Status is the state of a task.
type Status string

// The states of a task.
const (
	Open       Status = "open"
	InProgress Status = "in_progress"
	Blocked    Status = "blocked"
	Done       Status = "done"
	Cancelled  Status = "cancelled"
)

// Statuses returns every state, in the usual order. The caller owns the slice.
func Statuses() []Status { return []Status{Open, InProgress, Blocked, Done, Cancelled} }

var transitions = map[Status][]Status{
	Open:       {InProgress, Blocked, Done, Cancelled},
	InProgress: {Open, Blocked, Done, Cancelled},
	Blocked:    {Open, InProgress, Done, Cancelled},
	// A closed task must be reopened first, so that its history shows this decision.
	Done:      {Open},
	Cancelled: {Open},
}

// Valid reports whether s is one of the five states.
func (s Status) Valid() bool {
	_, ok := transitions[s]
	return ok
}

// Over reports whether a task with this status is closed.
func (s Status) Over() bool { return s == Done || s == Cancelled }

// Check returns nil if a task may change from one status to another, or if they are
// equal. Otherwise the error names both: ErrInvalid for an unknown status, ErrRefused
// for a change that is not allowed.
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
