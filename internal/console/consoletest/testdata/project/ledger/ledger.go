// Package ledger keeps the books: two entries a transfer, never changed afterwards.
package ledger

import "example.com/payments/store"

// Ledger is the book of all accounts.
type Ledger struct{ db *store.DB }

// New returns the ledger in a database.
func New(db *store.DB) *Ledger { return &Ledger{db} }

// Transfer moves cents from one account to another.
type Transfer struct {
	Reference string // of the client; the same one twice is one transfer
	From, To  string
	Cents     int64
}
