package consoletest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kenlayer/ken"
)

// talk is one session: questions, commands and answers, a few minutes apart.
type talk struct {
	name, owner, session, agent, project string
	begin                                time.Duration // how long before Options.Now it began
	turns                                []said
}

// said is one turn. A command may run between question and answer.
type said struct {
	ask, answer  string
	run, printed string
	edits        string // file that the turn writes
}

// between is the time between two turns of a session.
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

type conversation struct {
	f        *furnisher
	talk     talk
	messages []ken.Message
	calls    int
}

// turn does what a client does: it sends the question, runs the tool call that the model
// wants, sends its result, and gets the answer. Both requests belong to the same turn.
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
	return c.f.layer.Operator().Recorded(ctx)
}

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

// end closes the session and harvests it, as a server does in the background.
func (c *conversation) end(ctx context.Context) error {
	if err := c.f.layer.End(ctx, c.talk.owner, c.talk.session); err != nil {
		return err
	}
	report, err := c.f.layer.Harvest(ctx, c.talk.owner)
	if err != nil {
		return err
	}
	info, err := c.f.layer.Operator().Journal(c.talk.owner).Info(ctx, c.talk.session)
	if err != nil {
		return err
	}
	if info.Outcome == nil || report.Dead > 0 {
		return errors.New("its harvest failed")
	}
	c.f.project.Learned[c.talk.name] = info.Outcome.Learned
	return nil
}

// talks returns the sessions of the story: six of two agents, one of Bob's, and one with a
// hostile name.
func talks() []talk {
	passed := "Exit code: 0\nOutput:\nok  \texample.com/payments/retry\t0.4s"
	failed := "Exit code: 1\nOutput:\n--- FAIL: TestSend\n    client_test.go:12: got 503"
	return []talk{
		{"onboarding", "", "s-onboarding", builder, "payments", 5*day + 8*time.Hour, []said{
			{ask: "What does the payments service do?", answer: "It moves money between accounts, with a ledger and the partner bank behind an HTTP API."},
			{ask: "How often do we retry calls to the bank?", answer: "Three times, ten seconds apart at first."},
			{ask: "Run the tests, please.", run: "go test ./...", printed: passed, answer: "All of them pass."},
			{ask: "Who owns payments?", answer: "Ana does."},
			{ask: "For how long are refunds possible?", answer: "For 90 days after the transfer."},
			{ask: "Remember that the sandbox of the bank needs a certificate of its own.", answer: "Noted: the sandbox of the bank needs a certificate of its own."},
			{ask: "thanks!", answer: "You're welcome."},
		}},
		{"incident", "", "s-incident", builder, "payments", 4*day + 5*time.Hour, []said{
			{ask: "Transfers were refunded twice last night. Where does a refund write to the ledger?", answer: "In handler/refund.go, through ledger.Post."},
			{ask: "Does ledger.Post know a reference that it has seen?", answer: "Yes: it asks the database and does nothing the second time."},
			{ask: "Then the client must have made a new reference. Run its tests.", run: "go test ./bank/...", printed: failed, answer: "TestSend fails with 503."},
			{ask: "Again.", run: "go test ./bank/...", printed: failed, answer: "It still fails."},
			{ask: "What do we know about the bank's answers for references it has seen?", answer: "It answers 409 when the amount differs."},
			{ask: "We decided that the client keeps its reference for a day.", edits: "bank/client.go", answer: "I wrote that into bank/client.go."},
			{ask: "And the retry tests?", run: "go test ./retry/...", printed: passed, answer: "They pass."},
		}},
		{"mail", "", "s-mail", reviewer, "payments", 3*day + 20*time.Hour, []said{
			{ask: "Are letters sent within the request or behind a queue?", answer: "Two claims say different things; ADR-0006 says behind a queue."},
			{ask: "Why does the ledger import notify?", answer: "Post mails whoever receives money. The architecture does not allow it."},
			{ask: "What would the architecture want instead?", answer: "The handler should call notify, or a worker."},
			{ask: "ok", answer: "Good."},
			{ask: "Who owns the letters?", answer: "Tom does."},
			{ask: "From now on letters are written in plain text only.", answer: "Understood: plain text only."},
		}},
		{"latency", "", "s-latency", reviewer, "payments", 3*day + 2*time.Hour, []said{
			{ask: "Requests wait at month's end. What holds them up?", answer: "Perhaps the pool of connections to PostgreSQL."},
			{ask: "How fast does the bank answer?", answer: "That is disputed; it took eleven seconds on Monday."},
			{ask: "What is the timeout for one call to the bank?", answer: "Five seconds, see bank.Timeout."},
			{ask: "How do I roll a release of payments back?", answer: "Deploy the tag before; the playbook says how."},
			{ask: "When may we deploy?", answer: "On weekdays before three."},
			{ask: "Format everything.", run: "gofmt -l .", printed: "Exit code: 0\nOutput:\n", answer: "Nothing to change."},
			{ask: "Thank you", answer: "Gladly."},
		}},
		{"settlement", "", "s-settlement", builder, "payments", 30 * time.Hour, []said{
			{ask: "What do the auditors want from settlement?", answer: "One every hour."},
			{ask: "What blocks settlement?", answer: "The auditors, until a week was reconciled."},
			{ask: "What is the exporter's format?", answer: "One line for each settled transfer, sorted by reference."},
			{ask: "Which rules hold for the ledger?", answer: "Nothing writes to it but ledger.Post."},
			{ask: "May amounts be floats?", answer: "No, whole cents in an int64."},
			{ask: "Refunds of which size does Ana approve?", answer: "Of more than 1,000 euros."},
			{ask: "continue", answer: "The exporter is next."},
		}},
		{"hostile", "", hostileSession, hostileAgent, hostileProject, 20 * time.Hour, []said{
			{ask: "Is a retry of the bank unsafe? " + script + image, answer: vector + fake},
			{ask: "What is known of the ledger? " + cell, answer: script},
			{ask: bidi + unseen + raw + " payments?", answer: image},
		}},
		{"today", "", "s-today", reviewer, "payments", 90 * time.Minute, []said{
			{ask: "How often do we retry calls to the bank, and how long are the pauses?", answer: "Three times; ten seconds, then twice as long."},
			{ask: "For how long are refunds possible?", answer: "For 90 days after the transfer."},
			{ask: "Is that right? The code says thirty.", answer: "handler.MaxRefundDays is 30, so what I was told is wrong."},
			{ask: "Which decision governs retry.Backoff?", answer: "ADR-0005."},
			{ask: "Who must approve a refund?", answer: "Ana, if it is more than 1,000 euros."},
			{ask: "great, thanks", answer: "Gladly."},
		}},
		{"bob", Bob, "s-" + BobWord, "agent-bob", "payments", 26 * time.Hour, []said{
			{ask: "How often are calls to the bank made for " + BobWord + "?", answer: "Seven times."},
			{ask: "When do deploys of " + BobWord + " go out?", answer: "On Sundays."},
		}},
	}
}
