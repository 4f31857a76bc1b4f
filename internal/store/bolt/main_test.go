package bolt_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is also the child of the tests that need a second process.
func TestMain(m *testing.M) {
	if role := os.Getenv("KEN_TEST_CHILD"); role != "" {
		children[role]()
		return
	}
	goleak.VerifyTestMain(m)
}

// children are what the test binary does as another process.
var children = map[string]func(){
	"writer": childWriter,
	"holder": childHolder,
	"full":   childFullDisk,
	"opener": childOpener,
	"shelf":  childShelf,
}
