// Package harvest turns a finished session into claims: an episode (its summary), facts,
// findings of its tool calls, and candidates for patterns.
//
// A Harvester is a handler of jobs: it reads the session's journal, has a model
// or rules draft what was learned, leaves out what the layer itself had told the
// model (the echo guard), compares the rest with what is known (package
// consolidate), and writes claims. What the model merely thought is never among
// them: the journal has lost it already.
//
// Everything is keyed by the session and by what is said, so that a harvest that
// was killed half-way, or runs twice, or runs again when the session went on,
// loses nothing and keeps nothing twice.
package harvest
