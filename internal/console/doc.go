// Package console is the operator's web pages: what the agents know, why they were
// told it, and what a person decides about it.
//
// A Console is an http.Handler for the paths below Prefix. Pages are made on the
// server with html/template, so that every text is escaped where it stands, and are
// whole without a script. The one script adds what a page can't do by itself: search
// as one types, live updates, single keys. Nothing is loaded from another host.
//
// # Who may see what
//
// A request comes with an access.Principal in its context, as from the gateway, or
// with the cookie of a visit that began with a key at LoginPath. It sees its own
// owner's knowledge and nothing else. Without the right read there is nothing to
// see; the turns of all sessions and what was said in them need operate, as over
// the API; so does every change, and who lacks it is shown no buttons.
//
// # What changes something
//
// A change is a POST of a form with the visit's token, from a page of the same
// origin. What it does is package operator's business. A GET changes nothing.
//
// # Where things are
//
// Each page is a file with its handler and the data of its template, and the
// template in pages; what several pages show alike is in parts. routes lists them
// all.
package console
