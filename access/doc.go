// Package access says who may do what with Ken over a network: a Principal has
// an owner, whose knowledge it works with, and rights.
//
// The gateway finds out who asks, once, and puts the Principal into the
// request's context; whatever answers reads it with From and asks Can. A context
// in which nobody put one allows nothing.
//
// A key is a random string that starts with KeyPrefix. Only its hash is written
// down, so that a configuration that leaks opens nothing.
package access
