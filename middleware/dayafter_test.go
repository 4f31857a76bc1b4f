package middleware_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/middleware"
)

// call adds a message that the client made of an answer with a tool call.
func (c *chat) call(id, command, output string) {
	args, _ := json.Marshal(map[string]string{"command": command})
	c.msgs = append(c.msgs, map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{"id": id, "type": "function",
		"function": map[string]string{"name": "Bash", "arguments": string(args)}}}},
		map[string]any{"role": "tool", "tool_call_id": id, "content": output})
}

// The day after a session, a new process knows without a model what was decided,
// which command works here and which keeps failing, what the user prefers, and
// where it stopped.
func TestTheDayAfter(t *testing.T) {
	root := t.TempDir()
	l := within(t, root)
	const stopped = "The rows are streamed now.\n\nNext steps:\n- add a test for an empty customer list"
	c := converse(t, l, serve(t, "I'll look at the export.", "Noted, PostgreSQL it is.", "Tabs it is.", stopped), ken.Turn{Session: "monday", Project: "billing"})
	c.ask("The nightly export of the billing service drops rows. Find out why and fix it.", true)
	c.answered("I'll look at the export.")
	for i := range 3 {
		c.call(fmt.Sprintf("l%d", i), "make lint", "golangci-lint: command not found\nmake: *** [lint] Error 127\nexit code: 2")
	}
	c.call("t1", "go test ./billing/...", "ok  \texample.com/billing\t0.201s\n[exit code: 0]")
	c.ask("We decided to drop Oracle and keep PostgreSQL 16, because nobody can run Oracle locally.", false)
	c.answered("Noted, PostgreSQL it is.")
	c.ask("I prefer tabs over spaces in SQL files.", false)
	c.answered("Tabs it is.")
	c.ask("Good. Where are we?", true)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	l = within(t, root)
	for question, want := range map[string]string{
		"Which database did we decide on, Oracle or PostgreSQL?":              "keep PostgreSQL 16",
		"Should I indent this SQL file with tabs or spaces?":                  "tabs over spaces",
		"How do I run the linter here, does make lint work?":                  "make lint",
		"How do I run the tests of billing?":                                  "go test ./billing/...",
		"Where did we stop with the nightly export of billing, what is next?": "empty customer list",
	} {
		r := l.Assemble(t.Context(), ken.Turn{Session: "tuesday", Project: "billing", Messages: []ken.Message{{Role: "user", Text: question}}}).Receipt
		if !strings.Contains(r.Block, want) {
			t.Errorf("%s\nlacks %q:\n%s", question, want, r.Block)
		}
	}
	// A day that starts with anything else is told of the sessions before, in the
	// user's words and by what was done.
	r := l.Assemble(t.Context(), ken.Turn{Session: "wednesday", Project: "billing", Messages: []ken.Message{{Role: "user", Text: "Let us write the release notes for June."}}}).Receipt
	if !strings.Contains(r.Block, "nightly export") {
		t.Errorf("no digest of the session before:\n%s", r.Block)
	}
	for _, prose := range []string{"I'll look at the export", "it is."} {
		if strings.Contains(r.Block, prose) {
			t.Errorf("the assistant's words %q are in the digest:\n%s", prose, r.Block)
		}
	}
}

// A conversation that was compacted is told once where the session stands, first of
// all; one that is whole, or was wound back, is not.
func TestRecoveryOfACompactedConversation(t *testing.T) {
	root := t.TempDir()
	l := within(t, root)
	answer := "Done with that part."
	c := converse(t, l, serve(t, answer), ken.Turn{Session: "s1"})
	for _, text := range []string{"The nightly export of the billing service drops rows. Fix it.", "Now the ledger import.", "Now the invoices table.", "Now the retry limit of the gateway.", "Now the docs."} {
		c.ask(text, false)
		c.answered(answer)
	}
	userText(t, l, "", "s1")
	stands := func(l *middleware.Layer, msgs ...ken.Message) (insertions int, text string) {
		a := l.Assemble(t.Context(), ken.Turn{Session: "s1", Messages: msgs})
		for _, ins := range a.Insertions {
			text += ins.Text
		}
		return strings.Count(text, "Where this session stands"), text
	}
	user := func(text string) ken.Message { return ken.Message{Role: "user", Text: text} }
	assistant := func(text string) ken.Message { return ken.Message{Role: "assistant", Text: text} }
	wholly := []ken.Message{user("The nightly export of the billing service drops rows. Fix it."), assistant(answer), user("Now the ledger import."), assistant(answer),
		user("Now the invoices table."), assistant(answer), user("Now the retry limit of the gateway."), assistant(answer), user("Now the docs."), assistant(answer), user("And now the tests.")}
	if n, text := stands(l, wholly...); n != 0 {
		t.Errorf("a whole conversation is told where it stands: %s", text)
	}
	if n, text := stands(l, wholly[0], wholly[1], user("No, the other import.")); n != 0 {
		t.Errorf("one that was wound back is told where it stands: %s", text)
	}
	compacted := []ken.Message{user("Summary of the conversation so far: several parts are done."), assistant("Understood."), user("Carry on with the tests.")}
	n, text := stands(l, compacted...)
	if n != 1 || !strings.Contains(text, "Goal: Now the ledger import.") {
		t.Errorf("a compacted one: %d times, %s", n, text)
	}
	if at := strings.Index(text, "Where this session stands"); strings.Count(text[:max(at, 0)], "memory |") != 1 {
		t.Errorf("it is not the first of the memory part: %s", text)
	}
	next := append(compacted, assistant("Sure."), user("And the docs?"))
	if n, text := stands(l, next...); n != 1 {
		t.Errorf("its next turn is told %d times: %s", n, text)
	}
	// Resumed by another process, without its past.
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = within(t, root)
	if n, text := stands(l, user("Where were we with all of this?")); n != 1 || !strings.Contains(text, "Goal: Now the ledger import.") {
		t.Errorf("resumed: %d times, %s", n, text)
	}
}

// A bad day of the model is no cut: questions that got no answer are in the journal,
// and no longer in the conversation.
func TestUnansweredQuestionsAreNoCut(t *testing.T) {
	l := open(t, settings())
	answer := "Done with that part."
	p := serve(t, answer)
	c := converse(t, l, p, ken.Turn{Session: "s1"})
	for part := range 3 {
		for try := range 4 {
			c.ask(fmt.Sprintf("Part %d, try %d.", part, try), false)
			userText(t, l, "", "s1") // how soon a turn is written down is no matter
			if try < 3 {
				c.msgs = c.msgs[:len(c.msgs)-1]
			}
		}
		c.answered(answer)
	}
	for i, request := range p.requests {
		if bytes.Contains(request, []byte("Where this session stands")) {
			t.Fatalf("request %d is told where the session stands: %s", i, request)
		}
	}
	if info, err := l.Journal("").Info(t.Context(), "s1"); err != nil || info.Messages < 14 {
		t.Errorf("the journal has %d messages, %v", info.Messages, err)
	}
}

// The checkpoint is no knowledge: what it repeats of the session's own words can
// still be learned.
func TestACheckpointIsNoEcho(t *testing.T) {
	l := open(t, settings())
	c := converse(t, l, serve(t, "Noted."), ken.Turn{Session: "s1"})
	c.ask("Remember that deploys of the ledger happen on Tuesdays after 14:00.", false)
	for range 4 {
		c.answered("Noted.")
		c.ask("Go on, please, with the export of the ledger.", false)
	}
	userText(t, l, "", "s1")
	p := serve(t, "Fine.")
	fresh := converse(t, l, p, ken.Turn{Session: "s1"})
	fresh.ask("Where did we stop with the export of the ledger?", false)
	if !bytes.Contains(p.requests[0], []byte("Where this session stands")) {
		t.Errorf("no checkpoint in %s", p.requests[0])
	}
	userText(t, l, "", "s1")
	tr, err := l.Journal("").Read(t.Context(), "s1")
	if err != nil || len(tr.Injected) != 0 {
		t.Errorf("%+v, %v", tr.Injected, err)
	}
}

// BenchmarkAssembleAndJournal is a turn of a conversation of 40 messages that grows
// by two, with and without the journal: what the turn waits for.
func BenchmarkAssembleAndJournal(b *testing.B) {
	for _, on := range []bool{false, true} {
		b.Run(fmt.Sprintf("journal=%v", on), func(b *testing.B) {
			l := open(b, settings(func(c *config.Config) { c.Middleware.Journal, c.Middleware.Harvest = on, false }))
			learn(b, l, fact(b, "%s", about))
			var msgs []ken.Message
			n := 0
			for b.Loop() {
				if len(msgs) == 0 || len(msgs) > 80 {
					n++
					msgs = msgs[:0]
					for i := range 20 {
						msgs = append(msgs, ken.Message{Role: "user", Text: fmt.Sprintf("Part %d of conversation %d.", i, n)}, ken.Message{Role: "assistant", Text: fmt.Sprintf("Done %d.", i)})
					}
				}
				msgs = append(msgs, ken.Message{Role: "user", Text: fmt.Sprintf("%s Part %d.", question, len(msgs))})
				l.Assemble(b.Context(), ken.Turn{Session: fmt.Sprintf("s%d", n), Messages: msgs})
				msgs = append(msgs, ken.Message{Role: "assistant", Text: fmt.Sprintf("Three times %d.", len(msgs))})
			}
		})
	}
}
