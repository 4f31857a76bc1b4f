package middleware_test

import (
	"strings"
	"testing"

	"github.com/kenlayer/ken"
)

// A conversation that was compacted, and goes on in another process, has back what it
// was working in: the entities in focus, and their rules as they are now, without
// anybody naming them again.
func TestACompactedSessionHasItsStructureBack(t *testing.T) {
	root := t.TempDir()
	l := within(t, root)
	ids := learn(t, l, told(t, "Never deploy the payments service on a Friday."), told(t, "The payments service must be frozen in December."),
		fact(t, "The warehouse service must count twice."))
	c := converse(t, l, serve(t, "Done."), ken.Turn{Session: "s1"})
	for _, text := range []string{"Let us change how payments are retried.", "Now the limit.", "Now the docs of it.", "Now its tests."} {
		c.ask(text, false)
		c.answered("Done.")
	}
	userText(t, l, "", "s1")
	cp, ok, err := l.Journal("").Checkpoint(t.Context(), "s1")
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

	l = within(t, root)
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
