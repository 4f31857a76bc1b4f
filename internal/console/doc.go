// Package console serves Ken's web console. Its pages show what the agents know and which
// knowledge a turn received and why. An operator can verify, correct and delete claims
// there.
//
// A Console is an http.Handler for the paths below Prefix. The server renders all pages
// with html/template, which escapes every text. They work without JavaScript. One script
// adds search while typing, live updates and keyboard shortcuts. Nothing is loaded from
// another host.
//
// # Access
//
// A request has an access.Principal in its context, set by the gateway, or the cookie of a
// visitor who logged in with a key at LoginPath. It gets only the knowledge of its own
// owner. Every page needs the right read. Turns and messages of all sessions need operate,
// as in the API, and so does every change. Without operate, pages have no buttons.
//
// # Changes
//
// A change is a POST of a form with the visitor's token, from a page of the same origin.
// Package operator carries it out. A GET changes nothing.
//
// # Layout
//
// routes in console.go lists all pages. A Go file holds the handlers of related pages and
// the data of their templates. The templates are in pages, shared pieces in parts.
package console
