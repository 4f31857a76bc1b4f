package objective

import (
	"fmt"
	"slices"
	"time"
)

// Status is the state of an objective.
type Status string

// The statuses. Done and Abandoned are final: Done was reached, Abandoned was given up. An objective becomes Done by a
// decision, and not when all its tasks are done.
const (
	Active    Status = "active"
	Paused    Status = "paused"
	Done      Status = "done"
	Abandoned Status = "abandoned"
)

// Statuses lists every status.
func Statuses() []Status { return []Status{Active, Paused, Done, Abandoned} }

// Valid reports whether s is one of the four statuses.
func (s Status) Valid() bool { return slices.Contains(Statuses(), s) }

// Objective is the content of one file.
type Objective struct {
	ID          string // OBJ-0001
	Path        string // from the root, with slashes
	Hash        string // of the content: "sha256:" and hex
	Title       string
	Description string
	Status      Status
	Owner       string
	Tags        []string
	Decisions   []string // ids of decisions that it depends on
	Sessions    []string // ids of sessions that worked on it
	Tasks       []Task   // in their order
	Created     time.Time
	Updated     time.Time
}

// Task is one step of an objective.
type Task struct {
	Text   string
	Done   bool
	DoneAt time.Time // zero if unknown
	By     string    // who did it
	Claim  string    // id of the task's claim, if there is one
	Line   int       // line in the file, from 1
}

// Progress counts tasks and how many of them are done.
type Progress struct{ Done, Total int }

// Progress counts the objective's tasks.
func (o *Objective) Progress() Progress {
	p := Progress{Total: len(o.Tasks)}
	for _, t := range o.Tasks {
		if t.Done {
			p.Done++
		}
	}
	return p
}

// Share returns the share of done tasks, from 0 to 1; 0 without tasks.
func (p Progress) Share() float64 {
	if p.Total == 0 {
		return 0
	}
	return float64(p.Done) / float64(p.Total)
}

// String returns the progress in the form "2 of 5".
func (p Progress) String() string { return fmt.Sprintf("%d of %d", p.Done, p.Total) }

// Problem is a place in a file that could not be read. The file is not changed.
type Problem struct {
	Path string
	Line int    // from 1; 0 for the whole file
	Text string // what is wrong, in lower case, without a full stop
	Try  string // what to do about it, as a sentence
}

// Limits of an objective, in characters and entries.
const (
	maxTitle       = 200
	maxText        = 500 // of a task
	maxDescription = 20_000
	maxTasks       = 1000
	maxNames       = 200 // tags, decisions, sessions
	maxFile        = 1 << 20
)
