// Package simulate writes sessions of daily work: what users, agents and tools say
// to each other over weeks on one repository, a small payment service in Go with a
// web front. It is a script, not a recording: the same seed gives the same
// sessions, byte for byte, so that what a harvest makes of them can be measured.
//
// The sessions are as untidy as real ones. Files are read in pieces and read
// again, edits fail and are tried again, tests fail until they pass, one test is
// flaky, docker is not running, output holds secrets, logs are pasted, people say
// thanks and change their minds. Agents of four makes take turns, each with tools
// and output frames of its own.
//
// Junk is the rule by which what was learned of them is judged.
package simulate
