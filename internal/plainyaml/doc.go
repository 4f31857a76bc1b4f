// Package plainyaml reads the part of YAML that people write by hand at the head of a
// document: mappings, lists and single values. Anchors, aliases, tags and merge keys
// are refused, so no small text becomes an endless one.
//
// Nothing fails as a whole. What can't be read is a Fault with its line, the rest is
// there all the same; where the text is no YAML at all, its lines are read one by one.
// Every value says on which line it stands. All functions are pure, safe for concurrent
// use, and panic on no text.
package plainyaml
