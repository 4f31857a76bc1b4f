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

// externalTexts holds the external claims that a session's model was shown. Claims derived from them
// get no more trust than they have, and are deleted when they are forgotten.
type externalTexts struct {
	set     *taint.Set
	said    []string        // user messages, which may say the same
	flagged map[string]bool // ids of claims that calls of the session repeat
}

// maxExternal is the maximum number of external claims that a session is compared with. maxDerived
// is the maximum number of claims that a claim lists as its origin.
const (
	maxExternal = 64
	maxDerived  = 8
)

// readExternal reads which external claims the session was shown, and removes the calls that repeat
// them.
func (r *harvestRun) readExternal(ctx context.Context) error {
	if err := r.removeTainted(ctx); err != nil {
		return err
	}
	r.outside = externalTexts{set: taint.NewSet(), flagged: map[string]bool{}}
	for _, id := range r.tainting {
		r.outside.flagged[id] = true
	}
	seen := map[string]bool{}
	for i := range r.tr.Injected {
		in := &r.tr.Injected[i]
		if seen[in.ID] || r.outside.set.Len() == maxExternal {
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

// repeats returns the external claims that a text repeats and that the user did not state.
func (o *externalTexts) repeats(text string) (ids []string) {
	if o.set == nil || o.set.Len() == 0 || text == "" {
		return nil
	}
	for _, m := range o.set.Check(text, slices.Values(o.said)) {
		ids = append(ids, m.ID)
	}
	return ids
}

// repeatsFlagged reports whether a text repeats a claim that a call of the session repeated. Such a
// call and its command must not be described.
func (o *externalTexts) repeatsFlagged(text string) bool {
	return slices.ContainsFunc(o.repeats(text), func(id string) bool { return o.flagged[id] })
}

// withoutFlagged removes the sentences of a summary that describe a flagged call.
func (o *externalTexts) withoutFlagged(summary string) string {
	if len(o.flagged) == 0 {
		return summary
	}
	var lines []string
	for line := range strings.Lines(summary) {
		line = strings.TrimRight(line, "\n")
		if !o.repeatsFlagged(line) {
			lines = append(lines, line)
			continue
		}
		kept := slices.DeleteFunc(matcher.Sentences(line), o.repeatsFlagged)
		if rest := strings.Join(kept, " "); rest != "" && !o.repeatsFlagged(rest) {
			lines = append(lines, rest)
		}
	}
	return strings.Join(lines, "\n")
}

// derivation returns evidence for the external claims that a text is based on: those that it
// repeats and, if whole is set, those that the agent acted on in the session.
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

// addDerivations adds the external claims that they repeat as evidence to claims from tool calls. It
// drops claims that describe a flagged call.
func (r *harvestRun) addDerivations(claims []ken.Claim) []ken.Claim {
	var out []ken.Claim
	for _, c := range claims {
		text := c.Text + "\n" + string(c.Body)
		if r.outside.repeatsFlagged(text) {
			r.out.Dropped[dropTainted]++
			continue
		}
		c.Evidence = append(c.Evidence, r.derivation(text, false)...)
		out = append(out, c)
	}
	return out
}
