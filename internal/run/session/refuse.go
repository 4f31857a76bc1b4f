package session

import (
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/forgotten"
	"github.com/kenlayer/ken/store"
)

// tells reports whether a text of a session would bring back what was forgotten: it says
// it, or, in a session that began before, names what nothing else named.
func tells(gone *forgotten.Set, rec *record, text string) bool {
	return gone.Says(text) || !gone.After(rec.Started) && gone.Names(text)
}

// refuse takes out of the session those of the part's messages that would bring back what
// was forgotten, in the transaction that put them there. They are known, so that they are
// not taken up when they come again. What a person says in a session that began after
// the forgetting is said anew, and stays.
func (p *part) refuse(tx store.ShelfTx, rec *record, gone *forgotten.Set) error {
	p.stale = false
	if gone == nil || rec == nil {
		return nil
	}
	anew := gone.After(rec.Started)
	var seqs []uint64
	for _, n := range p.notes {
		for i := range n.entries {
			m := &n.entries[i].Message
			if n.Unkept || anew && m.Role == "user" {
				continue
			}
			if tells(gone, rec, m.Text) || slices.ContainsFunc(m.ToolCalls, func(c ken.ToolCall) bool { return tells(gone, rec, c.Arguments) }) {
				seqs = append(seqs, n.entries[i].Seq)
			}
		}
	}
	if len(seqs) == 0 {
		return nil
	}
	p.stale = true
	_, err := cutOut(tx, rec, seqs)
	return err
}

// forget takes out of a checkpoint the lines of which says is true.
func (c *Checkpoint) forget(says func(string) bool) {
	for _, line := range []*string{&c.Goal, &c.LastStep} {
		if says(*line) {
			*line = ""
		}
	}
	for _, list := range []*[]string{&c.Open, &c.Constraints, &c.Entities, &c.Files, &c.Focal, &c.Aspects} {
		if slices.ContainsFunc(*list, says) {
			*list = slices.DeleteFunc(slices.Clone(*list), says)
		}
	}
}
