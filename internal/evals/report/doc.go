// Package report shows what a sweep found: as a table for a terminal, and as one
// HTML page with charts that needs nothing but itself.
package report
