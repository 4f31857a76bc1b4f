package keyword

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(killDir); dir != "" {
		fmt.Fprintln(os.Stderr, killWriter(dir))
		os.Exit(2)
	}
	goleak.VerifyTestMain(m)
}

// exampleDir is a folder for an example, which has no testing.T.
func exampleDir() string {
	dir, err := os.MkdirTemp("", "keyword")
	if err != nil {
		panic(err)
	}
	return dir
}
