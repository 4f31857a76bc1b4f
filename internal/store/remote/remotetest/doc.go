// Package remotetest makes two programs of the same build appear to each other as different
// builds. A [Proxy] between them encodes each message again, as a build with another
// [Schema] would.
package remotetest
