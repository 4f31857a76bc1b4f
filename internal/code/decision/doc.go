// Package decision reads and edits architecture decisions, which teams store as Markdown files. It reads the common
// forms of such files, and an edit changes as little of a file as possible.
//
// # What is read
//
// A Record is read from several places. Front matter has the keys of MADR 2 to 4 (status, date, deciders or
// decision-makers, consulted, informed) and Ken's own (id, tags, governs, supersedes, superseded_by). Below the title
// there may be lines ("- Status: Accepted", "**Status:** …", "Status: superseded by [ADR-0005](0005-x.md)") or tables.
// Sections are Nygard's (Status, Context, Decision, Consequences) and MADR's (Context and Problem Statement, Decision
// Drivers, Considered Options, Decision Outcome, Confirmation, Pros and Cons of the Options, More Information), with
// the usual variants of their headings. Each field has the number of its line. Keys and sections without a meaning here
// are kept.
//
// A broken file yields a Problem with its line and a remedy. The rest of the file is read, but the file is never
// written.
//
// # Registry
//
// A Registry holds the records below a root: Find, Search, History, Problems. Reading takes no lock and sees one
// consistent state of all files. Create, SetStatus, Supersede and Archive edit bytes. They check that the edited file
// has the new value and is otherwise unchanged. They write all files or none, under a lock between processes.
//
//	r, err := decision.Open(ctx, ".", decision.Options{})
//	record, err := r.Find("adr 42")
//	page := r.Search(decision.Query{Words: "retry policy", Statuses: []decision.Status{decision.Accepted}})
//
// The first Search after a change indexes the changed records, which takes about a millisecond for a record of ten
// kilobytes. Open and Refresh do not wait for that.
//
// # Claims and the graph
//
// Claim turns a record into a ken.Claim, and Targets returns what the record governs. Both are computed from the file,
// and nothing of it goes to the log. Export, ParseExchange and Registry.Import use JSON.
//
// Caveats: an archived record is still found by links to its old path, but pages outside the folders of decisions are
// not edited when it moves. In a table of contents (README.md), only links are kept up to date.
package decision
