package jobs

import (
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// How much of what a handler says is looked at and kept, in bytes. An error that
// quotes its input would otherwise keep it.
const (
	maxRead  = 64 << 10
	maxText  = 2000
	maxStage = 100
)

// clean makes what a handler says fit to be kept: no reasoning, no secrets, no
// control characters, and not without end. It is cut after it was cleaned, since
// half a secret does not look like one.
func clean(s string, limit int) string {
	s = strings.TrimSpace(store.Clean(s[:min(len(s), maxRead)]))
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// fail notes an error on a job.
func (j *Job) fail(err error) {
	if j.Error = clean(err.Error(), maxText); j.Error == "" {
		j.Error = "failed with an error whose text can't be kept"
	}
	j.Try = clean(ken.Hint(err), maxText)
}
