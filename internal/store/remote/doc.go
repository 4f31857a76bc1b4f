// Package remote lets other processes work on a store that one process holds: the
// holder serves it with a [Server], and a [Client] is a store.Engine like the
// store itself.
//
// # Protocol
//
// A connection begins with a hello (see hello.go): the client says which version of
// the protocol it speaks, the fingerprint of its messages, whose store it wants, and
// shows the token. If the fingerprints differ, both sides send a schema of their
// messages, and each reads with the other's (see peer.go). The server answers with
// signs of life while the store is still being opened, and then that it is ready, or
// why not. After that the client asks and the server answers, one
// exchange at a time; a client that wants several opens several connections, and
// keeps them. Both sides write frames: length 4, big endian; kind 1; body. Bodies
// are values as package codec writes them, but for the hello, which is JSON so that
// versions that differ can still tell each other.
//
// Closing a connection cancels what was asked on it. A client that has gone, and
// one that takes no answer for ten seconds, costs the server nothing more.
//
// Every answer carries the number of the store's last commit. What a search finds
// comes with the rows, forms and neighbours of its records, which the client keeps
// until that number changes: a turn asks for them by the hundred. See sight.go.
//
// Shelves: the client runs the functions; a transaction of the store is open
// meanwhile on the server, which rolls it back when the client is gone or silent.
//
// # Loss
//
// A call whose connection breaks fails with a [LostError]. Repeating it is package
// shared's business: reads can be repeated, and writes carry the name that
// store.WithCommit gave them, under which the store does them once.
package remote
