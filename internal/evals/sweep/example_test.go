package sweep_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kenlayer/ken/internal/evals/dataset"
	"github.com/kenlayer/ken/internal/evals/sweep"
)

// Two notes, two questions: one that a note answers, one that none does.
func ExampleRun() {
	dir, err := os.MkdirTemp("", "notes")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{
		"claims.jsonl": `{"key": "n1", "text": "Payments are retried three times."}
{"key": "n2", "text": "Deploys are frozen on Fridays."}`,
		"queries.jsonl": `{"_id": "q1", "text": "When are deploys frozen?", "relevant": ["n2"]}
{"_id": "q2", "text": "Who won the cup?", "relevant": []}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			panic(err)
		}
	}
	ctx := context.Background()
	set, err := dataset.Open(ctx, dir, dataset.Options{})
	if err != nil {
		panic(err)
	}
	report, err := sweep.Run(ctx, sweep.Options{Data: set, Modes: []sweep.Mode{sweep.ModeKeyword}, Seed: 1, Root: dir})
	if err != nil {
		panic(err)
	}
	score := report.Modes["keyword"]
	fmt.Printf("recall@10 %.1f, abstain %.1f\n", score.Values["recall@10"], score.Values["abstain"])
	// Output: recall@10 1.0, abstain 1.0
}
