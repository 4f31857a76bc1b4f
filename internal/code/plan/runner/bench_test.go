package runner_test

import (
	"fmt"
	"testing"

	"github.com/kenlayer/ken/internal/code/plan"
	"github.com/kenlayer/ken/internal/code/plan/runner"
)

func BenchmarkRun1000(b *testing.B) {
	var all []plan.Agent
	for i := range 1000 {
		a := plan.Agent{Name: fmt.Sprint("a", i), Produces: []plan.Token{{Kind: plan.Artifact, Name: fmt.Sprint(i)}}}
		if i >= 25 {
			a.Requires = []plan.Token{{Kind: plan.Artifact, Name: fmt.Sprint(i - 25)}}
		}
		all = append(all, a)
	}
	p, root := planOf(b, all...), b.TempDir()
	for b.Loop() {
		if r, err := runner.Run(b.Context(), p, runner.Options{Root: root, Start: work{}.start(nil)}); err != nil || !r.OK() {
			b.Fatal(err)
		}
	}
}
