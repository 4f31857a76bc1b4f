package engine

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
)

// Clone returns a claim that shares no memory with c that a caller could change.
func Clone(c *ken.Claim) ken.Claim {
	out := *c
	out.Body = slices.Clone(c.Body)
	out.Tags = slices.Clone(c.Tags)
	out.Entities = slices.Clone(c.Entities)
	out.Evidence = slices.Clone(c.Evidence)
	for i, e := range out.Evidence {
		if e.ExitCode != nil {
			code := *e.ExitCode
			out.Evidence[i].ExitCode = &code
		}
	}
	return out
}

// EmbedText returns the text of which a claim's vector is computed. For a piece of a file that is the
// beginning, which says what the rest does.
func EmbedText(c *ken.Claim) string {
	text := c.Text
	if c.SourceType == "repository" && len(text) > embedBytes {
		text = strings.ToValidUTF8(text[:embedBytes], "")
	}
	if c.Heading == "" {
		return text
	}
	return c.Heading + "\n" + text
}

// embedBytes bounds the bytes of a piece of a file that are embedded. Half of them does equally well, and the
// whole of long functions worse: docs/decisions/0035.
const embedBytes = 1200

// Parents returns the ids of the claims that a claim was derived from: those that its
// evidence names as a decision or as knowledge. When one is forgotten, so is the claim.
func Parents(c *ken.Claim) (out []uuid.UUID) {
	for i := range c.Evidence {
		e := &c.Evidence[i]
		if e.Kind != ken.EvidenceDecision && e.Kind != ken.EvidenceRepositoryMemory {
			continue
		}
		if id, err := uuid.Parse(e.ID); err == nil {
			out = append(out, id)
		}
	}
	return out
}

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

// Pinned reports whether a claim of these facts belongs into every turn, as far
// as its kind goes: hot claims, patterns, objectives. Its status is the filter's
// business: a pattern that nobody approved is a hypothesis, which no recall sees.
func Pinned(k ken.Kind) bool {
	return k == ken.KindHot || k == ken.KindPattern || k == ken.KindObjective
}
