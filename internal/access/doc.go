// Package access says who may do what with Ken over a network: a Principal has an
// owner, whose knowledge it works with, and rights.
//
// The gateway authenticates a request once and puts the Principal into the request's
// context. Handlers read it with From and check it with Can. A context without a
// Principal allows nothing.
//
// A Principal may also have limits: the models that it may use, when its key expires,
// and how many requests and tokens it may use a day. The gateway enforces them.
//
// A key is a random string that starts with KeyPrefix. Only its hash is stored, so a
// leaked configuration gives no access.
package access
