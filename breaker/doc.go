// Package breaker stops calling a dependency that keeps failing, so that a turn
// does not wait for an endpoint that is known to be down.
//
// A [Breaker] is closed while calls succeed, opens after some failures in a row,
// refuses every call while open, and after a while is half-open: one call, the
// probe, decides whether it closes or opens again.
//
// What counts as a failure: an error, a panic, a passed deadline. What does not:
// the caller's own cancellation, because a user who closes a chat says nothing
// about the endpoint.
//
// With [Options].ProbesOnly, ordinary calls never are the probe: something in the
// background calls [Breaker.Probe], and no user waits for an endpoint that is
// probably still down.
package breaker
