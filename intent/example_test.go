package intent_test

import (
	"fmt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/intent"
)

func ExampleAnalyze() {
	s := intent.Analyze([]ken.Message{{Role: "user", Text: "Why does AuthService.Login in auth/login.go return a 503 when Caroline's session expires?"}})
	fmt.Println(s.Keywords)
	fmt.Println(s.Symbols)
	fmt.Println(s.Failures)
	fmt.Println(s.Entities)

	s = intent.Analyze([]ken.Message{{Role: "user", Text: "Great, thanks!"}})
	fmt.Println(s.Asks)
	// Output:
	// [return 503 caroline session expires]
	// [AuthService.Login auth/login.go]
	// [HTTP 503]
	// [Caroline]
	// false
}
