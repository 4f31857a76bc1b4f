// Package report renders the results of a sweep: as a table for a terminal, and as one
// self-contained HTML page with charts.
package report
