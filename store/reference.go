package store

import (
	"slices"

	"github.com/kenlayer/ken"
)

// References returns what a claim's evidence points at, each once: ids of tests,
// commands, validators, people and claims, artifacts, paths, addresses, commits and tool
// calls, as they are written. Projections.Referring finds the claim by any of them.
func References(c *ken.Claim) []string {
	var out []string
	for i := range c.Evidence {
		e := &c.Evidence[i]
		for _, ref := range [...]string{e.ID, e.ArtifactID, e.Path, e.URL, e.CommitSHA, e.ToolCallID} {
			if ref != "" && !slices.Contains(out, ref) {
				out = append(out, ref)
			}
		}
	}
	return out
}
