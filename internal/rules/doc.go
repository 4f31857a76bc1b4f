// Package rules holds the repository to its own rules; its tests fail when a
// file breaks one. It has no code outside its tests.
//
// The rules are those that a reviewer should not have to repeat: which package
// may import which, how long a file may be, what needs a comment, what tests
// must not do, and that the documents name only things that exist. Each rule is
// itself tested against a tree that breaks it.
package rules
