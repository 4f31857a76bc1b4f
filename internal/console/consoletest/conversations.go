package consoletest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
)

// talk is one session: what was asked, run and answered, a few minutes apart.
type talk struct {
	name, owner, session, agent, project string
	begin                                time.Duration // before Options.Now
	turns                                []said
}

// said is one turn. A command is run between question and answer.
type said struct {
	ask, answer  string
	run, printed string
	edits        string // a file that is written
}

// between two turns of a session.
const between = 4 * time.Minute

func (f *furnisher) conversations() []step {
	var steps []step
	for _, t := range talks() {
		f.project.Sessions[t.name] = t.session
		c := &conversation{f: f, talk: t, messages: []ken.Message{{Role: "system", Text: "You help with the payments service. Be brief."}}}
		for i := range t.turns {
			steps = append(steps, step{t.begin - time.Duration(i)*between, fmt.Sprintf("turn %d of %s", i+1, t.name), func(ctx context.Context) error { return c.turn(ctx, i) }})
		}
		steps = append(steps, step{t.begin - time.Duration(len(t.turns))*between, "end " + t.name, c.end})
	}
	return steps
}

// conversation is a session that goes on.
type conversation struct {
	f        *furnisher
	talk     talk
	messages []ken.Message
	calls    int
}

// turn is what a client does: it asks, runs what the model wants run, asks again with what
// that printed, and has the answer. The second request is of the same turn.
func (c *conversation) turn(ctx context.Context, i int) error {
	said := c.talk.turns[i]
	c.messages = append(c.messages, ken.Message{Role: "user", Text: said.ask})
	t := ken.Turn{Owner: c.talk.owner, Session: c.talk.session, Agent: c.talk.agent, Project: c.talk.project, Model: "gpt-4.1-mini", Messages: c.messages}
	a := c.f.layer.Assemble(ctx, t)
	if len(a.Receipt.Degraded) > 0 {
		return fmt.Errorf("degraded: %q", a.Receipt.Degraded)
	}
	c.f.project.Turns[fmt.Sprintf("%s %d", c.talk.name, i+1)] = a.Receipt.Turn
	for _, call := range said.calls() {
		c.calls++
		call.ID = fmt.Sprintf("call_%s_%d", c.talk.name, c.calls)
		wants := ken.Message{Role: "assistant", ToolCalls: []ken.ToolCall{call.ToolCall}}
		c.f.layer.Answered(t, wants)
		c.messages = append(c.messages, wants, ken.Message{Role: "tool", ToolCallID: call.ID, Text: call.printed})
		t.Messages = c.messages
		c.f.layer.Assemble(ctx, t)
	}
	answer := ken.Message{Role: "assistant", Text: said.answer}
	c.f.layer.Answered(t, answer)
	c.messages = append(c.messages, answer)
	return c.f.layer.Recorded(ctx)
}

// call is a tool call with what came of it.
type call struct {
	ken.ToolCall
	printed string
}

func (s said) calls() (out []call) {
	if s.run != "" {
		out = append(out, call{ken.ToolCall{Name: "run_command", Arguments: fmt.Sprintf(`{"command":%q}`, s.run)}, s.printed})
	}
	if s.edits != "" {
		out = append(out, call{ken.ToolCall{Name: "Edit", Arguments: fmt.Sprintf(`{"file_path":%q,"old_string":"a","new_string":"b"}`, s.edits)}, "ok"})
	}
	return out
}

// end closes the session and has it harvested, as a server does in the background.
func (c *conversation) end(ctx context.Context) error {
	if err := c.f.layer.End(ctx, c.talk.owner, c.talk.session, session.Closed); err != nil {
		return err
	}
	report, err := c.f.layer.Harvest(ctx, c.talk.owner)
	if err != nil {
		return err
	}
	info, err := c.f.layer.Journal(c.talk.owner).Info(ctx, c.talk.session)
	if err != nil {
		return err
	}
	if info.Outcome == nil || report.Dead > 0 {
		return errors.New("its harvest failed")
	}
	c.f.project.Learned[c.talk.name] = info.Outcome.Learned
	return nil
}
