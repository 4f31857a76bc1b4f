package harvest

import (
	"context"
	"fmt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/harvest/extract"
)

// noteTasksDone adds a note to each task that is still to be done if the assistant said in this session that it
// did it. The assistant's word is no evidence: the task stays, and the note says "perhaps".
func (r *harvestRun) noteTasksDone(ctx context.Context) error {
	for _, report := range extract.Reports(r.tr) {
		found, err := r.o.Store.Query(ctx, ken.Query{Question: draft.OpenPrefix + report.Text, Limit: maxAmended,
			Filter: ken.Filter{Scopes: []ken.Scope{r.tr.Info.Scope}, Kinds: []ken.Kind{ken.KindFact}, ClaimsOnly: true}})
		if err != nil {
			return fmt.Errorf("find tasks that were done: %w", err)
		}
		for i := range found {
			c := &found[i]
			text, done := consolidate.PerhapsDone(c, report.Text, report.At)
			if !done || c.Key == "" {
				continue
			}
			c.Text = text
			if _, err := r.o.Store.WriteClaim(ctx, *c); err != nil && !r.refused("fact", err) {
				return fmt.Errorf("note that a task was done: %w", err)
			}
		}
	}
	return nil
}
