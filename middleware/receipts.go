package middleware

import (
	"context"

	"github.com/kenlayer/ken/internal/run/receipt"
)

// Receipts is where the receipts of an owner's turns are kept, "" for the
// configured owner's: the newest session.receipts of them, none longer than the
// messages of a harvested session. A turn's is there a moment after the turn: see
// Recorded. A turn that is Incognito has none.
func (l *Layer) Receipts(owner string) *receipt.Book { return l.desk(owner).receipts }

// receipts is how an owner's receipts are kept. The configuration's 0 keeps none,
// the book's is its default.
func (l *Layer) receipts() receipt.Options {
	count := l.cfg.Session.Receipts
	if count == 0 {
		count = -1
	}
	return receipt.Options{Count: count, Age: l.policy().JournalGrace(), Now: l.now, Log: l.o.Log}
}

// Recorded returns once everything that turns and answers left before is in the
// journals and among the receipts, or ctx ends. The program's message hook, which
// runs in between, does not wait.
func (l *Layer) Recorded(ctx context.Context) error { return l.recorder.flush(ctx) }
