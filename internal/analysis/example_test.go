package analysis_test

import (
	"fmt"

	"github.com/kenlayer/ken/internal/analysis"
)

func ExampleTokens() {
	for _, t := range analysis.Tokens(nil, "Why doesn't parseConfig retry?") {
		fmt.Println(t.Pos, t.Term, t.Start, t.End)
	}
	// Output:
	// 2 not 4 11
	// 3 parseconfig 12 23
	// 3 pars 12 17
	// 3 config 17 23
	// 4 retri 24 29
}

func ExampleTerms() {
	fmt.Println(analysis.Terms("When did Caroline go to the support group?"))
	fmt.Println(analysis.Terms("Where is ken.NewClaim used?"))
	// Output:
	// [carolin go support group]
	// [ken.newclaim ken newclaim new claim use]
}

func ExampleSplitIdentifier() {
	fmt.Println(analysis.SplitIdentifier("HTTPServer_v2"))
	// Output: [http server v 2]
}
