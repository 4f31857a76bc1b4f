package objective

import (
	"fmt"
	"slices"
	"time"
)

// Status says whether an objective is worked on.
type Status string

// The statuses. Done and Abandoned are both over: Done is reached, Abandoned is given up.
// Done is what somebody decides: all tasks done does not make an objective so.
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

// Objective is what one file says.
type Objective struct {
	ID          string // OBJ-0001
	Path        string // from the root, with slashes
	Hash        string // of the content: "sha256:" and hex
	Title       string
	Description string
	Status      Status
	Owner       string
	Tags        []string
	Decisions   []string // ids of decisions that it hangs on
	Sessions    []string // ids of sessions that worked on it
	Tasks       []Task   // in their order
	Created     time.Time
	Updated     time.Time
}

// Task is one step of an objective.
type Task struct {
	Text   string
	Done   bool
	DoneAt time.Time // zero when not said
	By     string    // who did it
	Claim  string    // id of the task's claim, if there is one
	Line   int       // where it stands in the file, from 1
}

// Progress is how many tasks are done.
type Progress struct{ Done, Total int }

// Progress counts the tasks. An objective without tasks is 0 of 0.
func (o *Objective) Progress() Progress {
	p := Progress{Total: len(o.Tasks)}
	for _, t := range o.Tasks {
		if t.Done {
			p.Done++
		}
	}
	return p
}

// Share is the part that is done, 0 to 1; 0 without tasks.
func (p Progress) Share() float64 {
	if p.Total == 0 {
		return 0
	}
	return float64(p.Done) / float64(p.Total)
}

// String is "2 of 5".
func (p Progress) String() string { return fmt.Sprintf("%d of %d", p.Done, p.Total) }

// Problem is a place in a file that could not be read. The file was left as it is.
type Problem struct {
	Path string
	Line int    // from 1; 0 for the whole file
	Text string // what is wrong, lower case, without a stop
	Try  string // what to do about it, a sentence
}

// Bounds of an objective, in characters and entries.
const (
	MaxTitle       = 200
	MaxText        = 500 // of a task
	MaxDescription = 20_000
	MaxTasks       = 1000
	maxNames       = 200 // tags, decisions, sessions
	maxFile        = 1 << 20
)
