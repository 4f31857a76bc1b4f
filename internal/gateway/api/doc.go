// Package api is Ken's REST interface for operators and programs: search, claims
// and their life cycle, sessions, turns, attention, jobs, export, all below /api/.
//
// An [API] is an http.Handler. The caller is the access.Principal in the request's
// context. It names the owner, whose knowledge is all that can be reached, and the rights. Nothing in a path, a query or a body names an owner, and
// an id of another owner is answered like an id that does not exist,
// because only the principal's own store is ever opened.
//
// # One table
//
// Every route stands in one table with its parameters, bodies, answers and the right
// that it needs. What is served, what is checked before a handler runs and the
// OpenAPI description at /api/openapi.json all come from it, so they can't differ.
//
// # Errors
//
// Every error is a problem (RFC 9457) with a type of its own below /api/problems/. A
// internal error says no more than that: its cause goes to the log, without anything
// from the request.
//
// # Pages and versions
//
// Lists come in pages. A cursor names the place where a page ended, not a number of
// entries, so that what is written meanwhile neither repeats nor hides an entry.
// Claims have an ETag; a change with If-Match is refused when the claim has changed
// meanwhile. Comparison and change are atomic among the requests of one API value, but
// not against another process.
package api
