package tools_test

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/tools"
)

func (k *kit) learned(text string) string {
	k.Helper()
	var got tools.LearnResult
	k.call(&got, "knowledge_learn", `{"claim":"`+text+`","evidence":[{"kind":"agent_assertion"}]}`)
	if got.Outcome != "learned" {
		k.Fatalf("%s: %+v", text, got)
	}
	return got.ID
}

// An agent's word, however often and in whatever form, verifies nothing.
func TestAnAgentCantVerifyByItsWord(t *testing.T) {
	k := newKit(t)
	id := k.learned("The ledger closes at noon.")
	for _, evidence := range []string{
		``,
		`{"kind":"agent_assertion"},{"kind":"agent_assertion","detail":"really"}`,
		`{"kind":"user_statement"},{"kind":"message"},{"kind":"model_inference"}`,
		`{"kind":"exit_code","command":"go test ./...","exit_code":0},{"kind":"exit_code","command":"make check","exit_code":0}`,
		`{"kind":"test_result","test":"TestA"},{"kind":"test_result","test":"TestB"}`,
		`{"kind":"tool_result","tool_call_id":"c1"},{"kind":"tool_result","tool_call_id":"c2"}`,
		`{"kind":"url","url":"https://example.org/a"},{"kind":"url","url":"https://example.org/b"}`,
	} {
		var got tools.VerifyResult
		k.call(&got, "knowledge_verify", `{"id":"`+id+`","evidence":[`+evidence+`]}`)
		if got.Verified || got.Tier == "Verified" || got.Hard != 0 || len(got.Missing) == 0 {
			t.Errorf("%s: %+v", evidence, got)
		}
		if !strings.Contains(strings.Join(got.Missing, "\n"), "2 more distinct pieces of hard evidence") {
			t.Errorf("missing: %q", got.Missing)
		}
	}
	k.fails(ken.CodeInvalid, "knowledge_verify", `{"id":"`+id+`","evidence":[{"kind":"human_assertion","detail":"I am the operator"}]}`)
	if c := k.claim(id); c.Status != ken.StatusObserved || c.Support(nil).Trust != ken.TrustAgent {
		t.Errorf("it has become %+v", c)
	}
}

// What Ken has seen run in the session is hard evidence, taken as it was seen.
func TestVerifyByWhatWasSeen(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	k := newKit(t)
	sha := commit(t, k.layer.Root())
	id := k.learned("The payments service retries a failed transfer three times.")
	msgs := []ken.Message{user("Run the tests of payments.")}
	msgs = append(msgs, ran("c1", "go test ./payments/...", "Exit code: 0\nOutput:\nok  \tgithub.com/acme/payments\t0.31s\n")...)
	msgs = append(msgs, ran("c2", "make lint", "Exit code: 2\nOutput:\nlint failed\n")...)
	msgs = append(msgs, ran("c3", "true", "Exit code: 0\nOutput:\n")...)
	k.says(msgs...)
	var got tools.VerifyResult
	verify := func(evidence string) tools.VerifyResult {
		got = tools.VerifyResult{}
		k.call(&got, "knowledge_verify", `{"id":"`+id[len(id)-8:]+`","evidence":[`+evidence+`]}`)
		return got
	}
	if verify(`{"kind":"exit_code","command":"make lint","exit_code":0}`); got.Added != 0 || len(got.Notes) == 0 || !strings.Contains(got.Notes[0], "exit with 2, not 0") {
		t.Errorf("a lie about an exit code: %+v", got)
	}
	if verify(`{"kind":"exit_code","command":"true"}`); got.Hard != 0 {
		t.Errorf("a command that proves nothing: %+v", got)
	}
	if verify(`{"kind":"exit_code","command":"go test  ./payments/..."}`); got.Verified || got.Hard != 1 || got.Tier != "Inferred" {
		t.Errorf("one run: %+v", got)
	}
	if verify(`{"kind":"exit_code","command":"go test ./payments/..."}`); got.Verified || got.Hard != 1 || got.Added != 0 {
		t.Errorf("the same run again counts twice: %+v", got)
	}
	if verify(`{"kind":"git_history","commit":"` + sha + `"}`); !got.Verified || got.Tier != "Verified" || got.Status != "verified" {
		t.Errorf("a run and a commit: %+v", got)
	}
	if c := k.claim(id); c.Support(nil).Trust != ken.TrustAgent || slices.ContainsFunc(c.Evidence, func(e ken.Evidence) bool { return e.Kind == ken.EvidenceHumanAssertion }) {
		t.Errorf("it has become %+v", c)
	}
	// Another session has seen nothing run.
	other := k.as(func(c *tools.Caller) { c.Session = "s2" })
	next := other.learned("The lighthouse lamp restarts by itself.")
	other.call(&got, "knowledge_verify", `{"id":"`+next+`","evidence":[{"kind":"exit_code","command":"go test ./payments/..."}]}`)
	if got.Hard != 0 {
		t.Errorf("another session's run: %+v", got)
	}
}

// Two commits are easily cited; without a run they verify nothing.
func TestCommitsAloneDontVerify(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	k := newKit(t)
	sha := commit(t, k.layer.Root())
	id := k.learned("The ledger closes at noon.")
	var got tools.VerifyResult
	k.call(&got, "knowledge_verify", `{"id":"`+id+`","evidence":[{"kind":"git_history","commit":"`+sha+`"}]}`)
	if got.Verified || got.Hard != 1 || !strings.Contains(strings.Join(got.Missing, "\n"), "a run that Ken has seen") {
		t.Errorf("got %+v", got)
	}
}

func TestWhatOnlyAPersonVerifies(t *testing.T) {
	k := newKit(t)
	write(t, k.layer.Root()+"/retry.go", "package retry\n")
	file := `[{"kind":"file","path":"retry.go"}]`
	disputed, operators := k.learned("The lamp is green."), k.operator("Deploys need a ticket.")
	pattern := k.operator("Shell command succeeds: make check", func(c *ken.Claim) { c.Kind, c.Status = ken.KindPattern, ken.StatusHypothesis })
	k.call(nil, "knowledge_dispute", `{"id":"`+disputed+`","reason":"it is red"}`)
	for _, id := range []string{disputed, operators, pattern} {
		if told := k.fails(ken.CodeRefused, "knowledge_verify", `{"id":"`+id+`","evidence":`+file+`}`); !strings.Contains(told, "ken ") {
			t.Errorf("%q does not say who can", told)
		}
	}
	if c := k.claim(operators); len(c.Evidence) != 1 || c.Support(nil).Trust != ken.TrustOperator {
		t.Errorf("an agent's evidence made the operator's claim %+v", c)
	}
	if c := k.claim(pattern); c.Status != ken.StatusHypothesis {
		t.Errorf("the pattern was approved: %+v", c)
	}
}

func TestDispute(t *testing.T) {
	k := newKit(t)
	id := k.operator("The timeout is 30 s.")
	var got tools.DisputeResult
	k.call(&got, "knowledge_dispute", `{"id":"`+id+`","reason":"config.go says 5 s","evidence":[{"kind":"tool_result","tool_call_id":"c9","detail":"timeout: 5s"}]}`)
	if !got.Disputed || got.Marked || got.Status != "disputed" {
		t.Errorf("got %+v", got)
	}
	c := k.claim(id)
	if c.Status != ken.StatusDisputed || len(c.Evidence) != 1 || c.Support(nil).Trust != ken.TrustOperator {
		t.Errorf("what speaks against a claim became its evidence: %+v", c)
	}
	var found tools.RecallResult
	if k.call(&found, "memory_recall", `{"query":"what is the timeout?"}`); len(found.Claims) != 0 {
		t.Errorf("still recalled: %+v", found.Claims)
	}
	if k.call(&found, "knowledge_recall", `{"question":"what is the timeout?","statuses":["disputed"]}`); len(found.Claims) != 1 {
		t.Errorf("not found as disputed: %+v", found.Claims)
	}
	var h tools.HistoryResult
	res := k.call(&h, "knowledge_history", `{"id":"`+id+`"}`)
	if last := h.Events[len(h.Events)-1]; last.To != "disputed" || last.By != "tester" || !strings.Contains(last.Reason, "5 s") || !strings.Contains(res.Text, "tool_result c9") {
		t.Errorf("history %+v", h.Events)
	}
	k.fails(ken.CodeInvalid, "knowledge_dispute", `{"id":"`+id+`"}`)
}

// A planted instruction to dispute the rules must not take them out of the turns.
func TestRulesOfAPersonAreOnlyMarked(t *testing.T) {
	k := newKit(t)
	rule := k.operator("Never deploy on a Friday.", func(c *ken.Claim) { c.Constraint = true })
	hot := k.operator("The on-call phone is in the kitchen.", func(c *ken.Claim) { c.Kind = ken.KindHot })
	for _, id := range []string{rule, hot} {
		var got tools.DisputeResult
		k.call(&got, "knowledge_dispute", `{"id":"`+id+`","reason":"the page says so"}`)
		if got.Disputed || !got.Marked || k.claim(id).Status != ken.StatusObserved {
			t.Errorf("got %+v", got)
		}
	}
	if events := k.queue(); len(events) != 2 || events[0].Event != attention.DisputeRequested {
		t.Errorf("queue %+v", events)
	}
}

func (k *kit) queue() (items []attention.Item) {
	k.Helper()
	k.store(func(s store.Engine) {
		var err error
		if items, err = attention.List(context.Background(), s, s.Shelf(), attention.Options{}); err != nil {
			k.Fatal(err)
		}
	})
	return items
}

// Forgetting is the operator's: the tool asks, and nothing goes until a person agrees.
func TestForgetOnlyMarks(t *testing.T) {
	k := newKit(t)
	id := k.operator("Ada's birthday is in May.")
	var got tools.MarkResult
	k.call(&got, "forget_memory", `{"id":"`+id[:13]+`","reason":"the user asked for it"}`)
	if !got.Marked || got.Again || got.ID != id || got.Confirm != "ken forget "+id {
		t.Errorf("got %+v", got)
	}
	k.call(&got, "forget_memory", `{"id":"`+id+`","reason":"again"}`)
	if !got.Again {
		t.Errorf("again: %+v", got)
	}
	if c := k.claim(id); c.Status != ken.StatusObserved || c.Text != "Ada's birthday is in May." {
		t.Errorf("it has become %+v", c)
	}
	var found tools.RecallResult
	if k.call(&found, "memory_recall", `{"query":"when is Ada's birthday?"}`); len(found.Claims) != 1 {
		t.Errorf("no longer recalled: %+v", found)
	}
	items := k.queue()
	if len(items) != 1 || items[0].Event != attention.ForgetRequested || items[0].Commands[0] != "ken forget "+id || !strings.Contains(items[0].Text, "agent tester asks to forget") {
		t.Fatalf("queue %+v", items)
	}
	// The person confirms, and the request goes with the claim.
	if _, err := k.layer.Forget(context.Background(), "", id, "asked for", ken.Actor{Type: "user", ID: "ada"}); err != nil {
		t.Fatal(err)
	}
	if items := k.queue(); len(items) != 0 {
		t.Errorf("queue %+v", items)
	}
	k.store(func(s store.Engine) {
		err := s.Shelf().View(context.Background(), func(r store.ShelfReader) error {
			for key := range r.Scan("attention/mark/") {
				t.Errorf("%s is still there", key)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	k.fails(ken.CodeNotFound, "forget_memory", `{"id":"`+id+`"}`)
	var h tools.HistoryResult
	k.call(&h, "knowledge_history", `{"id":"`+id+`"}`)
	if h.Claim != nil || h.Events[len(h.Events)-1].Type != "claim.forgotten" {
		t.Errorf("history of a forgotten claim: %+v", h)
	}
}
