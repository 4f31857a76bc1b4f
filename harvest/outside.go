package harvest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/guardrail/taint"
	"github.com/kenlayer/ken/internal/harvest/matcher"
)

// outsideTexts are the external claims that a session's model was shown. What the session left
// because of them is no more trusted than they are, and goes when they are forgotten.
type outsideTexts struct {
	set     *taint.Set
	said    []string        // by the user, who may say the same
	flagged map[string]bool // claims that calls of the session repeat
}

// maxOutside bounds the external claims that a session is compared with, and those that a claim
// names as what it was derived from.
const (
	maxOutside = 64
	maxDerived = 8
)

// readOutside reads which external claims the session was shown, and leaves out the calls that
// repeat them.
func (r *harvestRun) readOutside(ctx context.Context) error {
	if err := r.removeTainted(ctx); err != nil {
		return err
	}
	r.outside = outsideTexts{set: taint.NewSet(), flagged: map[string]bool{}}
	for _, id := range r.tainting {
		r.outside.flagged[id] = true
	}
	seen := map[string]bool{}
	for i := range r.tr.Injected {
		in := &r.tr.Injected[i]
		if seen[in.ID] || r.outside.set.Len() == maxOutside {
			continue
		}
		seen[in.ID] = true
		external := r.outside.flagged[in.ID]
		if !external && in.Kind != ken.KindDocument {
			c, err := r.o.Store.Get(ctx, in.ID)
			if err != nil && !errors.Is(err, ken.ErrNotFound) && !errors.Is(err, ken.ErrInvalid) {
				return fmt.Errorf("read an injected claim: %w", err)
			}
			external = err == nil && !c.Support(nil).Trust.AtLeast(ken.TrustAgent)
		}
		if external {
			r.outside.set.Add(in.ID, in.Text)
		}
	}
	for i := range r.tr.Entries {
		if m := &r.tr.Entries[i].Message; m.Role == "user" {
			r.outside.said = append(r.outside.said, m.Text)
		}
	}
	return nil
}

// repeats returns the external claims that a text repeats, though the user said nothing like it.
func (o *outsideTexts) repeats(text string) (ids []string) {
	if o.set == nil || o.set.Len() == 0 || text == "" {
		return nil
	}
	for _, m := range o.set.Check(text, slices.Values(o.said)) {
		ids = append(ids, m.ID)
	}
	return ids
}

// tellsFlagged reports whether a text repeats a claim that a call of the session repeated: such
// a call and its command are not told.
func (o *outsideTexts) tellsFlagged(text string) bool {
	return slices.ContainsFunc(o.repeats(text), func(id string) bool { return o.flagged[id] })
}

// withoutFlagged leaves out the sentences of a summary that tell of a flagged call.
func (o *outsideTexts) withoutFlagged(summary string) string {
	if len(o.flagged) == 0 {
		return summary
	}
	var lines []string
	for line := range strings.Lines(summary) {
		line = strings.TrimRight(line, "\n")
		if !o.tellsFlagged(line) {
			lines = append(lines, line)
			continue
		}
		kept := slices.DeleteFunc(matcher.Sentences(line), o.tellsFlagged)
		if rest := strings.Join(kept, " "); rest != "" && !o.tellsFlagged(rest) {
			lines = append(lines, rest)
		}
	}
	return strings.Join(lines, "\n")
}

// derivation is evidence of the external claims that a text of the session rests on: those that
// it repeats and, for what tells of the whole session, those that the agent acted on.
func (r *harvestRun) derivation(text string, whole bool) (out []ken.Evidence) {
	ids := r.outside.repeats(text)
	if whole {
		ids = append(ids, r.tainting...)
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if len(out) == maxDerived {
			break
		}
		e := ken.FromRepositoryMemory(id)
		e.Trust = ken.TrustExternal
		out = append(out, e)
	}
	return out
}

// trustFlows makes claims that were read of tool calls rest on the external claims that they
// repeat, and leaves out those that tell of a flagged call.
func (r *harvestRun) trustFlows(claims []ken.Claim) []ken.Claim {
	var out []ken.Claim
	for _, c := range claims {
		text := c.Text + "\n" + string(c.Body)
		if r.outside.tellsFlagged(text) {
			r.out.Dropped[dropTainted]++
			continue
		}
		c.Evidence = append(c.Evidence, r.derivation(text, false)...)
		out = append(out, c)
	}
	return out
}
