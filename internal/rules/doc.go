// Package rules checks that the repository follows its own rules. Its tests fail if a file breaks a rule. All code
// is in the tests.
//
// The rules are those that a reviewer should not have to repeat: which packages may import which, how long a file
// may be, what needs a comment, and what tests must not do. Another rule is that documents name only things that
// exist. Each rule is itself tested with a tree that breaks it.
package rules
