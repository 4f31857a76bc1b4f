// Package embed turns texts into vectors: the numbers behind search by meaning.
//
// An [Embedder] is one vector space. Implementations: package openai asks any
// OpenAI-compatible gateway; in this process, package static works from a table of
// token vectors and package transformer runs a sentence encoder; [None] says that
// embeddings are off. Around them:
//
//   - [Cached] asks only for what a [Cache] lacks; the key is the space's name and
//     the text's [Hash], so vectors of different models never meet.
//   - [Retry] is for background work on an endpoint that is down for a while.
//   - [Guard] is for the turn: one timeout, a circuit breaker, no retries, and a
//     result that comes too late is kept for the next turn.
//
// A turn uses Guard alone, background work Retry(Cached(…)).
//
// Two caveats. A text in which there is nothing to embed has a nil vector, not a
// zero one: a zero vector is as near to everything as to nothing. And vectors are
// shared between caches, stores and callers: nobody changes one.
package embed
