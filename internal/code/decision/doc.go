// Package decision keeps architecture decisions as the Markdown files in which teams keep
// them, reads them in the forms in which they are written, and changes no more of them
// than must change.
//
// # What is read
//
// A Record is read from front matter (MADR 2 to 4: status, date, deciders or
// decision-makers, consulted, informed; and our own: id, tags, governs, supersedes,
// superseded_by), from lines below the title ("- Status: Accepted", "**Status:** …",
// "Status: superseded by [ADR-0005](0005-x.md)"), from tables, from Nygard's sections
// (Status, Context, Decision, Consequences) and MADR's (Context and Problem Statement,
// Decision Drivers, Considered Options, Decision Outcome, Confirmation, Pros and Cons of
// the Options, More Information), under the headings that people give them. Each field says
// on which line it stands, keys and sections without a meaning here are kept.
//
// A file that is broken is a Problem with its line and what to do. What else it says is
// read all the same, and it is never written.
//
// # Registry
//
// A Registry holds the records below a root: Find, Search, History, Problems. Reading
// takes no lock, and sees one state of all files. Create, SetStatus, Supersede and Archive
// edit bytes, check that the edited file says what was meant and nothing else
// than before, and write all files or none, under a lock that holds between processes.
//
//	r, err := decision.Open(ctx, ".", decision.Options{})
//	record, err := r.Find("adr 42")
//	page := r.Search(decision.Query{Words: "retry policy", Statuses: []decision.Status{decision.Accepted}})
//
// The first Search after a change counts the words of what has changed, about a millisecond
// for a record of ten kilobytes; Open and Refresh don't wait for it.
//
// # Claims and the graph
//
// Claim makes a record a ken.Claim, and Targets says what it governs; both are projections
// of the file, and nothing of it goes to the log. Export, ParseExchange and Registry.Import speak JSON.
//
// Caveats. A record in the archive is found by links that still name its old place, but
// pages outside of the folders of decisions are not edited when it moves. The table of
// contents that some folders keep (README.md) is not kept up to date, but for links.
package decision
