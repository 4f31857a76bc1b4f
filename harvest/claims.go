package harvest

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store/memory"
)

// Claims returns what a conversation teaches, by rules and without a model: a summary (KindEpisode),
// facts, findings of tool calls and candidates for patterns. at is the time of its messages. A
// middleware.Layer that knows nothing yet stores the same when a session ends; Claims stores nothing. The
// claims don't say what they are about, because a store determines that when they are written.
//
// No claim has a secret or a model's reasoning. Claims does not change the messages. Its only error is
// that of ctx.
func Claims(ctx context.Context, messages []ken.Message, at time.Time) ([]ken.Claim, error) {
	now := func() time.Time { return at }
	tools, err := finding.Parse(nil)
	if err != nil {
		return nil, err
	}
	s := memory.New(memory.Options{Now: now})
	j := session.NewJournal(s.Shelf(), session.Options{Now: now})
	about := session.About{ID: "conversation"}
	if _, err := j.Append(ctx, about, messages); err != nil {
		return nil, err
	}
	tr, err := j.Read(ctx, about.ID)
	if errors.Is(err, ken.ErrNotFound) { // no message that a journal keeps
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out, err := New(Options{Store: s, Journal: j, Tools: tools, Log: slog.New(slog.DiscardHandler)}).Harvest(ctx, &tr, nil)
	if err != nil {
		return nil, err
	}
	ids := slices.Concat(out.Learned, out.Findings, out.Patterns)
	if out.Episode != "" {
		ids = slices.Insert(ids, 0, out.Episode)
	}
	claims := make([]ken.Claim, 0, len(ids))
	for _, id := range ids {
		c, err := s.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		claims = append(claims, c)
	}
	return claims, nil
}
