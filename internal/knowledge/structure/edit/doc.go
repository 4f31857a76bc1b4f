// Package edit changes the structure of claims: rules, dependencies, names and
// descriptions of entities, and tasks.
//
// Every change is a claim with evidence and a history, and nothing is deleted. A
// dependency that is removed and a merge that is split are disputed; they are
// verified if somebody states them again. A claim is as trusted as its evidence: an
// [Editor] never raises the trust of what it was given, and makes no rule of an
// external source's text unless an operator edits.
//
// Structural claims have keys, so that a change that is made twice, by two processes
// or after a crash, is made once:
//
//	entity:NAME                          what a name is
//	dependency:SOURCE␟TYPE␟TARGET        that one thing depends on another
//	alias:NAME                           that a name is another name of something
//	task:T-0001                          a work item
//	constraint:HASH                      a rule, by its words
//
// ␟ is the character U+001F. The key of a scoped claim ends with a ␟ and the scope:
// what one project says about a name must not overwrite what another one says.
package edit
