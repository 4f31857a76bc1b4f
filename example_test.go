package ken_test

import (
	"fmt"
	"time"

	"github.com/kenlayer/ken"
)

func ExampleNewClaim() {
	c, err := ken.NewClaim("payments uses the saga pattern for multi-step transactions",
		ken.FromFile("src/sagas/payment.go", "acme/payments", "abc123"),
		ken.FromToolResult("call_1", "saga.Compensate in the error path"))
	fmt.Println(c.Status, c.Confidence, err)

	_, err = ken.NewClaim("payments is fast")
	fmt.Println(err)
	fmt.Println("Try:", ken.Hint(err))
	// Output:
	// observed 1 <nil>
	// evidence: empty: a claim needs at least one piece of evidence
	// Try: If there is none, write a hypothesis with model_inference evidence and a low confidence.
}

func ExampleCheckTransition() {
	fmt.Println(ken.CheckTransition(ken.StatusObserved, ken.StatusVerified, ""))

	err := ken.CheckTransition(ken.StatusVerified, ken.StatusObserved, "")
	fmt.Println(err)
	fmt.Println("Try:", ken.Hint(err))
	// Output:
	// <nil>
	// status: a claim can't go from verified to observed
	// Try: Choose another status: from verified a claim can become disputed, superseded.
}

func ExampleClaim_Support() {
	learned := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c, err := ken.NewClaim("the retry loop is bounded", ken.FromTestResult("TestRetryBound", "ok"))
	if err != nil {
		panic(err)
	}
	c.CreatedAt = learned
	fmt.Println("one test:", c.Support(nil).Tier)

	c.Evidence = append(c.Evidence, ken.FromTestResult("TestRetryBound", "ok again"))
	fmt.Println("the same test twice:", c.Support(nil).Tier)

	c.Evidence = append(c.Evidence, ken.FromGitHistory("acme/payments", "abc123", "bound the retry loop"))
	s := c.Support(nil)
	fmt.Println("a test and a commit:", s.Tier, "trusted as", s.Trust)
	fmt.Println("91 days later:", s.At(learned.AddDate(0, 0, 91), 90))
	// Output:
	// one test: Inferred
	// the same test twice: Inferred
	// a test and a commit: Verified trusted as agent
	// 91 days later: Inferred
}
