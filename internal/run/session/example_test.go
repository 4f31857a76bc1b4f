package session_test

import (
	"context"
	"fmt"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store/memory"
)

// A review agent on three days: what one session learns the next one recalls, and a
// person verifies.
func ExampleSession() {
	ctx := context.Background()
	knowledge := memory.New(memory.Options{}) // the same on all days, as one on disk is
	trail := func(_ context.Context, a session.Action) error {
		fmt.Printf("  log: %s %s, %d evidence by %s in %s\n", a.Event, a.ClaimStatus, a.EvidenceCount, a.ActorType, a.SessionID)
		return nil
	}
	open := func(id string) *session.Session {
		return session.New(session.HandleOptions{About: session.About{ID: id, Agent: "pr-reviewer"}, Store: knowledge, Logger: trail})
	}

	fmt.Println("Monday, PR #1842:")
	monday := open("review-1842")
	_, err := monday.Learn(ctx, "payments-service uses the saga pattern for multi-step transactions", []ken.Evidence{
		ken.FromFile("src/sagas/payment_saga.py", "acme/payments", "abc123"),
		ken.FromToolResult("tc_pr1842_001", "saga.compensate() in the error path"),
	}, func(c *ken.Claim) { c.Domain = "architecture" }, func(c *ken.Claim) { c.Tags = append(c.Tags, "saga", "transactions") })
	if err != nil {
		panic(err)
	}

	fmt.Println("Wednesday, PR #1851:")
	wednesday := open("review-1851")
	known, err := wednesday.Recall(ctx, "What patterns does this codebase use for transactions?", session.RecallOptions{})
	if err != nil {
		panic(err)
	}
	for _, c := range known {
		fmt.Printf("  recalled: %s (%s, from %s)\n", c.Text, c.Status, c.Session)
	}
	twoPhase, err := wednesday.Learn(ctx, "PR #1851 introduces 2PC alongside saga for cross-service transactions", []ken.Evidence{
		ken.FromFile("src/coordinators/two_phase.py", "acme/payments", "def456"),
	}, func(c *ken.Claim) { c.Domain = "architecture" })
	if err != nil {
		panic(err)
	}

	fmt.Println("Friday, an operator:")
	operator := open("review-1851").Branch("console", session.BranchOptions{Actor: ken.Actor{Type: "user", ID: "ann"}})
	checked := time.Date(2026, 5, 22, 10, 0, 0, 0, time.UTC)
	if err := operator.Verify(ctx, twoPhase, ken.FromHumanAssertion("ann", checked, "read the pull request")); err != nil {
		panic(err)
	}
	known, err = operator.Recall(ctx, "2PC", session.RecallOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("  %s: %s\n", known[0].Status, known[0].Text)
	// Output:
	// Monday, PR #1842:
	//   log: knowledge.learn observed, 2 evidence by agent in review-1842
	// Wednesday, PR #1851:
	//   recalled: payments-service uses the saga pattern for multi-step transactions (observed, from review-1842)
	//   log: knowledge.learn observed, 1 evidence by agent in review-1851
	// Friday, an operator:
	//   log: knowledge.verify verified, 1 evidence by user in review-1851
	//   verified: PR #1851 introduces 2PC alongside saga for cross-service transactions
}

// A client sends the whole conversation with every request. The journal keeps each
// message once, without what the model thought.
func ExampleJournal() {
	ctx := context.Background()
	j := session.NewJournal(memory.NewShelf(), session.Options{Process: "gateway-1"})
	about := session.About{ID: "chat-1"}
	conversation := []ken.Message{
		{Role: "system", Text: "You are helpful."},
		{Role: "user", Text: "Which port does staging use?"},
	}
	for range 2 {
		fresh, err := j.Append(ctx, about, conversation)
		if err != nil {
			panic(err)
		}
		for _, e := range fresh {
			fmt.Println(e.ID(), e.Message.Role+":", e.Message.Text)
		}
		conversation = append(conversation,
			ken.Message{Role: "assistant", Text: "<think>8443 or 8080?</think>It uses 8443."},
			ken.Message{Role: "user", Text: "Thanks."})
	}
	ended, err := j.End(ctx, "chat-1", session.Closed)
	fmt.Println(ended, err)
	// Output:
	// m1 user: Which port does staging use?
	// m2 assistant: It uses 8443.
	// m3 user: Thanks.
	// true <nil>
}

func ExampleCheckpoint_Text() {
	c := session.Checkpoint{
		Goal:        "Fix the flaky retry test in payments",
		Constraints: []string{"Tests must not sleep."},
		Files:       []string{"payments/retry_test.go", "payments/clock.go"},
		LastStep:    "bash: go test ./payments/...",
		Focal:       []string{"payments"},
	}
	fmt.Println(c.Text(126))
	// Output:
	// Focus: payments
	// Constraints:
	// - Tests must not sleep.
	// Goal: Fix the flaky retry test in payments
	// Files: payments/retry_test.go
}
