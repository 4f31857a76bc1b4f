package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken/internal/code/plan"
	"github.com/kenlayer/ken/internal/code/plan/runner"
)

// planProgress shows a run as it goes: what happens, for people or as JSON lines, and what
// commands print.
type planProgress struct {
	app   *app
	root  string
	width int // of the longest name

	mu sync.Mutex // guards the streams
}

func newPlanProgress(a *app, root string, p *plan.Plan) *planProgress {
	v := &planProgress{app: a, root: root}
	for _, s := range p.Steps() {
		v.width = max(v.width, len(s.Agent.Name))
	}
	return v
}

// planEventView is a line of ken plan run --json.
type planEventView struct {
	Time    time.Time    `json:"time"`
	Event   runner.State `json:"event"`
	Agent   string       `json:"agent"`
	Stage   int          `json:"stage"`
	Reason  string       `json:"reason,omitempty"`
	Seconds float64      `json:"seconds,omitempty"`
	Log     string       `json:"log,omitempty"`
	Done    int          `json:"done"`
	Total   int          `json:"total"`
}

func (v *planProgress) event(e runner.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	log := v.file(e.Log)
	if v.app.json {
		enc := json.NewEncoder(v.app.out)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(planEventView{e.Time.UTC(), e.State, e.Agent, e.Stage, e.Reason, e.Took.Seconds(), log, e.Done, e.Total}) // nobody is left to tell
		return
	}
	if v.app.quiet {
		return
	}
	text := string(e.State)
	switch e.State {
	case runner.Kept:
		text = "was done before"
	case runner.Succeeded, runner.Failed, runner.Stopped:
		if e.Took > 0 {
			text += " after " + took(e.Took)
		}
	}
	if e.Reason != "" {
		text += ": " + cell(e.Reason)
	}
	if e.State == runner.Failed && log != "" {
		text += "; see " + log
	}
	if e.State != runner.Running {
		text += fmt.Sprintf(" (%d of %d)", e.Done, e.Total)
	}
	v.print(e.Agent, "*", text)
}

// line shows a line of a command's output, with the agent's name before it.
func (v *planProgress) line(agent, line string) {
	if v.app.quiet {
		return
	}
	if i := strings.LastIndexByte(line, '\r'); i >= 0 { // a line that was drawn over itself
		line = line[i+1:]
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.print(agent, "|", line)
}

func (v *planProgress) print(agent, mark, text string) {
	_, _ = io.WriteString(v.app.err, fmt.Sprintf("%-*s %s %s\n", v.width, agent, mark, text)) // nobody is left to tell
}

// file is how a file of the project is called from its root.
func (v *planProgress) file(path string) string {
	if rel, err := filepath.Rel(v.root, path); path != "" && err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}
