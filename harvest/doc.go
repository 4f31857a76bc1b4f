// Package harvest turns a finished session into claims: an episode (its summary), facts,
// findings of its tool calls, and candidates for patterns.
//
// A program calls [Claims], or ends a session of a middleware.Layer. The rest of the package is what a
// layer needs for that.
//
// A Harvester is a handler of jobs. It reads the session's journal and has a model or rules draft
// what was learned. It drops what the layer itself had injected (the echo guard), compares the rest
// with known claims (package consolidate), and writes claims. A model's reasoning is never among
// them, because journals don't contain it.
//
// Keys depend on the session and on the text. So a harvest that was killed, runs twice, or runs
// again after the session continued, loses nothing and stores nothing twice.
package harvest
