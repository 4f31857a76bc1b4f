package main

import (
	"context"

	"github.com/kenlayer/ken/config"
)

// examinePlan looks whether what agents require is there or produced by somebody. What
// is wrong between the agents themselves is a fault of the configuration already.
func (a *app) examinePlan(ctx context.Context, cfg *config.Config) []finding {
	const check = "plan"
	p, err := a.plan(ctx, cfg)
	switch {
	case err != nil:
		return []finding{failed(check, err)}
	case p == nil:
		return nil
	}
	return []finding{passed(check, "%s in %s", count(len(p.Steps()), "agent"), count(len(p.Stages()), "stage"))}
}
