// Package edit changes the structure that claims stand in: rules, dependencies, what
// entities are called and are, and tasks.
//
// Every change is a claim, with evidence and a history, and nothing is ever taken
// away: a dependency that is removed and a merge that is split back are disputed, and
// verified when somebody says so again. What a claim says is as trusted as its
// evidence; an [Editor] makes nothing more trusted than it was given, and makes no
// rule of what an external source says unless an operator edits.
//
// Structural claims have keys, so that a change that is made twice, by two processes
// or after a crash, is one:
//
//	entity:NAME                          what a name is
//	dependency:SOURCE␟TYPE␟TARGET        that one thing depends on another
//	alias:NAME                           that a name is another name of something
//	task:T-0001                          a work item
//	constraint:HASH                      a rule, by its words
//
// ␟ is the character U+001F. A claim of a scope has the scope behind its key, behind
// a ␟: what one project says of a name must not overwrite what another does.
package edit
