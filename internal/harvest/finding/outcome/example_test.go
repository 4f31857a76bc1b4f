package outcome_test

import (
	"fmt"

	"github.com/kenlayer/ken/internal/harvest/finding/outcome"
)

// The output of a test run, as an agent's shell tool returns it.
func Example() {
	output := "Exit code 1\n--- FAIL: TestRound (0.00s)\n    money_test.go:17: got 1.00, want 1.01\nFAIL\tpay/money\t0.2s\nok  \tpay/store\t0.1s\nFAIL"
	code, known := outcome.Exit(output)
	fmt.Println(code, known)
	fmt.Println(outcome.ErrorLine(output))
	for _, t := range outcome.Tests(output) {
		fmt.Println(t.Name, t.Passed)
	}
	// Output:
	// 1 true
	// money_test.go:17: got 1.00, want 1.01
	// TestRound false
	// pay/money false
	// pay/store true
}
