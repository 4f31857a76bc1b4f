package middleware

import (
	"cmp"
	"iter"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/guardrail/taint"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/telemetry"
	"github.com/kenlayer/ken/store"
)

// TaintHeader tells a client of tool calls that repeat what an external claim said,
// as "flagged; tool=NAME" or "refused; tool=NAME". Of an answer that is streamed it
// comes as a trailer, and the session's next response has it as a header, with
// "; turn=ID" of the answer that it is about. "unchecked" is an answer that could not
// be read.
const TaintHeader = "X-Ken-Taint"

// maxTaints bounds the taints of one answer: the longest spans of each call.
const maxTaints = 16

// Tainted returns the tool calls of an answer that repeat what an external claim said
// which the layer put before the model in the turn's session, and which nobody who
// may say it said: neither the messages of role user, system and developer, nor a
// claim that a person stands for. For programs that run tools by themselves, before
// they do. t is the turn as it was given to Assemble; without a session there is
// nothing to compare with. Nothing is recorded.
func (l *Layer) Tainted(t ken.Turn, answer ken.Message) []ken.Taint {
	if t.Owner == "" {
		t.Owner = l.cfg.Knowledge.Owner
	}
	if t.Session == "" || len(answer.ToolCalls) == 0 {
		return nil
	}
	return l.suspicions.find(t.Owner, t.Session).judge(answer.ToolCalls, l.trusted(&t, nil))
}

// taintAction is what a Transport does.
func (l *Layer) taintAction() config.TaintAction { return cmp.Or(l.o.Taint, l.cfg.Gateway.Taint) }

// judge compares tool calls with the suspects, which may be nil.
func (sus *suspects) judge(calls []ken.ToolCall, trusted iter.Seq[string]) (out []ken.Taint) {
	if sus == nil {
		return nil
	}
	sus.mu.Lock()
	defer sus.mu.Unlock()
	for _, c := range calls {
		matches := sus.now.Check(c.Arguments, trusted)
		if sus.old != nil {
			for _, m := range sus.old.Check(c.Arguments, trusted) {
				if !slices.ContainsFunc(matches, func(have taint.Match) bool { return have.ID == m.ID }) {
					matches = append(matches, m)
				}
			}
		}
		for _, m := range matches {
			if len(out) == maxTaints {
				return out
			}
			out = append(out, ken.Taint{Tool: c.Name, Call: c.ID, Claim: m.ID, Chars: m.Chars})
		}
	}
	return out
}

// trusted yields what was said by those who may say what an agent does: the person
// and the program, in their messages; what a person stands for, in the blocks; and
// where the project is. What tools returned and what the model said before are not
// among them.
func (l *Layer) trusted(t *ken.Turn, blocks []placed) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(l.o.Root) {
			return
		}
		for i := range t.Messages {
			m := &t.Messages[i]
			if m.Role != "user" && m.Role != "system" && m.Role != "developer" || budgeter.IsBlock(m.Text) {
				continue
			}
			if !yield(m.Text) {
				return
			}
		}
		for _, p := range blocks {
			for i := range p.receipt.Items {
				if it := &p.receipt.Items[i]; it.Trust == ken.TrustOperator && !yield(it.Text) {
					return
				}
			}
		}
	}
}

// accuse tells the session's events and the receipt of an answer's taints. An
// incognito turn leaves no trace.
func (l *Layer) accuse(t *ken.Turn, action config.TaintAction, taints []ken.Taint) {
	if t.Incognito {
		return
	}
	if l.events != nil {
		at := l.now().UTC()
		for _, x := range taints {
			ev := telemetry.Taint{Event: "taint", Timestamp: at, SessionID: t.Session, Turn: t.ID, Tool: x.Tool, Call: x.Call, Claim: x.Claim,
				Chars: x.Chars, Action: string(action)}
			if err := l.events.Write(t.Session, ev); err != nil {
				l.o.Log.Warn("write event", "cause", err)
			}
		}
	}
	if l.keepsReceipt(t) { // behind the turn's own record, which is with the recorder already
		l.recorder.add(record{owner: t.Owner, marks: &marks{t.ID, taints}})
	}
}

// marks are the taints of a turn's answer, for its receipt.
type marks struct {
	turn   string
	taints []ken.Taint
}

// book writes a record's receipt, and its marks.
func (r *record) book(tx store.ShelfTx, b *receipt.Book) error {
	if r.receipt != nil {
		if err := b.Add(tx, *r.receipt); err != nil {
			return err
		}
	}
	if r.marks == nil {
		return nil
	}
	return b.AddMark(tx, r.marks.turn, r.marks.taints)
}
