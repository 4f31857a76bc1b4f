package runner_test

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/kenlayer/ken/internal/code/plan"
	"github.com/kenlayer/ken/internal/code/plan/runner"
)

// A program may do the agents' work itself. Without Start, their commands are run.
func ExampleRun() {
	root, err := os.MkdirTemp("", "project")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	findings := plan.Token{Kind: plan.Artifact, Name: "findings"}
	p, err := plan.New([]plan.Agent{
		{Name: "writer", Requires: []plan.Token{findings}},
		{Name: "researcher", Produces: []plan.Token{findings}},
	}, nil)
	if err != nil {
		panic(err)
	}
	report, err := runner.Run(context.Background(), p, runner.Options{
		Root: root,
		Start: func(_ context.Context, a plan.Agent, out io.Writer) error {
			_, err := fmt.Fprintln(out, "working")
			return err
		},
		Output: func(agent, line string) { fmt.Printf("%s | %s\n", agent, line) },
	})
	fmt.Println(report.OK(), err)
	// Output:
	// researcher | working
	// writer | working
	// true <nil>
}
