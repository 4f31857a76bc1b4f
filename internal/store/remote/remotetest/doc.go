// Package remotetest lets two programs of one build take each other for different
// builds: a [Proxy] between them writes each message anew, as a build with another
// [Schema] writes it.
package remotetest
