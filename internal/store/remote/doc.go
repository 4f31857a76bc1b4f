// Package remote lets other processes use a store that one process has open. That
// process, the holder, serves the store with a [Server]. The others use a [Client],
// which implements store.Engine as the store itself does.
//
// # Protocol
//
// A connection begins with a hello (see hello.go). The client sends its version of the
// protocol, the fingerprint of its messages, the owner whose store it wants, and the
// token. If the fingerprints differ, both sides send a schema of their messages, and
// each decodes the other's messages with the other's schema (see peer.go). While the
// store is being opened, the server sends progress messages. Then it reports that the
// store is ready, or why the client is refused.
//
// After the handshake the client sends requests and the server answers, one request at a
// time per connection. A client opens several connections for concurrent requests and
// pools them. Both sides write frames: length, 4 bytes, big endian; kind, 1 byte; body.
// Package codec encodes the bodies. The handshake is JSON, so that programs with
// different versions of the protocol can still read it.
//
// Closing a connection cancels its request. The server also closes a connection whose
// client does not accept an answer within ten seconds.
//
// Every answer carries the number of the store's last commit. The answer to a search
// includes the rows, forms and neighbours of the records found, because a turn needs
// hundreds of them. The client caches them until the commit number changes. See
// prefetch.go.
//
// Shelf transactions: the client runs the caller's function while the server keeps a
// transaction of the store open. The server rolls it back when the connection closes or
// the client sends nothing for too long.
//
// # Loss
//
// A call whose connection breaks fails with a [LostError]. Package shared retries such
// calls. Reads can be repeated. Writes carry the id given with store.WithCommit, and the
// store performs a write with the same id only once.
package remote
