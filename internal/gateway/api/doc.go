// Package api is Ken's REST interface for operators and programs, below /api/: search, claims and their life cycle,
// sessions, turns, attention, jobs and export.
//
// An [API] is an http.Handler. The caller is the access.Principal in the request's context, which has the owner and the
// rights. Only that owner's knowledge can be reached: no path, query or body names an owner, and only the principal's
// own store is ever opened. So an id of another owner gives the same answer as an id that does not exist.
//
// # One table
//
// One table has every route with its parameters, bodies, answers and required right. What is served, what is validated
// before a handler runs, and the OpenAPI description at /api/openapi.json are all derived from it, so they can't
// differ.
//
// # Errors
//
// Every error is a problem (RFC 9457), whose type is a path below /api/problems/. An internal error has no details: its
// cause is logged, without any content of the request.
//
// # Pages and versions
//
// Lists come in pages. A cursor has the position after which the next page starts, not a number of entries. So entries
// that are added in the meantime cause no repetitions or gaps. Claims have an ETag. A change with If-Match is refused
// if the claim has changed since. Comparison and change are atomic among the requests of one API value, but not across
// processes.
package api
