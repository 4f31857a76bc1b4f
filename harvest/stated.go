package harvest

import (
	"context"
	"slices"

	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/harvest/extract"
	"github.com/kenlayer/ken/internal/run/session"
)

// Stated keeps what a user stated in the last messages of a session, without waiting for
// its end, and returns the claims with the words that each rests on. tr is the end of the
// session's transcript, of which the messages from number from on are new. Rules extract,
// and the same conditions hold as at the session's end; the harvest then finds these claims
// known. Nothing is kept where facts are switched off.
//
// Stated does not wait for a harvest that runs. It ends with an error when something is
// being erased: the harvest makes up for it.
func (h *Harvester) Stated(ctx context.Context, tr *session.Transcript, from uint64) (quotes map[string]string, err error) {
	if h.o.NoFacts {
		return nil, nil
	}
	user := make(map[uint64]bool, len(tr.Entries))
	for i := range tr.Entries {
		if e := &tr.Entries[i]; e.Seq >= from && e.Message.Role == "user" {
			user[e.Seq] = true
		}
	}
	d := extract.Draft(tr, h.o.Rules)
	d.Statements = slices.DeleteFunc(d.Statements, func(s draft.Statement) bool { return !user[s.Seq] })
	if len(d.Statements) == 0 {
		return nil, nil
	}
	err = h.early.take(ctx, func(ctx context.Context) error {
		r := &run{o: &h.o, tr: tr, out: session.Outcome{Dropped: map[string]int{}}}
		quotes = map[string]string{}
		for _, s := range d.Statements {
			r.out.Learned, r.statements = nil, []draft.Statement{s}
			if err := r.facts(ctx); err != nil {
				return err
			}
			for _, id := range r.out.Learned {
				quotes[id] = s.Quote
			}
		}
		return nil
	})
	return quotes, err
}
