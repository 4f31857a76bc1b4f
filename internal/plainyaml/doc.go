// Package plainyaml reads the part of YAML that people write by hand at the top of a
// document: mappings, lists and single values. It rejects anchors, aliases, tags and
// merge keys, so a small text can't expand to a huge one.
//
// A fault does not fail the whole text. Each part that can't be read becomes a Fault
// with its line, and the rest is returned. A text that is not YAML is read line by
// line. Every value has its line number. All functions are pure and safe for concurrent
// use, and never panic.
package plainyaml
