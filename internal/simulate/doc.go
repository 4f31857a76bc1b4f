// Package simulate generates sessions of daily work: the messages of users, agents and
// tools over weeks on one repository, a small payment service in Go with a web front
// end. The same seed gives the same sessions, byte for byte, so that the results of a
// harvest can be measured.
//
// The sessions are as untidy as real ones. Files are read in parts and read again,
// edits fail and are retried, tests fail until they pass, one test is flaky, docker is
// not running, output contains secrets, logs are pasted, users say thanks and change
// their minds. Four kinds of agents take turns, each with its own tools and output
// frames.
//
// Junk is the rule for rating what was learned from them.
package simulate
