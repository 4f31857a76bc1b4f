// Package breaker stops calling a dependency that keeps failing, so that a turn
// does not wait for an endpoint that is known to be down.
//
// A [Breaker] is closed while calls succeed. It opens after several consecutive failures and
// refuses every call while open. After some time it is half-open: one call, the probe, decides
// whether it closes or opens again.
//
// An error, a panic and an exceeded deadline count as failures. A cancellation by the caller does
// not, because a user who closes a chat says nothing about the endpoint.
//
// With [Options].ProbesOnly, ordinary calls are never the probe. A background task calls
// [Breaker.Probe], so that no user waits for an endpoint that is probably still down.
package breaker
