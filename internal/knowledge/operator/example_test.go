package operator_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/middleware"
)

func ExampleDesk() {
	ctx := context.Background()
	root, err := os.MkdirTemp("", "ken")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	cfg := config.Default()
	cfg.Repository.Index, cfg.Middleware.Events = false, false
	l, err := middleware.Open(ctx, middleware.Options{Root: root, Config: &cfg, Foreground: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	defer l.Close()
	s, release, err := l.Store(ctx, "")
	if err != nil {
		panic(err)
	}
	defer release()
	guess := ken.Claim{Kind: ken.KindPattern, Text: "Tests pass with make test.", Status: ken.StatusHypothesis, Confidence: 1,
		Evidence: []ken.Evidence{ken.FromExitCode("make test", 0)}}
	id, err := s.WriteClaim(ctx, guess)
	if err != nil {
		panic(err)
	}

	desk := operator.New(l, s, operator.Options{Name: "ana"})
	if err := desk.Approve(ctx, id); err != nil {
		panic(err)
	}
	next, err := desk.Replace(ctx, id, "Tests pass with make check.", "renamed")
	if err != nil {
		panic(err)
	}
	for _, id := range []string{id, next} {
		c, err := s.Get(ctx, id)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %s\n", c.Text, c.Status)
	}
	fmt.Println(desk.Dispute(ctx, next, ""))
	// Output:
	// Tests pass with make test.: superseded
	// Tests pass with make check.: observed
	// reason: empty: a dispute needs a reason
}
