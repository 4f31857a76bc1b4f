// Command assemble asks a layer what it would add to a conversation, and why,
// without a model. A program whose client fits neither adapter starts here: it
// puts the insertions into its own messages.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "assemble:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	// A project of its own; a real program names its project's folder.
	root, err := os.MkdirTemp("", "ken")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	layer, err := middleware.Open(ctx, middleware.Options{Root: root, Foreground: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, layer.Close()) }()

	store, release, err := layer.Store(ctx, "")
	if err != nil {
		return err
	}
	defer release()
	for text, evidence := range map[string]ken.Evidence{
		"The ledger writes entries in batches of 500.": ken.FromTestResult("TestBatchSize", "passed"),
		"The ledger could move to batches of 2,000.":   ken.FromModelInference("s1", "m4", "the partner may accept them"),
	} {
		claim, err := ken.NewClaim(text, evidence)
		if err != nil {
			return err
		}
		claim.CreatedAt = time.Date(2026, 5, 17, 0, 0, 0, 0, time.UTC)
		if evidence.Kind == ken.EvidenceModelInference {
			claim.Status, claim.Confidence = ken.StatusHypothesis, 0.3
		}
		if _, err := store.WriteClaim(ctx, claim); err != nil {
			return err
		}
	}

	turn := ken.Turn{Messages: []ken.Message{
		{Role: "system", Text: "Be brief."},
		{Role: "user", Text: "In which batches does the ledger write entries?"},
	}}
	assembly := layer.Assemble(ctx, turn)
	for _, in := range assembly.Insertions {
		fmt.Printf("before message %d: %d characters\n", in.Before, assembly.Receipt.Chars)
	}
	for _, item := range assembly.Receipt.Items {
		fmt.Printf("%s: %s\n", item.Tier, item.Text)
	}
	for _, cut := range assembly.Receipt.Cut {
		fmt.Printf("left out, %s\n", cut.Reason)
	}
	fmt.Println("mode", assembly.Receipt.Mode)
	return nil
}
