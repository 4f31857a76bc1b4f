package session

import (
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
)

// Bounds of a checkpoint. It is read again with every recovered turn, so it is
// small; what is oldest goes first.
const (
	maxListed = 10 // of entities, of files and of constraints
	maxOpen   = 5
	maxPoint  = 300 // characters of one string
)

// Digest returns where a session stands after entries, of which those that prev
// covers are passed over. prev is nil at the start, step is what the turn itself
// adds. It is a pure function, and rules make it, no model:
//
//   - The goal is the user's first request that says something, in the user's
//     words, until one turns to something else: see turnsAway.
//   - Files are those of tool calls that name one in their arguments, and those
//     that entries were annotated with.
//   - A question of the user is open until the assistant says something without
//     calling a tool.
//   - The last step is the assistant's last statement or call.
func Digest(prev *Checkpoint, entries []Entry, step *Step, now time.Time) Checkpoint {
	var c Checkpoint
	if prev != nil {
		c = *prev
	}
	for i := range entries {
		e := &entries[i]
		if e.Seq <= c.Seq {
			continue
		}
		c.Seq = e.Seq
		switch e.Message.Role {
		case "user":
			c.heard(e.Message.Text)
		case "assistant":
			c.did(&e.Message)
		}
		for _, path := range filesOf(e) {
			c.Files = newest([]string{path}, c.Files)
		}
	}
	c.At = later(now.Round(0).UTC(), c.At)
	c.Entities = newest(step.Signals.Entities, c.Entities)
	c.Files = newest(nil, c.Files)
	c.Constraints = newest(step.Constraints, c.Constraints)
	c.Focal, c.Aspects = newest(step.Focal, c.Focal), newest(step.Aspects, c.Aspects)
	c.Open = slices.Clone(c.Open)
	return c
}

// heard takes in what the user said.
func (c *Checkpoint) heard(text string) {
	text = prose(text)
	if c.turnsAway(text) {
		c.Goal = point(text)
	}
	for _, s := range sentences(text) {
		if asks(s) && !slices.Contains(c.Open, point(s)) {
			c.Open = append(slices.Clone(c.Open), point(s))
		}
	}
	if n := len(c.Open) - maxOpen; n > 0 {
		c.Open = c.Open[n:]
	}
}

// did takes in what the assistant said or called.
func (c *Checkpoint) did(m *ken.Message) {
	if n := len(m.ToolCalls); n > 0 {
		c.LastStep = point(describe(&m.ToolCalls[n-1]))
		return
	}
	said := sentences(prose(m.Text))
	if len(said) == 0 {
		return
	}
	c.Open = nil
	last := said[len(said)-1]
	for i := len(said) - 1; i >= 0; i-- { // "Anything else?" says nothing of what was done
		if !question(said[i]) {
			last = said[i]
			break
		}
	}
	c.LastStep = point(last)
}

// newest puts what is new before what was there, each once, at most maxListed.
func newest(first, rest []string) []string {
	var out []string
	for _, list := range [][]string{first, rest} {
		for _, s := range list {
			s = point(s)
			same := func(o string) bool { return strings.EqualFold(o, s) }
			if s != "" && len(out) < maxListed && !slices.ContainsFunc(out, same) {
				out = append(out, s)
			}
		}
	}
	return out
}

// point is a string as a checkpoint has it: one line of at most 300 characters.
func point(s string) string { return clip(strings.Join(strings.Fields(s), " "), maxPoint) }

// clip cuts a line to n characters, at a word's end if one is near.
func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	if n < 2 {
		return ""
	}
	end := n - 1
	for i := end; i > end*3/4; i-- {
		if r[i] == ' ' {
			end = i
			break
		}
	}
	return strings.TrimRight(string(r[:end]), " ,;:") + "…"
}
