package store

// Fault is something that is wrong with a store which goes on serving what it can.
type Fault struct {
	Name  FaultName `json:"name"`
	Cause string    `json:"cause"` // for the operator; it may name files
}

// FaultName is the kind of a fault.
type FaultName string

// Faults.
const (
	FaultDamaged  FaultName = "damaged"   // something that was written can't be read; writes may be refused
	FaultReadOnly FaultName = "read-only" // the folder can't be written; everything is read
	FaultIndex    FaultName = "index"     // what is written is durable, and found later
	FaultDisk     FaultName = "disk"      // the last write failed: the disk is full, or fails
)

// CheckReport is what a check of a store found.
type CheckReport struct {
	Owner    string    `json:"owner"`
	Events   uint64    `json:"events"`             // of the log, whose hash chain holds
	Head     string    `json:"head,omitempty"`     // the hash of the last of them
	Claims   int       `json:"claims"`             // compared with the log
	Values   int       `json:"values"`             // whose checksums were looked at
	Found    int       `json:"found"`              // problems
	Problems []Problem `json:"problems,omitempty"` // the first hundred
}

// Problem is one thing that a check found.
type Problem struct {
	Part string `json:"part"` // pages, log, index, or the bucket of a value
	What string `json:"what"`
}
