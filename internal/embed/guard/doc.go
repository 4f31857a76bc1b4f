// Package guard has wrappers for embedders:
//
//   - [Cached] asks only for what a [Cache] lacks; the key is the space's name and
//     the text's [embed.Hash], so vectors of different models never meet.
//   - [Retry] is for background work on an endpoint that is down for a while.
//   - [Guard] is for the turn: one timeout, a circuit breaker, no retries, and a
//     result that comes too late is kept for the next turn.
//
// A turn uses only Guard; background work uses Retry(Cached(…)).
package guard
