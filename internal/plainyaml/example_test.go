package plainyaml_test

import (
	"fmt"

	"github.com/kenlayer/ken/internal/plainyaml"
)

func ExampleParse() {
	n, faults := plainyaml.Parse("status: accepted\ntags: [store, crash]\nbase: &b x\n", 1<<10)
	for _, f := range n.Fields {
		fmt.Println(f.Line, f.Key, f.Value.Text, len(f.Value.Items))
	}
	for _, f := range faults {
		fmt.Printf("line %d: %s. %s\n", f.Line, f.Text, f.Try)
	}
	// Output:
	// 1 status accepted 0
	// 2 tags  2
	// line 3: an anchor or alias. Write the value out: anchors and aliases are not followed.
}
