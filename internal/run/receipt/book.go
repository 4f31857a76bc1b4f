package receipt

import (
	"log/slog"
	"time"

	"github.com/kenlayer/ken/store"
)

// DefaultCount is how many receipts a book keeps when nothing is said.
const DefaultCount = 2000

const maxCount = 1_000_000

// Options configures a book; the zero value works.
type Options struct {
	// Count is how many receipts are kept at most, those of forgotten sessions
	// counted; 0 is DefaultCount, below 0 keeps none, and a million is the most.
	Count int
	// Age is how long one is kept, from its turn; 0 and less is without end.
	Age time.Duration
	Now func() time.Time // default time.Now
	// Log hears of receipts that can't be read and are left alone. Default: nothing
	// is logged.
	Log *slog.Logger
}

// Book keeps one owner's receipts on a shelf. It holds no state of its own, so
// any number of books on one shelf, in any number of processes, are one book. It
// is safe for concurrent use.
type Book struct {
	shelf store.Shelf
	o     Options
}

// NewBook returns the book on a shelf. It reads nothing.
func NewBook(shelf store.Shelf, o Options) *Book {
	if o.Count == 0 {
		o.Count = DefaultCount
	}
	o.Count = min(o.Count, maxCount)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Book{shelf: shelf, o: o}
}

// Keeps reports whether the book keeps receipts at all.
func (b *Book) Keeps() bool { return b.o.Count > 0 }
