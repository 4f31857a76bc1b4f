// Package shared opens owners' stores for any number of processes at once. The
// first process that opens a store becomes its holder: it locks the store's folder
// and serves the store on a socket. Other processes are its clients. Callers use
// the same interface in both cases. When the holder ends or crashes, one of the
// clients becomes the holder, and the others connect to it.
//
// # Who holds a folder
//
// The process that has the lock of the bbolt file is the holder. The operating
// system releases the lock when the process ends. The holder removes an old socket,
// listens, and writes its address to holder.json. Only then does it open the store,
// so that clients wait on their connection meanwhile. A process that does not get
// the lock connects to the holder. If no holder answers, it tries both again some
// milliseconds later. Only the holder creates or removes the socket.
//
// # What a takeover does to a call
//
// Reads are repeated. Every write of a client has an ID (see store.WithCommit),
// which the store keeps with the change. A write is repeated with the same ID, and
// the store applies it once. So an acknowledged write is in the store, and one that
// was not acknowledged is in the store at most once. The function passed to a
// shelf's Update runs again if the holder is lost before the commit is sent.
//
// # Sockets
//
// The holder listens on the Unix socket OWNER/ken.sock, with mode 0600 in a folder
// with mode 0700. If that path is too long for a socket, the socket is in a private
// folder of the user. If no Unix socket can be opened, the holder listens on a port
// of the loopback interface. In each case a client sends the token in holder.json,
// which only the user who owns the folder can read.
package shared
