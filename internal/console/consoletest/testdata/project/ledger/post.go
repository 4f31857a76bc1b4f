package ledger

import (
	"fmt"

	"example.com/payments/notify"
)

// Post writes both entries of a transfer in one transaction.
func (l *Ledger) Post(t Transfer) error {
	if l.db.Known(t.Reference) {
		return nil
	}
	if Balance(l, t.From) < t.Cents {
		return fmt.Errorf("account %s is short of %d cents", t.From, t.Cents)
	}
	if err := l.db.Append(t.Reference, t.From, -t.Cents, t.To, t.Cents); err != nil {
		return err
	}
	return notify.Mail(t.To, "a transfer has arrived")
}
