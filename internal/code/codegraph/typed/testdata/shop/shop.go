// Package shop is checked by an example.
package shop

// Pricer prices.
type Pricer interface{ Price() int }

// Fixed is a price that does not change.
type Fixed int

// Price is the price.
func (f Fixed) Price() int { return int(f) }

// Line is one row.
type Line struct {
	Count int
	Each  Pricer
}

// Total is the price of all.
func (l Line) Total() int { return l.Count * l.Each.Price() }
