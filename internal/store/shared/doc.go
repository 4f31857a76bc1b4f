// Package shared opens owners' stores for any number of processes at once. The
// first process that wants a store holds its folder and serves it on a socket; the
// others are its clients, and whoever works with the store does not notice which it
// is. When the holder ends, however it ends, one of the clients takes over and the
// others become that one's clients.
//
// # Who holds a folder
//
// The lock of the bbolt file decides, and the system takes it from a process that
// is gone. Who gets it removes what is left of an old socket, listens, says in
// holder.json where, and only then opens the store, so that others wait on the
// connection. Who does not get it connects; when nobody answers there, it tries
// both again, some milliseconds later. Nobody but the holder touches the socket.
//
// # What a takeover does to a call
//
// Reads are repeated. Every write of a client has a name (see store.WithCommit),
// which the store keeps with the change: it is repeated, too, and done once. So an
// acknowledged write is there, and one that was not is there once or not at all.
// The function of a shelf's Update runs again if the holder went before the commit
// was sent.
//
// # Sockets
//
// A Unix socket OWNER/ken.sock, of mode 0600 in a folder of mode 0700. Where that
// path is too long for one, it lies in a private folder of the user's. On systems
// without them, a port of the loopback interface. In each case a client shows the
// token that stands in holder.json, which only the owner of the folder can read.
package shared
