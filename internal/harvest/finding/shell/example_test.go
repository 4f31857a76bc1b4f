package shell_test

import (
	"fmt"

	"github.com/kenlayer/ken/internal/harvest/finding/shell"
)

func ExampleParse() {
	for _, line := range []string{"cd /src/pay && CGO_ENABLED=0 timeout 60 go test ./... 2>&1", "go test ./... | tail -5", "git status"} {
		c := shell.Parse(line, "/src/pay")
		fmt.Printf("%q own exit=%v trivial=%v\n", c.Text, c.OwnExit, c.Trivial)
	}
	// Output:
	// "go test ./..." own exit=true trivial=false
	// "go test ./..." own exit=false trivial=false
	// "git status" own exit=true trivial=true
}

func ExampleActs() {
	a, ok := shell.Acts("cd store && sed -n '1,80p' log.go")
	fmt.Println(a.Verb, a.Paths, ok)
	// Output:
	// read [store/log.go] true
}
