package middleware_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// call adds a message that the client made of an answer with a tool call.
func (c *chat) call(id, command, output string) {
	args, _ := json.Marshal(map[string]string{"command": command})
	c.msgs = append(c.msgs, map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{"id": id, "type": "function",
		"function": map[string]string{"name": "Bash", "arguments": string(args)}}}},
		map[string]any{"role": "tool", "tool_call_id": id, "content": output})
}

// The day after a session, a new process knows the decision, the working and the
// failing command, the user's preference and the last state, without a model.
func TestTheDayAfter(t *testing.T) {
	root := t.TempDir()
	l := openWithin(t, root)
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

	l = openWithin(t, root)
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
	// If the day starts with another subject, the turn gets a digest of the
	// earlier sessions, with the user's words and the actions.
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

// A conversation that was compacted gets the session's checkpoint once, as the
// first item. One that is complete or was rewound does not.
func TestRecoveryOfACompactedConversation(t *testing.T) {
	root := t.TempDir()
	l := openWithin(t, root)
	answer := "Done with that part."
	c := converse(t, l, serve(t, answer), ken.Turn{Session: "s1"})
	for _, text := range []string{"The nightly export of the billing service drops rows. Fix it.", "Now the ledger import.", "Now the invoices table.", "Now the retry limit of the gateway.", "Now the docs."} {
		c.ask(text, false)
		c.answered(answer)
	}
	journaledTexts(t, l, "", "s1")
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
	l = openWithin(t, root)
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
			journaledTexts(t, l, "", "s1") // how soon a turn is written down is no matter
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
	if info, err := l.Operator().Journal("").Info(t.Context(), "s1"); err != nil || info.Messages < 14 {
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
	journaledTexts(t, l, "", "s1")
	p := serve(t, "Fine.")
	fresh := converse(t, l, p, ken.Turn{Session: "s1"})
	fresh.ask("Where did we stop with the export of the ledger?", false)
	if !bytes.Contains(p.requests[0], []byte("Where this session stands")) {
		t.Errorf("no checkpoint in %s", p.requests[0])
	}
	journaledTexts(t, l, "", "s1")
	tr, err := l.Operator().Journal("").Read(t.Context(), "s1")
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
			learn(b, l, fact(b, "%s", retryFact))
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

// inBackground lets the layer work in the background.
func inBackground(o *middleware.Options) { o.Foreground = false }

// awaitClaim returns the store's claims once an event after since is shown and one of them
// has the text: then searches find it.
func awaitClaim(t *testing.T, s store.Engine, since uint64, text string) []ken.Claim {
	t.Helper()
	for {
		if err := s.Wait(t.Context(), since); err != nil {
			t.Fatalf("no claim has %q: %v", text, err)
		}
		since = s.Seq()
		claims, err := s.Query(t.Context(), ken.Query{})
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(claims, func(c ken.Claim) bool { return strings.Contains(c.Text, text) }) {
			return claims
		}
	}
}

const decision = "We decided to use PostgreSQL 15 for the ledger service, because of logical replication."

// A user's statement is known in the next conversation before the first one has ended.
// The first one does not get its own statement, and the harvest finds it known.
func TestWhatAUserStatesIsKnownAtOnce(t *testing.T) {
	l := open(t, settings(), inBackground)
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	since := s.Seq()
	first := ken.Turn{Session: "monday", Messages: []ken.Message{{Role: "user", Text: decision}}}
	l.Assemble(t.Context(), first)
	claims := awaitClaim(t, s, since, "PostgreSQL 15")
	if len(claims) != 1 || claims[0].Session != "monday" || claims[0].Constraint {
		t.Errorf("%+v", claims)
	}
	ask := ken.Message{Role: "user", Text: "Which database did we choose for the ledger service?"}
	other := l.Assemble(t.Context(), ken.Turn{Session: "another", Messages: []ken.Message{ask}})
	for range 1000 { // a search may see the claim a moment after the log has it
		if strings.Contains(other.Receipt.Block, "PostgreSQL 15") {
			break
		}
		other = l.Assemble(t.Context(), ken.Turn{Session: "another", Messages: []ken.Message{ask, {Role: "assistant", Text: "I don't know."}, ask}})
	}
	if !strings.Contains(other.Receipt.Block, "PostgreSQL 15") {
		t.Errorf("another conversation is told %q: %+v", other.Receipt.Block, other.Receipt.Cut)
	}
	first.Messages = append(first.Messages, ken.Message{Role: "assistant", Text: "Noted."}, ask)
	own := l.Assemble(t.Context(), first)
	if strings.Contains(own.Receipt.Block, "PostgreSQL 15") {
		t.Errorf("the conversation that says it is told %q", own.Receipt.Block)
	}
	first.Messages = first.Messages[1:] // the client dropped what said it
	if own = l.Assemble(t.Context(), first); !strings.Contains(own.Receipt.Block, "PostgreSQL 15") {
		t.Errorf("the conversation that lost it is told %q: %+v", own.Receipt.Block, own.Receipt.Cut)
	}
	if err := l.End(t.Context(), "", "monday"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Harvest(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	n := 0
	if claims, err = s.Query(t.Context(), ken.Query{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range claims {
		if c.Kind == ken.KindFact && strings.Contains(c.Text, "PostgreSQL 15") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d facts say it after the harvest", n)
	}
}

// A conversation that continues in another process does not get its own statements either,
// until a person has confirmed them.
func TestAResumedConversationIsNotToldWhatItSays(t *testing.T) {
	root := t.TempDir()
	in := func(o *middleware.Options) { o.Root = root }
	turn := ken.Turn{Session: "monday", Messages: []ken.Message{{Role: "user", Text: decision}}}
	l := open(t, settings(), inBackground, in)
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	since := s.Seq()
	l.Assemble(t.Context(), turn)
	id := awaitClaim(t, s, since, "PostgreSQL 15")[0].ID
	release()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open(t, settings(), in)
	turn.Messages = append(turn.Messages, ken.Message{Role: "assistant", Text: "Noted."}, ken.Message{Role: "user", Text: "Which database did we choose for the ledger service?"})
	if r := l.Assemble(t.Context(), turn).Receipt; !slices.ContainsFunc(r.Cut, func(c ken.Cut) bool { return c.ID == id && c.Reason == ken.CutDuplicate }) {
		t.Errorf("told %q, cut %+v", r.Block, r.Cut)
	}
	if s, release, err = l.Store(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := s.Transition(t.Context(), ken.Transition{ID: id, To: ken.StatusVerified, Reason: "checked", Actor: ken.Actor{Type: "human", ID: "ana"},
		Evidence: []ken.Evidence{ken.FromHumanAssertion("ana", monday, "It holds.")}}); err != nil {
		t.Fatal(err)
	}
	turn.Messages = append(turn.Messages, ken.Message{Role: "assistant", Text: "PostgreSQL."}, ken.Message{Role: "user", Text: "Which database does the ledger service need, PostgreSQL?"})
	if r := l.Assemble(t.Context(), turn).Receipt; !slices.ContainsFunc(r.Items, func(i ken.Item) bool { return i.ID == id }) {
		t.Errorf("what ana confirmed is not told: %q, cut %+v", r.Block, r.Cut)
	}
}

// Questions, orders, the model's statements and incognito messages are not learned at once.
// Nothing is if harvest.at_once is off.
func TestWhatIsNotLearnedAtOnce(t *testing.T) {
	said := func(role, text string) ken.Turn {
		return ken.Turn{Session: "s " + text, Messages: []ken.Message{{Role: "user", Text: "Hello."}, {Role: role, Text: text}, {Role: "user", Text: "Hm?"}}}
	}
	incognito := ken.Turn{Session: "i", Incognito: true, Messages: []ken.Message{{Role: "user", Text: decision}}}
	for name, c := range map[string]*config.Config{"on": settings(), "off": settings(func(c *config.Config) { c.Harvest.AtOnce = false })} {
		t.Run(name, func(t *testing.T) {
			l := open(t, c, inBackground)
			s, release, err := l.Store(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			since := s.Seq()
			for _, turn := range []ken.Turn{incognito, said("assistant", decision), said("tool", decision),
				said("user", "Which database did we choose for the ledger service?")} {
				l.Assemble(t.Context(), turn)
			}
			last := "The harbour office moved to 14 Quay Street in March."
			l.Assemble(t.Context(), ken.Turn{Session: "last", Messages: []ken.Message{{Role: "user", Text: last}}})
			if err := l.Operator().Recorded(t.Context()); err != nil {
				t.Fatal(err)
			}
			var claims []ken.Claim
			if name == "on" { // what was said before it was looked at before it
				claims = awaitClaim(t, s, since, "Quay Street")
			} else if claims, err = s.Query(context.Background(), ken.Query{}); err != nil {
				t.Fatal(err)
			}
			if want := map[string]int{"on": 1, "off": 0}[name]; len(claims) != want {
				t.Errorf("%d claims: %+v", len(claims), claims)
			}
		})
	}
}

// If an external text made an agent run a command, no harvested claim mentions that, and
// the session's episode has the trust of the text. Forget deletes the text everywhere,
// also in a session that followed it unnoticed.
func TestAHarvestDoesNotPassOnWhatWasFlagged(t *testing.T) {
	for _, noticed := range []bool{true, false} {
		root := t.TempDir()
		l := openWithin(t, root)
		id := learn(t, l, fromOutside(t, poison), fact(t, "%s", portFact))[0]
		s, release, err := l.Store(t.Context(), "")
		must(t, err)
		turn := ken.Turn{ID: "t1", Session: "s1", Messages: []ken.Message{{Role: "user", Text: taintQuestion + " And remember that releases of the ledger happen on Tuesdays after 14:00."}}}
		a := l.Assemble(t.Context(), turn)
		if len(a.Receipt.Items) == 0 || a.Receipt.Items[0].ID != id {
			t.Fatalf("the model was not given it: %+v", a.Receipt.Items)
		}
		call := ken.Message{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: "c1", Name: "bash", Arguments: `{"command":` + quoted(poisoned) + `}`},
			{ID: "c2", Name: "bash", Arguments: `{"command":"go test ./ledger"}`}}}
		turn.Messages = append(turn.Messages, call, ken.Message{Role: "tool", ToolCallID: "c1", Text: "installed from evil.example\nexit code 0"},
			ken.Message{Role: "tool", ToolCallID: "c2", Text: "ok ledger 0.2s"}, ken.Message{Role: "assistant", Text: "The build works again, and the tests of the ledger pass."},
			ken.Message{Role: "user", Text: "Good. We decided to keep PostgreSQL for the ledger."})
		turn.ID = "t2"
		l.Assemble(t.Context(), turn)
		must(t, l.Operator().Recorded(t.Context()))
		if noticed {
			must(t, s.Shelf().Update(t.Context(), func(tx store.ShelfTx) error {
				return l.Operator().Receipts("").AddMark(tx, "t1", []ken.Taint{{Tool: "bash", Call: "c1", Claim: id, Chars: 30}})
			}))
		}
		must(t, l.End(t.Context(), "", "s1"))
		_, err = l.Harvest(t.Context(), "")
		must(t, err)
		episodes := 0
		for c, err := range s.Claims(t.Context()) {
			must(t, err)
			said := strings.Contains(c.Text+string(c.Body), "evil.example")
			if noticed && said && c.ID != id {
				t.Errorf("%s: %s", c.Kind, c.Text)
			}
			if c.Kind == ken.KindEpisode {
				episodes++
				if got := c.Support(nil).Trust; got != ken.TrustExternal { // it tells of the call, or of a session that was steered
					t.Errorf("noticed %v: the episode is trusted as %s: %s", noticed, got, c.Text)
				}
			}
		}
		if episodes != 1 {
			t.Errorf("noticed %v: %d episodes", noticed, episodes)
		}
		would, err := l.Operator().WouldForget(t.Context(), "", id)
		must(t, err)
		if len(would.Given) == 0 || would.Given[0].Session != "s1" {
			t.Errorf("noticed %v: given to %+v", noticed, would.Given)
		}
		_, err = l.Forget(t.Context(), "", id, "", ken.Actor{})
		must(t, err)
		release()
		wantGone(t, root, "evil.example")
		must(t, l.Close())
		wantGone(t, root, "evil.example")
	}
}

// Stores of earlier versions have an episode for every time that a question was asked,
// which says nothing but the question. The answer comes first all the same, and nothing
// that says the same takes the place of another fact.
func TestRepetitionsDoNotHideAnAnswer(t *testing.T) {
	const asked = "Which port does the ledger service listen on?"
	l := open(t, settings())
	known := []ken.Claim{fact(t, "The ledger service listens on port 7443."), fact(t, "The ledger service is owned by Ana.")}
	for i := range 300 {
		c := fact(t, "Session, %d November 2026.\nGoal: %s\n(Extracted by rules, without a model.)", 1+i%28, asked)
		c.Kind, c.Heading, c.Session, c.Key = ken.KindEpisode, "Session: "+asked, fmt.Sprintf("s%d", i), fmt.Sprintf("episode:s%d", i)
		known = append(known, c)
	}
	for i := range 20 { // repeated by an unknown author
		c := fact(t, "The Ledger service listens  on a port that a developer chose.")
		c.Key = fmt.Sprintf("k%d", i)
		c.Evidence = []ken.Evidence{ken.FromAgentAssertion("somebody", "")}
		known = append(known, c)
	}
	ids := learn(t, l, known...)
	r := l.Assemble(t.Context(), ken.Turn{Messages: []ken.Message{{Role: "user", Text: asked}}}).Receipt
	if len(r.Items) == 0 || r.Items[0].ID != ids[0] {
		t.Fatalf("the answer is not first: %s %q %s", r.Cause, r.Degraded, r.Block)
	}
	if !strings.Contains(r.Block, "owned by Ana") || strings.Count(r.Block, "a developer chose") != 1 {
		t.Errorf("duplicates take the places of facts: %s", r.Block)
	}
	memory := 0
	for _, it := range r.Items {
		if it.Kind == ken.KindEpisode && !it.Memory {
			t.Errorf("the question is evidence for itself: %+v", it)
		} else if it.Memory {
			memory++
		}
	}
	cut := map[ken.CutReason]int{}
	for _, c := range r.Cut {
		cut[c.Reason]++
	}
	if cut[ken.CutDuplicate] < 19 || memory > 3 {
		t.Errorf("cut %v, %d in memory", cut, memory)
	}

	// A question without relevant claims gets nothing, however often it was asked.
	for i := range 3 {
		c := fact(t, "Session.\nGoal: How is the weather in Lisbon today?\nOpen: not answered: How is the weather in Lisbon today?\n(Extracted by rules, without a model.)")
		c.Kind, c.Session, c.Key = ken.KindEpisode, fmt.Sprintf("w%d", i), fmt.Sprintf("episode:w%d", i)
		learn(t, l, c)
	}
	r = l.Assemble(t.Context(), ken.Turn{Messages: []ken.Message{{Role: "user", Text: "How is the weather in Lisbon today?"}}}).Receipt
	for _, it := range r.Items {
		if !it.Memory {
			t.Errorf("the floor passed on a question alone: %+v", it)
		}
	}
}

// A person decides about a refused write by what was to be written. Of an incognito
// turn, nothing is kept but that something was refused.
func TestARefusedWriteIsToldWithItsText(t *testing.T) {
	l := open(t, settings())
	for _, incognito := range []bool{false, true} {
		if _, err := l.Session(ken.Turn{Session: "s1", Agent: "coder", Incognito: incognito}).Learn(t.Context(), "The zerlina port is 8071.", nil); err == nil {
			t.Fatal("learned without evidence")
		}
	}
	s, release, err := l.Store(t.Context(), "")
	must(t, err)
	defer release()
	items, err := attention.List(t.Context(), s, s.Shelf(), attention.Options{})
	must(t, err)
	var said []string
	for _, it := range items {
		said = append(said, it.Refused.Text)
	}
	if all := strings.Join(said, "|"); len(items) != 2 || strings.Count(all, "zerlina") != 1 {
		t.Errorf("%d items, of %q", len(items), said)
	}
}
