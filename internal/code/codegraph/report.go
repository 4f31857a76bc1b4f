package codegraph

import (
	"cmp"
	"time"

	"github.com/kenlayer/ken/internal/code/repository"
)

// Report says what Build or Update found and did.
type Report struct {
	Files     int `json:"files"`     // that were looked at
	Changed   int `json:"changed"`   // new, or with other content than before
	Unchanged int `json:"unchanged"` // by size and time, or by hash
	Removed   int `json:"removed"`   // that are no more
	Others    int `json:"others"`    // whose edges were looked at again because of those

	// HeadOnly lists the files of which only the imports are kept, by path: generated
	// ones, and those over the limit.
	HeadOnly []string `json:"head_only,omitempty"`
	// Skipped and Withheld are as in repository.Tree.
	Skipped  map[repository.Reason]int `json:"skipped,omitempty"`
	Withheld []repository.Withheld     `json:"withheld,omitempty"`

	// Problems are the first of the places in all of the graph that could not be read, and
	// ProblemsTotal how many there are.
	Problems      []FileProblem `json:"problems,omitempty"`
	ProblemsTotal int           `json:"problems_total,omitempty"`

	Counts   Counts        `json:"counts"` // of the graph afterwards
	Duration time.Duration `json:"duration"`
}

// FileProblem is a place that could not be read.
type FileProblem struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"` // 0 for the file
	Text string `json:"text"`
}

func compareProblems(a, b FileProblem) int {
	return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
}
