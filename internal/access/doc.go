// Package access says who may do what with Ken over a network: a Principal has
// an owner, whose knowledge it works with, and rights.
//
// The gateway finds out who asks, once, and puts the Principal into the
// request's context; whatever answers reads it with From and asks Can. A context
// in which nobody put one allows nothing.
//
// A Principal may also have limits: the models that it may ask, when its key ends, and
// how many requests and tokens it has a day. The gateway enforces them.
//
// A key is a random string that starts with KeyPrefix. Only its hash is written
// down, so that a configuration that leaks opens nothing.
package access
