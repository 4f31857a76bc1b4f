package ledger

// Balance is the sum of an account's entries, in cents.
func Balance(l *Ledger, account string) int64 { return l.db.Sum(account) }
