package harvest

import (
	"context"
	"fmt"
	"slices"

	"github.com/kenlayer/ken"
)

// leaveOut takes the calls that somebody else's text had the agent make out of what is
// harvested, with their results: told by an episode or a finding, they would be the
// agent's own the next time, and outlive the text when that is forgotten.
func (r *run) leaveOut(ctx context.Context) error {
	if r.o.Tainted == nil {
		return nil
	}
	taints, err := r.o.Tainted(ctx, r.tr.Info.ID)
	if err != nil {
		return fmt.Errorf("read which calls were flagged: %w", err)
	}
	if r.tainted = len(taints) > 0; !r.tainted {
		return nil
	}
	tr := *r.tr
	tr.Entries = nil
	results := map[string]bool{} // ids of calls whose results go
	flagged := func(c ken.ToolCall) bool {
		return slices.ContainsFunc(taints, func(t ken.Taint) bool {
			return t.Call != "" && t.Call == c.ID || t.Call == "" && t.Tool == c.Name
		})
	}
	for _, e := range r.tr.Entries {
		if e.Message.Role == "tool" && results[e.Message.ToolCallID] {
			continue
		}
		if slices.ContainsFunc(e.Message.ToolCalls, flagged) {
			var rest []ken.ToolCall
			for _, c := range e.Message.ToolCalls {
				if !flagged(c) {
					rest = append(rest, c)
					continue
				}
				if c.ID != "" {
					results[c.ID] = true
				}
				r.out.Dropped[dropTainted]++
			}
			if e.Message.ToolCalls = rest; len(rest) == 0 && e.Message.Text == "" {
				continue
			}
		}
		tr.Entries = append(tr.Entries, e)
	}
	if cp := tr.Checkpoint; cp != nil { // its last step may be such a call
		c := *cp
		c.LastStep = ""
		tr.Checkpoint = &c
	}
	r.tr = &tr
	return nil
}

// voice is what a session's summary is trusted: like the agent who speaks, and, where
// somebody else's text steered it, like that.
func (r *run) voice() ken.Trust {
	if r.tainted {
		return ken.TrustExternal
	}
	return ken.TrustAgent
}
