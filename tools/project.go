package tools

import (
	"context"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/objective"
)

// owned refuses a caller whose project this is not: the files are those of the
// configured owner, as their pieces are that a search finds.
func (c *Call) owned() error {
	if c.r.layer.RootOf(c.Owner) == "" {
		return refused("", notTheirs, "Go on without them: what is known is found by memory_recall.")
	}
	return nil
}

// codeLook is when somebody last looked whether the project's files have changed.
type codeLook struct {
	mu    sync.Mutex
	at    time.Time
	after time.Duration // from when on it is looked again
}

// Bounds of how long an answer about code may be behind the files, where nobody follows
// them: so long that looking costs a twentieth of the time at most.
const (
	lookAgain  = time.Second
	lookShare  = 20
	lookLatest = time.Minute
)

// code is the project's code, up to date with its files as far as that is cheap.
func (c *Call) code(ctx context.Context) (*codebase.Codebase, error) {
	if err := c.owned(); err != nil {
		return nil, err
	}
	code, err := c.r.layer.ReadCode(ctx)
	if err != nil {
		return nil, err
	}
	l := &c.r.look
	if !l.mu.TryLock() {
		return code, nil // somebody looks just now
	}
	defer l.mu.Unlock()
	begun := c.Now()
	if begun.Sub(l.at) < l.after {
		return code, nil
	}
	if _, err := code.Build(ctx); err != nil {
		return nil, err
	}
	l.at = c.Now()
	l.after = min(max(lookShare*l.at.Sub(begun), lookAgain), lookLatest)
	return code, nil
}

// decided is the project's code with its decisions as their files are now. Its graph
// may not have been read.
func (c *Call) decided(ctx context.Context) (*codebase.Codebase, error) {
	if err := c.owned(); err != nil {
		return nil, err
	}
	code := c.r.layer.Codebase()
	if code == nil { // which says why
		return c.r.layer.ReadCode(ctx)
	}
	return code, code.Govern(ctx)
}

// goals are the project's objectives.
func (c *Call) goals() (*objective.Store, error) {
	if err := c.owned(); err != nil {
		return nil, err
	}
	if s := c.r.layer.Objectives(); s != nil {
		return s, nil
	}
	return nil, &ken.Error{Code: ken.CodeUnavailable, Field: "middleware.objectives", Msg: "objectives are switched off, or could not be opened",
		Try: "Ask the operator to set middleware.objectives to true, and to look at ken doctor."}
}
