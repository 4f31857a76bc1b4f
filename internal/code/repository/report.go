package repository

import (
	"time"

	"github.com/kenlayer/ken/store"
)

// Reason says why a file, or a folder with all that is in it, is not indexed.
type Reason string

// The reasons.
const (
	ReasonBinary     Reason = "binary"
	ReasonData       Reason = "data" // minified, or rows of data rather than text
	ReasonExcluded   Reason = "excluded"
	ReasonGenerated  Reason = "generated" // by a tool, lock files and build output included
	ReasonIgnored    Reason = "ignored"
	ReasonIrregular  Reason = "irregular" // a socket, a pipe, a device
	ReasonNested     Reason = "nested"    // a submodule or another work tree
	ReasonNotUTF8    Reason = "not UTF-8"
	ReasonSecret     Reason = "secret"
	ReasonSymlink    Reason = "symlink"
	ReasonTooLarge   Reason = "too large"
	ReasonUnreadable Reason = "unreadable"
	ReasonVendored   Reason = "vendored"
)

// Withheld is a passage, or a whole file, kept out because it looks like a
// secret.
type Withheld = store.Withheld

// Report says what a run found and did.
type Report struct {
	Files     int `json:"files"` // indexed: Changed and Unchanged together
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged"`
	Removed   int `json:"removed"` // files indexed before and no longer
	Chunks    int `json:"chunks"`  // written by this run, of files and commits

	// Skipped counts by reason. A folder that is skipped counts once.
	Skipped map[Reason]int `json:"skipped,omitempty"`
	// Withheld lists everything that looks like a secret, by path and line.
	Withheld []Withheld `json:"withheld,omitempty"`

	Commits        int    `json:"commits"`     // reachable and within the limit
	CommitsNew     int    `json:"commits_new"` // written by this run
	CommitsRemoved int    `json:"commits_removed"`
	History        string `json:"history,omitempty"` // why there is no git history; empty when there is

	Duration time.Duration `json:"duration"`
}
