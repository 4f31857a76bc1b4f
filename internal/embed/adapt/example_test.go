package adapt_test

import (
	"fmt"
	"os"

	"github.com/kenlayer/ken/internal/embed/adapt"
)

func ExampleFind() {
	state, err := os.MkdirTemp("", "state")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(state)
	if path, ok := adapt.Find(state, "ken:0123456789abcdef"); ok {
		fmt.Println("use", path)
	} else {
		fmt.Println("use the built-in table")
	}
	// Output: use the built-in table
}
