// Package clients proves ken serve with the official OpenAI client for Go. It has
// nothing but tests, and is a module of its own, so that a client which only they
// need is no dependency of Ken.
//
// The tests start two programs: ken, and the recorded provider of
// internal/gateway/upstreamtest. KEN_BIN and KEN_UPSTREAM_BIN name them; without, they are
// built first.
package clients
