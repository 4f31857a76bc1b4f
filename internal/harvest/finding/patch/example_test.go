package patch_test

import (
	"fmt"

	"github.com/kenlayer/ken/internal/harvest/finding/patch"
)

func ExampleParse() {
	for _, f := range patch.Parse("*** Begin Patch\n*** Update File: store/log.go\n@@ func Open() error {\n-\treturn nil\n+\treturn open()\n*** Delete File: old.go\n*** End Patch") {
		fmt.Printf("%s %s %q\n", f.Op, f.Path, f.New)
	}
	// Output:
	// update store/log.go "\treturn open()\n"
	// delete old.go ""
}
