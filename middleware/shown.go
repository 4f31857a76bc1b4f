package middleware

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/run/session"
)

// Reference begins what tools say of their answers, as text and as JSON. A tool's
// message that has it is known for an answer of Ken's own, whoever ran the tool.
const Reference = guardrail.Reference

// Injected returns what the layer put before the model in a session, as far as its
// journal holds it; what the last turns were given is in it already. Errors:
// ErrNotFound for a session that has no journal, and as of Journal.Read.
func (l *Layer) Injected(ctx context.Context, owner, id string) ([]session.Injection, error) {
	tr, err := l.Transcript(ctx, owner, id)
	return tr.Injected, err
}

// Transcript returns what the journal holds of a session, with what was just said in
// it. Errors: as of Journal.Read.
func (l *Layer) Transcript(ctx context.Context, owner, id string) (session.Transcript, error) {
	if err := l.recorder.flush(ctx); err != nil {
		return session.Transcript{}, err
	}
	return l.Journal(owner).Read(ctx, id)
}

// Showed tells a session's journal that items were put before the model by another
// way than a block, such as the answer of a tool, so that its harvest does not learn
// them again. A session without a journal stays without one: a call of a tool is no
// conversation. Errors: as of Journal.Injected.
func (l *Layer) Showed(ctx context.Context, owner, id string, items []ken.Item) error {
	l.shown(cmp.Or(owner, l.cfg.Knowledge.Owner), id, items)
	if err := l.recorder.flush(ctx); err != nil {
		return err
	}
	j := l.Journal(owner)
	if _, err := j.Info(ctx, id); errors.Is(err, ken.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	return j.Injected(ctx, id, items)
}

// Handle is Session for a program that only acts on claims: what it learns, verifies
// and disputes carries the session and is told to its event log, but no journal is
// begun, and none is looked after.
func (l *Layer) Handle(t ken.Turn) *session.Session {
	if t.Owner == "" {
		t.Owner = l.cfg.Knowledge.Owner
	}
	return l.handle(t.Owner, about(&t))
}

// shownWindow is how many of a request's last messages are looked at for answers of
// Ken's tools: those before it were in a request before.
const shownWindow = 64

// shownIn finds what Ken's own tools showed in a conversation, such as those of an MCP
// server that knows nothing of it: it was put before the model like a block, and is not
// to be learned from it.
func shownIn(msgs []ken.Message) (out []ken.Item) {
	for i := range msgs[max(0, len(msgs)-shownWindow):] {
		m := &msgs[max(0, len(msgs)-shownWindow)+i]
		if m.Role != "tool" && m.Role != "function" {
			continue
		}
		texts := []string{m.Text}
		for _, p := range m.Parts {
			texts = append(texts, p.Text)
		}
		for _, text := range texts {
			if strings.Contains(text, Reference) {
				out = append(out, shownInText(text)...)
			}
		}
	}
	return out
}

// shownInText reads the items of a block, or the claims of a structured answer.
func shownInText(text string) (out []ken.Item) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		var answer struct {
			Claims []struct{ ID, Kind, Text string }
			Claim  struct{ ID, Kind, Text string }
		}
		if json.Unmarshal([]byte(text), &answer) != nil {
			return nil
		}
		for _, c := range append(answer.Claims, answer.Claim) {
			if c.Text != "" {
				out = append(out, ken.Item{ID: c.ID, Kind: ken.Kind(c.Kind), Text: c.Text})
			}
		}
		return out
	}
	_, text, _ = strings.Cut(text, guardrail.FrameOpen+"\n")
	text, _, _ = strings.Cut(text, "\n"+guardrail.FrameClose)
	for _, item := range strings.Split(text, "\n"+guardrail.ItemMark)[1:] { // in an item no other line begins so
		id, rest, _ := strings.Cut(item, "]")
		_, said, _ := strings.Cut(rest, "\n")
		if said = strings.TrimSpace(said); said != "" {
			out = append(out, ken.Item{ID: id, Text: said})
		}
	}
	return out
}
