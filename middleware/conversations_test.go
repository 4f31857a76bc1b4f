package middleware_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/code/objective"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/middleware"
)

// fieldsOf reads a table of testdata: fields apart by tabs, comments left out.
func fieldsOf(t testing.TB, name string) (out [][]string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			out = append(out, strings.Split(line, "\t"))
		}
	}
	return out
}

// firstSession states a fact in session s-1 of a program, in a folder with the given
// number of files, and ends the session.
func firstSession(t *testing.T, statement string, files int) (root string) {
	root = t.TempDir()
	for i := range files {
		text := fmt.Sprintf("# Part %d\n\nPart %d of the project reads its input, checks it and hands it on.\n", i, i)
		if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("part%d.md", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := nextStart(t, root)
	c := converse(t, l, serve(t, "Noted."), ken.Turn{Session: "s-1"})
	c.ask(statement, false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return root
}

// nextStart opens the project once more. The files are not indexed before Refresh.
func nextStart(t *testing.T, root string, change ...func(*config.Config)) *middleware.Layer {
	t.Helper()
	c := settings(change...)
	c.Repository.Index = true
	return open(t, c, func(o *middleware.Options) { o.Root = root })
}

// onlyAsked asks without a trace, so that one question does not help the next one.
func onlyAsked(c *config.Config) {
	c.Middleware.Journal, c.Middleware.Harvest, c.Injection.Sticky = false, false, false
}

// A statement is found at the next start, with the same session name or another one,
// before and after the files are indexed, in a folder with few files or many. Some
// programs use one session name for ever.
func TestTheNextStartRemembers(t *testing.T) {
	race.SkipLong(t)
	pairs := fieldsOf(t, "remembered.tsv")
	if len(pairs) < 60 {
		t.Fatalf("%d pairs", len(pairs))
	}
	layers := map[string]*middleware.Layer{}
	for _, indexed := range []bool{false, true} {
		missed := 0
		for i, p := range pairs {
			l := layers[p[0]]
			if l == nil {
				files := 1
				if i == 0 {
					files = 1000
				} else if i < 8 {
					files = 40
				}
				l = nextStart(t, firstSession(t, p[0], files), onlyAsked)
				layers[p[0]] = l
			}
			if indexed {
				if _, err := l.Refresh(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
			}
			for _, session := range []string{"s-1", "s-2", ""} {
				r := l.Assemble(t.Context(), ken.Turn{Session: session, Messages: []ken.Message{{Role: "user", Text: p[1]}}}).Receipt
				if !strings.Contains(r.Block, p[2]) {
					missed++
					t.Errorf("%s\nis not known when session %q asks %q, files indexed: %v\nblock %s\ncut %v", p[0], session, p[1], indexed, r.Block, r.Cut)
				}
			}
		}
		t.Logf("missed %d of %d, files indexed: %v", missed, 3*len(pairs), indexed)
	}
}

// A start with the same session name gets the same as one with another name, and small
// talk gets nothing.
func TestTheNextStartIsToldNoMoreThanAnother(t *testing.T) {
	l := nextStart(t, firstSession(t, "We decided to use PostgreSQL 15 for the ledger service.", 1), onlyAsked)
	for _, m := range fieldsOf(t, "unasked.tsv") {
		block := func(session string) string {
			return l.Assemble(t.Context(), ken.Turn{Session: session, Messages: []ken.Message{{Role: "user", Text: m[0]}}}).Receipt.Block
		}
		if same, other := block("s-1"), block("s-2"); same != other {
			t.Errorf("%s: the same session is told\n%s\nanother one\n%s", m[0], same, other)
		}
	}
	for _, m := range []string{"thanks!", "ok", "hello", "yes please", "cheers", "sounds good"} {
		if r := l.Assemble(t.Context(), ken.Turn{Session: "s-1", Messages: []ken.Message{{Role: "user", Text: m}}}).Receipt; r.Block != "" {
			t.Errorf("%s: %s", m, r.Block)
		}
	}
}

// A conversation that begins under an old session name gets the digest of the earlier
// session once, with the first message that asks something. Later it does not get a
// digest of itself. A conversation that has its session's past gets none.
func TestOwnPastIsNewsToAConversationThatLacksIt(t *testing.T) {
	const statement, answer = "The mailer uses SES.", "Noted."
	root := firstSession(t, statement, 1)
	user := func(text string) ken.Message { return ken.Message{Role: "user", Text: text} }
	assistant := func(text string) ken.Message { return ken.Message{Role: "assistant", Text: text} }
	said := func(l *middleware.Layer, msgs ...ken.Message) (text string) {
		for _, ins := range l.Assemble(t.Context(), ken.Turn{Session: "s-1", Messages: msgs}).Insertions {
			text += ins.Text
		}
		return text
	}
	l := nextStart(t, root)
	fresh := []ken.Message{user("thanks!"), assistant("You're welcome."), user("What provider delivers our post?"), assistant("SES."), user("And which region does it send from?")}
	if text := said(l, fresh[:1]...); text != "" {
		t.Errorf("small talk is told %s", text)
	}
	for n := 3; n <= len(fresh); n += 2 {
		if text := said(l, fresh[:n]...); strings.Count(text, statement) == 0 || strings.Count(text, "| session s-1 |") != 1 {
			t.Errorf("%d messages: the past is not told once:\n%s", n, text)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	l = nextStart(t, root)
	held := []ken.Message{user(statement), assistant(answer), user("What is the boiling point of water?")}
	if text := said(l, held...); strings.Contains(text, "Goal: "+statement) {
		t.Errorf("a conversation that holds its past is told of it:\n%s", text)
	}
	if text := said(l, append([]ken.Message{user("Let us begin with something else.")}, held[1:]...)...); !strings.Contains(text, statement) {
		t.Errorf("one that lacks it is not, after a start in its middle:\n%s", text)
	}
}

// "continue" asks for nothing that could be looked up, and still means something in
// a new session: the one before it.
func TestANewSessionThatGoesOnIsToldWhereTheLastOneStopped(t *testing.T) {
	l := open(t, nil)
	learn(t, l, ken.Claim{Kind: ken.KindEpisode, Text: "Goal: move invoices to the ledger.\nStopped at: the backfill of 2025 is still missing.", Session: "monday",
		Confidence: 1, Evidence: []ken.Evidence{ken.FromMessage("monday", "m1", "")}})
	ask := func(text string) ken.Receipt {
		return l.Assemble(t.Context(), ken.Turn{Session: "tuesday", Messages: []ken.Message{{Role: "user", Text: text}}}).Receipt
	}
	if r := ask("continue"); !strings.Contains(r.Block, "backfill of 2025") {
		t.Errorf("continue: %q, %v", r.Block, r.Cut)
	}
	if r := ask("thanks!"); r.Block != "" {
		t.Errorf("thanks: %q", r.Block)
	}
}

// A turn that asks for nothing gets no block, whatever is held in every turn. The next
// message that asks gets it.
func TestSmallTalkGetsNoBlock(t *testing.T) {
	l := open(t, settings())
	if _, err := l.Operator().Objectives().Create(t.Context(), objective.Draft{Title: "Ship the login"}); err != nil {
		t.Fatal(err)
	}
	learn(t, l, ken.Claim{Kind: ken.KindHot, Text: "Answers are in British English.", Confidence: 1,
		Evidence: []ken.Evidence{ken.FromHumanAssertion("ana", time.Now(), "")}})
	learn(t, l, ken.Claim{Kind: ken.KindFact, Constraint: true, Text: "Never name a customer.", Confidence: 1,
		Evidence: []ken.Evidence{ken.FromHumanAssertion("ana", time.Now(), "")}})
	talk := []ken.Message{}
	for _, text := range []string{"hi", "thanks!", "Great, thank you so much.", "ok"} {
		talk = append(talk, ken.Message{Role: "user", Text: text})
		if r := l.Assemble(t.Context(), ken.Turn{Session: "s-1", Messages: talk}).Receipt; r.Block != "" {
			t.Errorf("%s: %q", text, r.Block)
		}
		talk = append(talk, ken.Message{Role: "assistant", Text: "You are welcome."})
	}
	talk = append(talk, ken.Message{Role: "user", Text: "How should the release notes be written?"})
	r := l.Assemble(t.Context(), ken.Turn{Session: "s-1", Messages: talk}).Receipt
	for _, want := range []string{"British English", "Ship the login", "Never name a customer"} {
		if !strings.Contains(r.Block, want) {
			t.Errorf("%q is missing: %q", want, r.Block)
		}
	}
}

// A conversation that was compacted and continues in another process gets its focus
// back: the entities and their present rules, although no message names them again.
func TestACompactedSessionHasItsStructureBack(t *testing.T) {
	root := t.TempDir()
	l := openWithin(t, root)
	ids := learn(t, l, humanClaim(t, "Never deploy the payments service on a Friday."), humanClaim(t, "The payments service must be frozen in December."),
		fact(t, "The warehouse service must count twice."))
	c := converse(t, l, serve(t, "Done."), ken.Turn{Session: "s1"})
	for _, text := range []string{"Let us change how payments are retried.", "Now the limit.", "Now the docs of it.", "Now its tests."} {
		c.ask(text, false)
		c.answered("Done.")
	}
	journaledTexts(t, l, "", "s1")
	cp, ok, err := l.Operator().Journal("").Checkpoint(t.Context(), "s1")
	if err != nil || !ok || len(cp.Focal) == 0 || cp.Focal[0] != "payments" || len(cp.Constraints) != 2 {
		t.Fatalf("checkpoint %+v, %v, %v", cp, ok, err)
	}
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Transition(t.Context(), ken.Transition{ID: ids[1], To: ken.StatusDisputed, Reason: "that was last year"}); err != nil {
		t.Fatal(err)
	}
	release()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	l = openWithin(t, root)
	a := l.Assemble(t.Context(), ken.Turn{Session: "s1", Messages: []ken.Message{{Role: "user", Text: "Summary: some parts are done."},
		{Role: "assistant", Text: "Understood."}, {Role: "user", Text: "Where were we with all of this?"}}})
	block := a.Receipt.Block
	for _, want := range []string{"Where this session stands\nFocus: payments", "on a Friday"} {
		if !strings.Contains(block, want) {
			t.Errorf("%q is missing:\n%s", want, block)
		}
	}
	for _, not := range []string{"December", "warehouse"} {
		if strings.Contains(block, not) {
			t.Errorf("%q is in:\n%s", not, block)
		}
	}
	if n := strings.Count(block, "on a Friday"); n != 1 {
		t.Errorf("the rule is there %d times:\n%s", n, block)
	}
}
