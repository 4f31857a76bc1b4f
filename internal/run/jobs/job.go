package jobs

import (
	"encoding/json"
	"time"
)

// State is where a job stands.
type State string

// States of a job.
const (
	Queued  State = "queued"  // waits for its time, or for a worker
	Running State = "running" // leased by a worker
	Done    State = "done"    // kept for a while, so that adding it again changes nothing
	Dead    State = "dead"    // given up on; Error says why, and Queue.Retry runs it again
)

// New is a job to be added.
type New struct {
	Kind    string // which handler runs it, such as "harvest"
	Key     string // what is to be done: the same kind and key is the same job
	Payload json.RawMessage
	After   time.Time // not before; zero is at once
}

// Job is one entry of the queue.
type Job struct {
	ID      string          `json:"id"` // follows from kind and key
	Kind    string          `json:"kind"`
	Key     string          `json:"key"`
	Payload json.RawMessage `json:"payload,omitempty"`
	State   State           `json:"state"`

	Attempts int       `json:"attempts"`           // started so far; Queue.Retry sets it back
	Lost     int       `json:"lost,omitempty"`     // attempts in a row during which the worker's process ended
	Run      uint64    `json:"run,omitempty"`      // leases so far, never set back: tells a worker whether the job is still its own
	Created  time.Time `json:"created"`            //
	Due      time.Time `json:"due"`                // when it may run, or run again
	Since    time.Time `json:"since,omitzero"`     // when Due was set; zero when it is New.After, which no clock shifts
	Lease    time.Time `json:"lease,omitzero"`     // until when its worker has it
	Worker   string    `json:"worker,omitempty"`   // that has it, or had it last
	Process  string    `json:"process,omitempty"`  // that the worker is in, while it has it
	Finished time.Time `json:"finished,omitzero"`  // done or dead
	Error    string    `json:"error,omitempty"`    // of the last attempt
	Try      string    `json:"try,omitempty"`      // what to do about it
	Note     string    `json:"note,omitempty"`     // what came of it
	Progress *Progress `json:"progress,omitempty"` // of the attempt that is running
}

// Progress is how far an attempt is. A total of 0 is unknown.
type Progress struct {
	Stage string `json:"stage"`
	Done  int    `json:"done"`
	Total int    `json:"total"`
}
