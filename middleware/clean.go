package middleware

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// cleanText returns a text without secrets, and without the invisible characters that could
// hide one.
func cleanText(s string) string {
	s, _ = guardrail.Redact(guardrail.Sanitize(s))
	return s
}

// cleanMessage returns a copy of m with clean texts, and reports whether anything changed.
func cleanMessage(m *ken.Message) (ken.Message, bool) {
	out, changed := *m, false
	clean := func(s string) string {
		c := cleanText(s)
		changed = changed || c != s
		return c
	}
	out.Text, out.Name = clean(m.Text), clean(m.Name)
	out.Parts = withTexts(m.Parts, func(p *ken.Part) *string { return &p.Text }, clean)
	out.ToolCalls = withTexts(m.ToolCalls, func(c *ken.ToolCall) *string { return &c.Arguments }, clean)
	return out, changed
}

// withTexts returns the list with each text replaced by clean's result; the list itself if nothing
// changes.
func withTexts[T any](list []T, text func(*T) *string, clean func(string) string) []T {
	out := list
	for i := range list {
		was := *text(&list[i])
		s := clean(was)
		if s == was {
			continue
		}
		if &out[0] == &list[0] {
			out = slices.Clone(list)
		}
		*text(&out[i]) = s
	}
	return out
}

// cleanMessages returns messages with clean texts. If nothing changes, it returns msgs itself.
func cleanMessages(msgs []ken.Message) []ken.Message {
	return (*cleanCache)(nil).clean(nil, msgs)
}

// Bounds of each of the two maps of a cleanCache.
const (
	maxCleanings     = 1 << 14 // messages
	maxCleaningBytes = 8 << 20 // of clean text
)

// cleanCache remembers the clean form of messages by their fingerprints, because a conversation
// sends its messages again with every request. When the map newer is full it replaces older, which
// drops the messages that were not used since. It is safe for concurrent use.
type cleanCache struct {
	mu           sync.Mutex
	newer, older map[fingerprint]*ken.Message // the value is nil if the message needed no change
	bytes        int                          // of the messages in newer
}

// clean returns messages with clean texts; at holds the fingerprints of msgs. If nothing changes,
// it returns msgs itself. A nil receiver caches nothing.
func (c *cleanCache) clean(at []fingerprint, msgs []ken.Message) []ken.Message {
	out := msgs
	for i := range msgs {
		var m *ken.Message
		known := false
		if c != nil {
			m, known = c.get(at[i])
		}
		if !known {
			if got, changed := cleanMessage(&msgs[i]); changed {
				m = &got
			}
			if c != nil {
				c.put(at[i], m)
			}
		}
		if m == nil {
			continue
		}
		if &out[0] == &msgs[0] {
			out = slices.Clone(msgs)
		}
		out[i] = *m
	}
	return out
}

func (c *cleanCache) get(at fingerprint) (*ken.Message, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m, ok := c.newer[at]; ok {
		return m, true
	}
	m, ok := c.older[at]
	if ok {
		c.add(at, m)
	}
	return m, ok
}

func (c *cleanCache) put(at fingerprint, m *ken.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(at, m)
}

func (c *cleanCache) add(at fingerprint, m *ken.Message) {
	size := 0
	if m != nil {
		size = textBytes(m)
	}
	if size > maxCleaningBytes/8 {
		return
	}
	if c.newer == nil || len(c.newer) >= maxCleanings || c.bytes+size > maxCleaningBytes {
		c.newer, c.older, c.bytes = map[fingerprint]*ken.Message{}, c.newer, 0
	}
	c.newer[at] = m
	c.bytes += size
}

// assign files a claim under the entities it names when it is written. It asks no model.
func assign(names store.Structure, c *ken.Claim) { reading.Assign(c, names) }

// structureOptions returns the structure search's options; nil if structure is switched off.
func structureOptions(c *config.Config) *retriever.Structure {
	s := &c.Structure
	if !s.Enabled {
		return nil
	}
	b := structure.Bounds{Focal: s.Focal, Aspects: s.Aspects, Attributes: s.Attributes, Dependencies: s.Dependencies, MinStrength: s.MinStrength}
	b.MinStrength = cmp.Or(b.MinStrength, -1) // 0 in the configuration means: follow every dependency; 0 in the option means the default
	return &retriever.Structure{Bounds: b}
}

// userText returns the full text of the turn's user message. The search reads only a part of it,
// and names may come after that part.
func userText(msgs []ken.Message) string {
	i := lastUser(msgs)
	if i < 0 {
		return ""
	}
	m := &msgs[i]
	text := m.Text
	if text == "" {
		for _, p := range m.Parts {
			if p.Type == "text" {
				text += p.Text + "\n"
			}
		}
	}
	return text
}

func focalNames(focal []structure.Focus) (names []string) {
	for i := range focal {
		names = append(names, focal[i].Name)
	}
	return names
}

// loadClaim reads a candidate's claim for the block. It returns an error for a rule that was
// disputed or superseded, or has expired, since the search found it: an invalid rule must not be
// shown.
func (st *State) loadClaim(ctx context.Context, c *retriever.Candidate) (ken.Claim, error) {
	filter := st.filter
	filter.Shared = c.Owner != ""
	claim, err := st.projectionsOf(c).Claim(ctx, c.Ref)
	switch {
	case err != nil:
		return claim, err
	case c.Row.Facts.Kind == ken.KindEntity:
		return taskReminder(claim, st.filter.Now)
	case !c.Row.Constraint:
		return withOwnerSource(c.Owner, claim), nil
	}
	if why := filter.Reject(claim.Facts()); why != "" || !claim.Constraint {
		return claim, &ken.Error{Code: ken.CodeNotFound, Field: "claim", Try: "Look at its history.",
			Msg: "it became invalid after the search: " + cmp.Or(string(why), "it is no longer a constraint")}
	}
	return withOwnerSource(c.Owner, claim), nil
}

// taskReminder returns a task in the form that a turn shows. It returns an error if the task is
// done or has expired.
func taskReminder(c ken.Claim, now time.Time) (ken.Claim, error) {
	t, ok := task.Of(c, now)
	if !ok || t.Status.Over() || t.Expired {
		return c, &ken.Error{Code: ken.CodeNotFound, Field: "task", Msg: "the task is done or has expired", Try: "Look at it with ken tasks show."}
	}
	c.Heading = "Task " + t.ID + ", " + string(t.Status)
	if !t.ExpiresAt.IsZero() {
		c.Heading += ", until " + t.ExpiresAt.Format(time.DateOnly)
	}
	return c, nil
}
