package harvest

import (
	"context"
	"log/slog"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/harvest/extract"
	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/internal/run/session"
)

// Store is what a harvest writes to: an owner's.
type Store interface {
	consolidate.Store
	// ByKey returns the claim that holds a key; ErrNotFound when there is none.
	ByKey(ctx context.Context, key string) (ken.Claim, error)
	// Get returns a claim by its id; ErrNotFound when there is none.
	Get(ctx context.Context, id string) (ken.Claim, error)
	// History returns a claim's events, oldest first.
	History(ctx context.Context, id string) ([]ken.ClaimEvent, error)
}

// Progress is told how far a harvest is: done of total, in the stage's unit. A
// total of 0 is unknown.
type Progress func(stage string, done, total int)

// Model drafts what a session taught. Its error is no reason to lose the session:
// rules draft then.
type Model interface {
	Draft(ctx context.Context, tr *session.Transcript, progress func(stage string, done, total int)) (draft.Draft, error)
}

// Options configures a Harvester. Store and Journal are needed.
type Options struct {
	Store   Store
	Journal *session.Journal
	Model   Model // nil: rules alone

	Rules       extract.Options
	NoFacts     bool          // keep the summary, findings and patterns alone
	Tools       finding.Tools // of the agents whose sessions these are
	Ingest      bool          // tool outputs as findings, too
	IngestChars int           // of one output; 0 is the ingest's own default

	// Tainted lists the tool calls of a session that repeat what an external claim said.
	// They and their results are not harvested, and what is told of the session is not
	// trusted more than the claim. Nil knows of none.
	Tainted func(ctx context.Context, session string) ([]ken.Taint, error)

	// Wrote is told when a session was harvested, with what came of it, before the
	// journal is. Its error is told, and changes nothing. May be nil.
	Wrote func(ctx context.Context, info session.Info, out session.Outcome) error

	Log *slog.Logger // default slog.Default()
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}
